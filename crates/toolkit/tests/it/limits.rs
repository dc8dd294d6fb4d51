//! Tests of the limits of calls (time, concurrency, waiting) and of stopped work.

use std::{sync::Arc, time::Duration};

use deliberate_core::Invocation;
use deliberate_toolkit::{
    CallLimits, CallOutcome, CallerContext, Principal, Registry, RegistryDeps, ToolError,
    ToolLimits,
};
use serde_json::json;
use tokio::{task::JoinHandle, time::Instant};

use super::{
    recording_store::RecordingStore,
    registry_fixture::{RegistryFixture, deps, expect_done},
    test_tools::{ReadTool, WaitControl, WaitTool, wait_tools},
};

/// A registry of waiting tools on a store that takes no time.
struct LimitsFixture {
    registry: Arc<Registry>,
    store: Arc<RecordingStore>,
    waiting: WaitControl,
}

impl LimitsFixture {
    fn new<const N: usize>(bounds: CallLimits, tools: [(&'static str, ToolLimits); N]) -> Self {
        let store = RecordingStore::new();
        let (tools, waiting): ([WaitTool; N], WaitControl) = wait_tools(tools);
        let registry = Registry::new(RegistryDeps {
            limits: bounds,
            ..deps(store.clone(), None)
        });
        Self {
            registry: Arc::new(tools.into_iter().fold(registry, Registry::with)),
            store,
            waiting,
        }
    }

    fn call(&self, tool: &str, name: &str) -> JoinHandle<Result<CallOutcome, ToolError>> {
        self.call_as(tool, name, CallerContext::default())
    }

    fn call_as(
        &self,
        tool: &str,
        name: &str,
        caller: CallerContext,
    ) -> JoinHandle<Result<CallOutcome, ToolError>> {
        let registry = self.registry.clone();
        let (tool, arguments) = (tool.to_owned(), json!({ "name": name }));
        tokio::spawn(async move { registry.call(&tool, arguments, caller).await })
    }

    async fn event(&mut self) -> String {
        self.waiting.events.recv().await.unwrap()
    }

    /// Runs everything that can run without time passing. The runtime has one thread, and nothing
    /// here waits for anything outside it.
    async fn run_until_idle(&self) {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    fn release(&self, many: usize) {
        self.waiting.release.add_permits(many);
    }

    fn codes(&self) -> Vec<Option<String>> {
        let records = self.store.records();
        records
            .into_iter()
            .map(|record: Invocation| record.error_code)
            .collect()
    }
}

fn concurrency(limit: usize) -> ToolLimits {
    ToolLimits {
        max_concurrent: Some(limit),
        ..ToolLimits::default()
    }
}

fn call_limits(running_calls: usize, waiting_calls: usize) -> CallLimits {
    CallLimits {
        running_calls,
        waiting_calls,
        ..CallLimits::default()
    }
}

#[tokio::test]
async fn a_panic_is_an_error_of_its_call_alone() {
    let house = RegistryFixture::without_model();
    for late in [false, true] {
        let error = house
            .call("faulty", json!({ "late": late }))
            .await
            .unwrap_err();
        assert_eq!(error, ToolError::Internal);
        assert_eq!(
            house.last_record().await.error_code.as_deref(),
            Some("Internal")
        );
        expect_done(house.call("echo", json!({ "content": "still here" })).await);
        house.registry.flush_log().await;
    }
}

#[tokio::test]
async fn a_panic_gives_its_place_back() {
    let house = RegistryFixture::with_limits(None, call_limits(1, 0));
    for _ in 0..3 {
        let error = house
            .call("faulty", json!({ "late": true }))
            .await
            .unwrap_err();
        assert_eq!(error, ToolError::Internal);
    }
    expect_done(house.call("echo", json!({ "content": "still here" })).await);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_stopped_at_the_shorter_of_the_two_limits() {
    let limits = |secs| ToolLimits {
        time: Some(Duration::from_secs(secs)),
        ..ToolLimits::default()
    };
    let bounds = CallLimits {
        call_time: Duration::from_secs(10),
        ..CallLimits::default()
    };
    let tools = [
        ("quick", limits(2)),
        ("slow", limits(60)),
        ("plain", ToolLimits::default()),
    ];
    let mut hall = LimitsFixture::new(bounds, tools);
    for (tool, secs) in [("quick", 2), ("slow", 10), ("plain", 10)] {
        let begun = Instant::now();
        let outcome = hall.call(tool, tool).await.unwrap();
        let limit_ms = secs * 1_000;
        assert_eq!(outcome, Err(ToolError::Timeout { limit_ms }), "{tool}");
        assert_eq!(begun.elapsed().as_secs(), secs);
        assert_eq!(hall.event().await, format!("{tool} began"));
        assert_eq!(hall.event().await, format!("{tool} was dropped"));
    }
    assert_eq!(hall.codes(), vec![Some("Timeout".to_owned()); 3]);
    let latencies: Vec<_> = hall
        .store
        .records()
        .iter()
        .map(|it| it.latency_ms)
        .collect();
    assert_eq!(latencies, [Some(2_000), Some(10_000), Some(10_000)]);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_place_counts_as_time_of_the_call() {
    let bounds = CallLimits {
        call_time: Duration::from_secs(10),
        ..call_limits(1, 5)
    };
    let mut hall = LimitsFixture::new(bounds, [("wait", ToolLimits::default())]);
    let first = hall.call("wait", "one");
    assert_eq!(hall.event().await, "one began");
    let second = hall.call("wait", "two");
    hall.run_until_idle().await;
    let timeout = Err(ToolError::Timeout { limit_ms: 10_000 });
    assert_eq!(first.await.unwrap(), timeout);
    assert_eq!(second.await.unwrap(), timeout);
    // Both end at the same moment, so the second may have got its permit in vain.
    assert_eq!(hall.event().await, "one was dropped");
}

#[tokio::test]
async fn cancelling_drops_the_work_and_records_it() {
    let mut hall = LimitsFixture::new(CallLimits::default(), [("wait", ToolLimits::default())]);
    let caller = CallerContext::default();
    let call = hall.call_as("wait", "one", caller.clone());
    assert_eq!(hall.event().await, "one began");
    caller.cancellation.cancel();
    assert_eq!(call.await.unwrap(), Err(ToolError::Cancelled));
    assert_eq!(hall.event().await, "one was dropped");
    assert_eq!(hall.codes(), [Some("Cancelled".to_owned())]);
    assert_eq!(hall.store.commits().len(), 1, "nothing but the record");
}

#[tokio::test]
async fn a_call_cancelled_before_it_begins_does_not_begin() {
    let mut hall = LimitsFixture::new(CallLimits::default(), [("wait", ToolLimits::default())]);
    let caller = CallerContext::default();
    caller.cancellation.cancel();
    let call = hall.call_as("wait", "one", caller);
    assert_eq!(call.await.unwrap(), Err(ToolError::Cancelled));
    assert!(hall.waiting.events.try_recv().is_err());
    assert_eq!(hall.codes(), [Some("Cancelled".to_owned())]);
}

#[tokio::test]
async fn a_waiting_call_can_be_cancelled_and_leaves_the_queue() {
    let mut hall = LimitsFixture::new(call_limits(1, 1), [("wait", ToolLimits::default())]);
    let first = hall.call("wait", "one");
    assert_eq!(hall.event().await, "one began");
    let caller = CallerContext::default();
    let second = hall.call_as("wait", "two", caller.clone());
    hall.run_until_idle().await;
    caller.cancellation.cancel();
    assert_eq!(second.await.unwrap(), Err(ToolError::Cancelled));
    let third = hall.call("wait", "three");
    hall.run_until_idle().await;
    hall.release(2);
    first.await.unwrap().unwrap();
    third.await.unwrap().unwrap();
    let mut events = Vec::new();
    while let Ok(event) = hall.waiting.events.try_recv() {
        events.push(event);
    }
    assert_eq!(events, ["one ended", "three began", "three ended"]);
}

#[tokio::test]
async fn the_second_call_waits_for_the_only_place() {
    let mut hall = LimitsFixture::new(call_limits(1, 1), [("wait", ToolLimits::default())]);
    let first = hall.call("wait", "one");
    assert_eq!(hall.event().await, "one began");
    let second = hall.call("wait", "two");
    hall.run_until_idle().await;
    hall.release(1);
    assert_eq!(hall.event().await, "one ended");
    assert_eq!(hall.event().await, "two began");
    hall.release(1);
    assert_eq!(hall.event().await, "two ended");
    first.await.unwrap().unwrap();
    second.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_call_too_many_is_refused_at_once() {
    for waiting_calls in [0, 2] {
        let mut hall = LimitsFixture::new(
            call_limits(2, waiting_calls),
            [("wait", ToolLimits::default())],
        );
        let accepted: Vec<_> = (0..2 + waiting_calls)
            .map(|_| hall.call("wait", "ok"))
            .collect();
        hall.run_until_idle().await;
        let error = hall.call("wait", "too many").await.unwrap().unwrap_err();
        assert_eq!(error, ToolError::Overloaded { running: 2 });
        assert_eq!(error.hint().unwrap(), "Retry in a moment.");
        assert_eq!(hall.codes(), [Some("Overloaded".to_owned())]);
        hall.release(10);
        for call in accepted {
            call.await.unwrap().unwrap();
        }
        while let Ok(event) = hall.waiting.events.try_recv() {
            assert!(event.starts_with("ok"), "{event}");
        }
    }
}

#[tokio::test]
async fn a_tool_may_run_less_often_at_once_than_others() {
    let tools = [("single", concurrency(1)), ("other", ToolLimits::default())];
    let mut hall = LimitsFixture::new(CallLimits::default(), tools);
    let first = hall.call("single", "one");
    assert_eq!(hall.event().await, "one began");
    let second = hall.call("single", "two");
    hall.run_until_idle().await;
    let other = hall.call("other", "other");
    assert_eq!(
        hall.event().await,
        "other began",
        "it does not stand behind the others"
    );
    hall.release(3);
    for call in [first, second, other] {
        call.await.unwrap().unwrap();
    }
    let mut events = Vec::new();
    while let Ok(event) = hall.waiting.events.try_recv() {
        events.push(event);
    }
    let place = |wanted: &str| events.iter().position(|event| event == wanted).unwrap();
    assert!(place("one ended") < place("two began"), "{events:?}");
}

#[tokio::test]
async fn waiting_for_ones_own_tool_takes_no_place_from_others() {
    let tools = [("single", concurrency(1)), ("other", ToolLimits::default())];
    let mut hall = LimitsFixture::new(call_limits(2, 1), tools);
    let first = hall.call("single", "one");
    assert_eq!(hall.event().await, "one began");
    let second = hall.call("single", "two");
    hall.run_until_idle().await;
    let third = hall.call("single", "three").await.unwrap().unwrap_err();
    assert_eq!(third.code(), "Overloaded", "only one may wait");
    let other = hall.call("other", "other");
    assert_eq!(hall.event().await, "other began");
    hall.release(3);
    for call in [first, second, other] {
        call.await.unwrap().unwrap();
    }
}

fn named(name: &str) -> CallerContext {
    CallerContext {
        principal: Principal {
            name: Some(name.into()),
            ..Principal::default()
        },
        ..CallerContext::default()
    }
}

#[tokio::test]
async fn a_read_is_answered_while_other_calls_fill_every_place() {
    let mut hall = LimitsFixture::new(call_limits(4, 16), [("wait", ToolLimits::default())]);
    let registry = Arc::into_inner(hall.registry).unwrap();
    hall.registry = Arc::new(registry.with(ReadTool));
    let holders = ["alice", "bob", "carol", "dave"];
    let working: Vec<_> = holders
        .iter()
        .flat_map(|name| [name, name])
        .map(|name| hall.call_as("wait", name, named(name)))
        .collect();
    hall.run_until_idle().await;
    assert_eq!(hall.registry.running_and_waiting(), (4, 4));
    for name in ["alice", "eve"] {
        let read = hall.call_as("read", name, named(name));
        hall.run_until_idle().await;
        assert!(read.is_finished(), "{name} waits for a place");
        expect_done(read.await.unwrap());
    }
    assert_eq!(hall.registry.running_and_waiting(), (4, 4));
    hall.release(8);
    for call in working {
        call.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn one_principal_leaves_permits_to_others_and_is_told_why() {
    let mut hall = LimitsFixture::new(call_limits(4, 4), [("wait", ToolLimits::default())]);
    let first: Vec<_> = (0..4)
        .map(|_| hall.call_as("wait", "alice", named("alice")))
        .collect();
    hall.run_until_idle().await;
    let refused = hall.call_as("wait", "alice", named("alice")).await.unwrap();
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), "Overloaded");
    assert!(
        refused
            .to_string()
            .starts_with("2 of your calls are running and 2 are waiting"),
        "{refused}"
    );
    for event in ["alice began", "alice began"] {
        assert_eq!(hall.event().await, event);
    }
    let other = hall.call_as("wait", "bob", named("bob"));
    assert_eq!(hall.event().await, "bob began", "nobody stands in its way");
    hall.release(10);
    for call in first {
        call.await.unwrap().unwrap();
    }
    other.await.unwrap().unwrap();
    assert_eq!(hall.registry.running_and_waiting(), (0, 0));
}
