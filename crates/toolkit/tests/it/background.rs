//! Tests of background calls and of taking them over.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use deliberate_llm::{ChatModel, ModelError, ModelReply, ModelRequest};
use deliberate_toolkit::{
    BackgroundStatus, CallLimits, CallOutcome, CallerContext, Principal, RESUME_TOOL, StillRunning,
    TimedOutcome, ToolError,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    registry_fixture::{RegistryFixture, expect_done},
    scripted_model::reply,
};

/// A model that answers when the test permits it.
struct GatedModel {
    permits: Semaphore,
    asks: Mutex<usize>,
    reply: Result<ModelReply, ModelError>,
}

impl GatedModel {
    fn new() -> Arc<Self> {
        Self::with_reply(Ok(reply(r#"{"view":"yes","percent":85}"#)))
    }

    fn with_reply(reply: Result<ModelReply, ModelError>) -> Arc<Self> {
        Arc::new(Self {
            permits: Semaphore::new(0),
            asks: Mutex::new(0),
            reply,
        })
    }

    fn ask_count(&self) -> usize {
        *self.asks.lock().unwrap()
    }
}

impl ChatModel for GatedModel {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn complete<'a>(
        &'a self,
        _: &'a ModelRequest,
        _: Instant,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            *self.asks.lock().unwrap() += 1;
            self.permits.acquire().await.unwrap().forget();
            self.reply.clone()
        })
    }
}

const SHORT_TIMEOUT: Duration = Duration::from_millis(20);

fn ponder_arguments() -> Value {
    json!({ "content": "why?" })
}

async fn call_with_short_timeout(
    fixture: &RegistryFixture,
    tool: &str,
    arguments: Value,
) -> Result<TimedOutcome, ToolError> {
    let caller = CallerContext::default();
    fixture
        .registry
        .call_with_timeout(tool, arguments, caller, SHORT_TIMEOUT)
        .await
}

async fn call_in_background(
    fixture: &RegistryFixture,
    tool: &str,
    arguments: Value,
) -> StillRunning {
    match call_with_short_timeout(fixture, tool, arguments).await {
        Ok(TimedOutcome::StillRunning(running)) => running,
        other => panic!("{other:?}"),
    }
}

fn resume_arguments(running: &StillRunning) -> Value {
    json!({ "id": running.id })
}

async fn background_status(fixture: &RegistryFixture, id: &str) -> BackgroundStatus {
    let left = fixture
        .registry
        .background_call(id, &Principal::default())
        .await;
    left.unwrap().status
}

#[tokio::test]
async fn a_call_that_takes_long_runs_on_and_its_answer_is_had_by_its_id() {
    let model = GatedModel::new();
    let house = RegistryFixture::with_model(model.clone());
    let running = call_in_background(&house, "ponder", ponder_arguments()).await;
    assert!(running.next.contains(RESUME_TOOL), "{}", running.next);
    assert_eq!(
        background_status(&house, &running.id).await,
        BackgroundStatus::Running(String::new())
    );
    assert_eq!(
        call_in_background(&house, RESUME_TOOL, resume_arguments(&running))
            .await
            .id,
        running.id
    );

    model.permits.add_permits(1);
    let output = expect_done(house.call(RESUME_TOOL, resume_arguments(&running)).await);
    assert_eq!(output["content"], "yes");
    assert_eq!(
        background_status(&house, &running.id).await,
        BackgroundStatus::Ended(Ok(output.clone()))
    );
    assert_eq!(
        expect_done(house.call(RESUME_TOOL, resume_arguments(&running)).await),
        output
    );
    assert_eq!(house.thoughts().await.len(), 1);
    assert_eq!(model.ask_count(), 1);
}

#[tokio::test]
async fn a_call_that_is_quick_leaves_nothing_to_pick_up() {
    let model = GatedModel::new();
    model.permits.add_permits(1);
    let house = RegistryFixture::with_model(model);
    let patient = Duration::from_mins(1);
    let caller = CallerContext::default();
    let answer = house
        .registry
        .call_with_timeout("ponder", ponder_arguments(), caller, patient)
        .await;
    assert!(
        matches!(answer, Ok(TimedOutcome::Outcome(CallOutcome::Done(_)))),
        "{answer:?}"
    );
}

#[tokio::test]
async fn several_may_wait_for_one_call_and_all_get_its_answer() {
    let model = GatedModel::new();
    let house = RegistryFixture::with_model(model.clone());
    let running = call_in_background(&house, "ponder", ponder_arguments()).await;
    let waiting = (0..8).map(|_| house.call(RESUME_TOOL, resume_arguments(&running)));
    let (answers, ()) = tokio::join!(futures::future::join_all(waiting), async {
        tokio::time::sleep(SHORT_TIMEOUT).await;
        model.permits.add_permits(1);
    });
    let outputs: Vec<Value> = answers.into_iter().map(expect_done).collect();
    assert!(outputs.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(house.thoughts().await.len(), 1);
}

#[tokio::test]
async fn a_failure_nobody_waited_for_is_told_to_who_asks() {
    let refused = ModelError::Api {
        provider: "slow".to_owned(),
        status: 403,
        message: "no".to_owned(),
    };
    let model = GatedModel::with_reply(Err(refused.clone()));
    let house = RegistryFixture::with_model(model.clone());
    let running = call_in_background(&house, "ponder", ponder_arguments()).await;
    model.permits.add_permits(9);
    let first = house
        .call(RESUME_TOOL, resume_arguments(&running))
        .await
        .unwrap_err();
    let again = house
        .call(RESUME_TOOL, resume_arguments(&running))
        .await
        .unwrap_err();
    let plain = ToolError::from(refused);
    assert_eq!(first, again);
    assert_eq!(
        (first.code(), first.to_string(), first.hint()),
        (plain.code(), plain.to_string(), plain.hint())
    );
    assert_eq!(house.thoughts().await, []);
}

#[tokio::test]
async fn a_call_whose_process_died_is_run_again_by_who_asks_for_it() {
    let model = GatedModel::new();
    let house = RegistryFixture::with_model(model);
    let running = call_in_background(&house, "ponder", ponder_arguments()).await;
    let quick = GatedModel::new();
    quick.permits.add_permits(1);
    let other = house.second_process(Some(quick));
    // The call counts as running until its lease expires.
    assert_eq!(
        background_status(&other, &running.id).await,
        BackgroundStatus::Running(String::new())
    );
    house.clock.advance(60_000_000);
    assert_eq!(
        background_status(&other, &running.id).await,
        BackgroundStatus::Abandoned
    );
    let output = expect_done(other.call(RESUME_TOOL, resume_arguments(&running)).await);
    assert_eq!(output["content"], "yes");
    assert_eq!(other.thoughts().await.len(), 1);
}

#[tokio::test]
async fn a_call_that_was_taken_over_takes_effect_once() {
    let model = GatedModel::new();
    let house = RegistryFixture::with_model(model.clone());
    let running = call_in_background(&house, "ponder", ponder_arguments()).await;
    house.clock.advance(60_000_000);
    let quick = GatedModel::new();
    quick.permits.add_permits(1);
    let other = house.second_process(Some(quick));
    let output = expect_done(other.call(RESUME_TOOL, resume_arguments(&running)).await);
    // The first worker was not dead, only slow.
    model.permits.add_permits(1);
    house.registry.wait_background_calls().await;
    assert_eq!(
        expect_done(house.call(RESUME_TOOL, resume_arguments(&running)).await),
        output
    );
    assert_eq!(house.thoughts().await.len(), 1);
}

#[tokio::test]
async fn a_call_runs_on_for_its_owner_alone() {
    let model = GatedModel::new();
    let house = RegistryFixture::with_model(model);
    let named = |name: &str| Principal {
        name: Some(name.into()),
        ..Principal::default()
    };
    let caller = CallerContext {
        principal: named("ann"),
        ..CallerContext::default()
    };
    let answer = house
        .registry
        .call_with_timeout("ponder", ponder_arguments(), caller, SHORT_TIMEOUT)
        .await;
    let Ok(TimedOutcome::StillRunning(running)) = answer else {
        panic!("{answer:?}");
    };
    let missing = house
        .call(RESUME_TOOL, resume_arguments(&running))
        .await
        .unwrap_err();
    let unknown = house
        .call(RESUME_TOOL, json!({ "id": "x" }))
        .await
        .unwrap_err();
    assert_eq!(missing.code(), unknown.code());
    for stranger in [Principal::default(), named("bob")] {
        let look = house.registry.background_call(&running.id, &stranger).await;
        assert_eq!(look.unwrap_err().code(), unknown.code());
        let stop = house
            .registry
            .cancel_background_call(&running.id, &stranger)
            .await;
        assert_eq!(stop.unwrap_err().code(), unknown.code());
    }
    let look = house
        .registry
        .background_call(&running.id, &named("ann"))
        .await;
    assert!(matches!(look.unwrap().status, BackgroundStatus::Running(_)));
}

#[tokio::test]
async fn a_call_that_runs_on_can_be_stopped() {
    let model = GatedModel::new();
    let house = RegistryFixture::with_model(model);
    let running = call_in_background(&house, "ponder", ponder_arguments()).await;
    let nobody = Principal::default();
    house
        .registry
        .cancel_background_call(&running.id, &nobody)
        .await
        .unwrap();
    house.registry.wait_background_calls().await;
    let ended = house
        .call(RESUME_TOOL, resume_arguments(&running))
        .await
        .unwrap_err();
    assert_eq!(ended.code(), "Cancelled");
    assert_eq!(house.thoughts().await, []);
}

#[tokio::test]
async fn a_caller_who_cancels_while_waiting_stops_the_call() {
    let house = RegistryFixture::with_model(GatedModel::new());
    let cancelled = CancellationToken::new();
    let caller = CallerContext {
        cancellation: cancelled.clone(),
        ..CallerContext::default()
    };
    let patient = Duration::from_mins(1);
    let call = house
        .registry
        .call_with_timeout("ponder", ponder_arguments(), caller, patient);
    let (answer, ()) = tokio::join!(call, async {
        tokio::time::sleep(SHORT_TIMEOUT).await;
        cancelled.cancel();
    });
    assert_eq!(answer, Err(ToolError::Cancelled));
    assert_eq!(house.thoughts().await, []);
}

#[tokio::test]
async fn replies_for_a_call_that_runs_are_refused() {
    let house = RegistryFixture::with_model(GatedModel::new());
    let running = call_in_background(&house, "ponder", ponder_arguments()).await;
    let arguments = json!({ "id": running.id, "replies": ["x"] });
    let error = house.call(RESUME_TOOL, arguments).await.unwrap_err();
    assert_eq!(error.code(), "Validation");
    assert!(error.to_string().contains("must be omitted"), "{error}");
}

#[tokio::test]
async fn a_call_that_takes_too_long_ends_even_when_nobody_waits() {
    let bounds = CallLimits {
        call_time: Duration::from_secs(3),
        ..CallLimits::default()
    };
    let house = RegistryFixture::with_limits(Some(GatedModel::new()), bounds);
    let running = call_in_background(&house, "ponder", ponder_arguments()).await;
    house.registry.wait_background_calls().await;
    let error = house
        .call(RESUME_TOOL, resume_arguments(&running))
        .await
        .unwrap_err();
    assert_eq!(error.code(), "Timeout");
}

#[tokio::test]
async fn a_suspended_call_is_asked_for_again_by_its_id_alone() {
    let house = RegistryFixture::without_model();
    let first =
        super::registry_fixture::expect_needs_reply(house.call("ponder", ponder_arguments()).await);
    let again = super::registry_fixture::expect_needs_reply(
        house.call(RESUME_TOOL, json!({ "id": first.id })).await,
    );
    assert_eq!(first, again);
}
