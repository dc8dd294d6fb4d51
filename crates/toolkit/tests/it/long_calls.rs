//! Tests of calls that run for long: their notes, their progress, and what other processes do with
//! them.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use deliberate_llm::ReplyNormalizer;
use deliberate_toolkit::{
    BackgroundStatus, CallLimits, CallerContext, Principal, RESUME_TOOL, Registry, StillRunning,
    TimedOutcome, Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    recording_store::RecordingStore,
    registry_fixture::{RegistryFixture, deps, expect_done, expect_needs_reply},
    steps::{
        SteppingTool, add_stepping_tool, add_with_limits, background_call, call_in_background,
        stored_steps,
    },
    test_tools::{ViewAnswer, model_request},
};

/// More than a lease, in microseconds.
const LONG: i64 = 60_000_000;

/// Creates a process whose heartbeats follow each other quickly. Its leases last, because the clock
/// stands still.
fn fixture() -> (RegistryFixture, SteppingTool) {
    let limits = CallLimits {
        lease_renewal: Duration::from_millis(5),
        ..CallLimits::default()
    };
    add_with_limits(RegistryFixture::without_model(), None, limits)
}

fn second_process(fixture: &RegistryFixture) -> (RegistryFixture, SteppingTool) {
    add_stepping_tool(fixture.second_process(None), None)
}

/// Heartbeats to the client add a little to the progress.
fn is_about(progress: Option<f64>, fraction: f64) -> bool {
    progress.is_some_and(|it| (fraction..fraction + 0.05).contains(&it))
}

/// Waits until the stored progress message is this one.
async fn wait_for_message(fixture: &RegistryFixture, id: &str, message: &str) {
    let id = id.into();
    loop {
        let row = fixture.store.suspended_call(&id).await.unwrap().unwrap();
        if row.progress.message == message {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn each_step_sees_the_notes_of_the_steps_before_it() {
    let (house, climb) = fixture();
    let output = expect_done(house.call("climb", json!({ "step": 1, "last": 3 })).await);
    assert_eq!(output["notes"], json!([1, 2, 3]));
    // A step that is run again begins with the notes of the committed steps.
    let arguments = json!({ "step": 1, "last": 2, "thinks": true });
    let needs = expect_needs_reply(house.call("climb", arguments).await);
    let reply = || json!([{ "view": "up", "percent": 50 }]);
    expect_needs_reply(house.resume(&needs.id, reply()).await);
    let output = expect_done(house.resume(&needs.id, reply()).await);
    assert_eq!(output["notes"], json!([1, 2]));
    assert_eq!(climb.steps_run(), [1, 2, 3, 1, 1, 2, 2]);
}

#[tokio::test]
async fn a_process_that_takes_over_reads_the_notes() {
    let (house, climb) = add_stepping_tool(RegistryFixture::without_model(), None);
    let arguments = json!({ "step": 1, "last": 3, "wait_at": [1, 2] });
    let running = call_in_background(&house, arguments).await;
    climb.allow_steps(1);
    climb.wait_for_steps(&[1, 2]).await;
    house.clock.advance(LONG);
    let (other, others) = second_process(&house);
    others.allow_steps(1);
    let by_id = json!({ "id": running.id });
    let output = expect_done(other.call(RESUME_TOOL, by_id).await);
    assert_eq!(output["notes"], json!([1, 2, 3]));
}

#[tokio::test]
async fn every_process_sees_how_far_a_call_is() {
    let (house, climb) = fixture();
    let arguments = json!({ "step": 1, "last": 4, "wait_at": [1, 3] });
    let running = call_in_background(&house, arguments).await;
    assert_eq!(running.doing, "at 1");
    assert!(is_about(running.progress, 0.0), "{running:?}");
    climb.allow_steps(1);
    wait_for_message(&house, &running.id, "at 3").await;

    let (other, _) = second_process(&house);
    let seen = background_call(&other, &running.id).await;
    assert_eq!(seen.status, BackgroundStatus::Running("at 3".to_owned()));
    assert!(is_about(seen.progress, 0.5), "{seen:?}");
    let soon = Duration::from_millis(20);
    let by_id = json!({ "id": running.id });
    let waiting =
        other
            .registry
            .call_with_timeout(RESUME_TOOL, by_id, CallerContext::default(), soon);
    let Ok(TimedOutcome::StillRunning(StillRunning {
        doing, progress, ..
    })) = waiting.await
    else {
        panic!("it runs in the other process");
    };
    assert_eq!(doing, "at 3");
    assert!(is_about(progress, 0.5), "{progress:?}");
}

#[tokio::test]
async fn a_call_is_cancelled_from_another_process() {
    let (house, climb) = fixture();
    let arguments = json!({ "step": 1, "last": 3, "wait_at": [1, 2] });
    let running = call_in_background(&house, arguments).await;
    climb.allow_steps(1);
    climb.wait_for_steps(&[1, 2]).await;

    let (other, _) = second_process(&house);
    let nobody = Principal::default();
    let cancel = other.registry.cancel_background_call(&running.id, &nobody);
    cancel.await.unwrap();
    let status = background_call(&other, &running.id).await.status;
    assert!(
        matches!(&status, BackgroundStatus::Ended(Err(error)) if error.code() == "Cancelled"),
        "{status:?}"
    );
    // The process that runs it loses its lease at its next heartbeat.
    deliberate_testkit::wait_until_async(async || !house.records().await.is_empty()).await;
    assert_eq!(
        house.last_record().await.error_code.as_deref(),
        Some("Cancelled")
    );
    let by_id = json!({ "id": running.id });
    let error = other.call(RESUME_TOOL, by_id).await.unwrap_err();
    assert_eq!(error.code(), "Cancelled");
    assert_eq!(climb.steps_run(), [1, 2]);
    assert_eq!(stored_steps(&house).await, ["step 1"]);
}

#[tokio::test]
async fn a_cancelled_call_whose_process_died_is_not_run_again() {
    let (house, _climb) = add_stepping_tool(RegistryFixture::without_model(), None);
    let arguments = json!({ "step": 1, "last": 2, "wait_at": [1] });
    let running = call_in_background(&house, arguments).await;
    let (other, others) = second_process(&house);
    let nobody = Principal::default();
    let cancel = other.registry.cancel_background_call(&running.id, &nobody);
    cancel.await.unwrap();
    house.clock.advance(LONG);
    let by_id = json!({ "id": running.id });
    let error = other.call(RESUME_TOOL, by_id).await.unwrap_err();
    assert_eq!(error.code(), "Cancelled");
    assert_eq!(others.steps_run(), [0_u32; 0]);
}

#[tokio::test]
async fn a_process_that_lost_its_lease_commits_no_step() {
    let (house, climb) = add_stepping_tool(RegistryFixture::without_model(), None);
    let arguments = json!({ "step": 1, "last": 2, "wait_at": [1] });
    let running = call_in_background(&house, arguments).await;
    house.clock.advance(LONG);
    let (other, others) = second_process(&house);
    let by_id = json!({ "id": running.id });
    let (taken, ()) = tokio::join!(other.call(RESUME_TOOL, by_id.clone()), async {
        others.wait_for_steps(&[1]).await;
        // The first worker was not dead, only slow; it comes while the other one still works.
        climb.allow_steps(1);
        house.registry.wait_background_calls().await;
        assert_eq!(stored_steps(&house).await, [""; 0]);
        others.allow_steps(1);
    });
    let output = expect_done(taken);
    assert_eq!(
        (&output["step"], &output["notes"]),
        (&json!(2), &json!([1, 2]))
    );
    assert_eq!(climb.steps_run(), [1]);
    assert_eq!(others.steps_run(), [1, 2]);
    assert_eq!(stored_steps(&house).await, ["step 1", "step 2"]);
    assert_eq!(expect_done(house.call(RESUME_TOOL, by_id).await), output);
}

/// How often an answer of [`AskInTurnTool`] was read from a reply.
static ANSWERS_READ: AtomicUsize = AtomicUsize::new(0);

/// Sends one request after the other.
struct AskInTurnTool;

#[derive(Debug, Deserialize, JsonSchema)]
struct AskInTurnInput {
    times: usize,
}

impl Tool for AskInTurnTool {
    type Input = AskInTurnInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "in_turn",
            title: "In turn",
            description: "Asks one thing after the other.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(
        &self,
        input: AskInTurnInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<Value>, ToolError> {
        let mut views = Vec::new();
        for time in 0..input.times {
            let mut request = model_request(&format!("ask{time}"), "What?");
            request.normalizer = Some(ReplyNormalizer(|_, answer| {
                ANSWERS_READ.fetch_add(1, Ordering::Relaxed);
                answer
            }));
            views.push(call.ask::<ViewAnswer>(request, None).await?.value.view());
        }
        Ok(ToolOutput {
            output: json!({ "views": views }),
            changes: Vec::new(),
            session: None,
        })
    }
}

#[tokio::test]
async fn each_reply_is_read_once_however_many_rounds_follow() {
    const ROUNDS: usize = 20;
    let mut house = RegistryFixture::without_model();
    let registry = Registry::new(deps(house.store.clone(), None)).with(AskInTurnTool);
    house.registry = std::sync::Arc::new(registry);
    let mut needs = expect_needs_reply(house.call("in_turn", json!({ "times": ROUNDS })).await);
    let view = |round: usize| json!([{ "view": format!("view {round}"), "percent": 50 }]);
    for round in 0..ROUNDS - 1 {
        needs = expect_needs_reply(house.resume(&needs.id, view(round)).await);
        assert_eq!(needs.asks.len(), 1);
        assert_eq!(needs.asks[0].key, format!("ask{}", round + 1));
        let id = needs.id.as_str().into();
        let row = house.store.suspended_call(&id).await.unwrap().unwrap();
        assert_eq!(
            row.journal["replies"],
            json!({}),
            "only what was read is stored"
        );
    }
    let output = expect_done(house.resume(&needs.id, view(ROUNDS - 1)).await);
    assert_eq!(output["views"].as_array().unwrap().len(), ROUNDS);
    assert_eq!(output["views"][0], "view 0");
    assert_eq!(ANSWERS_READ.load(Ordering::Relaxed), ROUNDS);
    let spent = house.last_record().await.spent;
    assert_eq!(spent.model_calls, i64::try_from(ROUNDS).unwrap());
}

#[tokio::test]
async fn notes_need_no_store() {
    let registry = Registry::new(deps(RecordingStore::new(), None)).with(SteppingTool::default());
    let arguments = json!({ "step": 1, "last": 2 });
    let call = registry.call("climb", arguments, CallerContext::default());
    assert_eq!(expect_done(call.await)["notes"], json!([1, 2]));
}
