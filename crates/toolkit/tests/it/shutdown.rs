//! Tests of the shutdown: every caller that waits gets an error, and nothing promised is lost.

use std::{sync::Arc, time::Duration};

use deliberate_core::SystemIds;
use deliberate_testkit::wait_until;
use deliberate_toolkit::{
    BackgroundStatus, CallerContext, Principal, RESUME_TOOL, Registry, RegistryDeps, StillRunning,
    TimedOutcome, ToolError,
};
use serde_json::{Value, json};

use super::{
    external_tools_support::ForwardTool,
    registry_fixture::{RegistryFixture, deps, expect_done},
    steps::SteppingTool,
};

const SHORT_TIMEOUT: Duration = Duration::from_millis(20);

/// Creates a registry whose calls end when they are permitted to, and none is yet.
fn fixture() -> (RegistryFixture, ForwardTool, SteppingTool) {
    add_waiting_tools(RegistryFixture::without_model())
}

fn add_waiting_tools(mut fixture: RegistryFixture) -> (RegistryFixture, ForwardTool, SteppingTool) {
    let (forward, climb) = (ForwardTool::new(0), SteppingTool::default());
    let parts = RegistryDeps {
        ids: Arc::new(SystemIds),
        clock: fixture.clock.clone(),
        ..deps(fixture.store.clone(), None)
    };
    let registry = Registry::new(parts).with(forward.clone());
    fixture.registry = Arc::new(registry.with(climb.clone()));
    (fixture, forward, climb)
}

fn forward_arguments() -> Value {
    json!({ "tool": "x" })
}

fn step_arguments(wait_at: u32) -> Value {
    json!({ "step": 1, "last": 2, "wait_at": [wait_at] })
}

async fn call_in_background(
    fixture: &RegistryFixture,
    tool: &str,
    arguments: Value,
) -> StillRunning {
    let call = fixture.registry.call_with_timeout(
        tool,
        arguments,
        CallerContext::default(),
        SHORT_TIMEOUT,
    );
    match call.await {
        Ok(TimedOutcome::StillRunning(running)) => running,
        other => panic!("{other:?}"),
    }
}

/// Starts the shutdown when `running` calls run.
async fn stop_when_running(fixture: &RegistryFixture, running: usize) {
    wait_until(|| fixture.registry.running_and_waiting().0 >= running).await;
    fixture.registry.start_shutdown();
}

async fn background_status(fixture: &RegistryFixture, id: &str) -> BackgroundStatus {
    let left = fixture
        .registry
        .background_call(id, &Principal::default())
        .await;
    left.unwrap().status
}

#[tokio::test]
async fn who_waits_is_told_and_the_call_is_recorded() {
    let (house, ..) = fixture();
    let (again, once, ()) = tokio::join!(
        house.call("climb", step_arguments(1)),
        house.call("forward", forward_arguments()),
        stop_when_running(&house, 2),
    );
    let again = again.unwrap_err();
    assert_eq!(again, ToolError::Stopping);
    assert!(again.hint().unwrap().contains("again"), "{again}");
    // It is unknown how far it came, so the hint does not suggest a retry.
    let once = once.unwrap_err();
    assert_eq!(once.code(), "CutOff");
    house.registry.wait_idle().await;
    let mut codes: Vec<_> = house.records().await.into_iter().collect();
    codes.sort_by(|one, other| one.tool_name.cmp(&other.tool_name));
    let codes: Vec<_> = codes.into_iter().filter_map(|it| it.error_code).collect();
    assert_eq!(codes, ["Stopping", "CutOff"]);
    // No new call starts.
    let late = house
        .call("forward", forward_arguments())
        .await
        .unwrap_err();
    assert_eq!(late, ToolError::Stopping);
}

#[tokio::test]
async fn what_earlier_legs_kept_is_there_and_told() {
    let (house, _, climb) = fixture();
    let (answer, ()) = tokio::join!(house.call("climb", step_arguments(2)), async {
        climb.wait_for_steps(&[1, 2]).await;
        house.registry.start_shutdown();
    });
    let error = answer.unwrap_err();
    assert_eq!(error.code(), "Stopping");
    let hint = error.hint().unwrap_or_default();
    assert!(hint.ends_with("saved. It climbed 1 so far."), "{hint}");
    let sessions = house
        .store
        .sessions(super::registry_fixture::ALL)
        .await
        .unwrap();
    assert_eq!(sessions.len(), 1);
}

#[tokio::test]
async fn a_call_that_was_told_to_run_on_is_gone_on_with_at_once_by_another_process() {
    let (house, _, climb) = fixture();
    let running = call_in_background(&house, "climb", step_arguments(2)).await;
    climb.wait_for_steps(&[1, 2]).await;
    house.registry.start_shutdown();
    house.registry.wait_background_calls().await;
    assert_eq!(
        background_status(&house, &running.id).await,
        BackgroundStatus::Abandoned
    );

    let (other, _, second) = add_waiting_tools(house.restart().await);
    let resumed = other.call(RESUME_TOOL, json!({ "id": running.id }));
    let (answer, ()) = tokio::join!(resumed, async { second.allow_steps(1) });
    assert_eq!(expect_done(answer)["step"], 2);
    assert_eq!(second.steps_run(), [2]);
    let sessions = other
        .store
        .sessions(super::registry_fixture::ALL)
        .await
        .unwrap();
    assert_eq!(sessions.len(), 2);
}

#[tokio::test]
async fn work_outside_that_was_told_to_run_on_is_told_as_lost_and_not_done_again() {
    let (house, ..) = fixture();
    let running = call_in_background(&house, "forward", forward_arguments()).await;
    house.registry.start_shutdown();
    house.registry.wait_background_calls().await;
    let (other, second, _) = add_waiting_tools(house.restart().await);
    let lost = other.call(RESUME_TOOL, json!({ "id": running.id })).await;
    assert_eq!(lost.unwrap_err().code(), "CutOff");
    assert_eq!(second.run_count(), 0);
}

#[tokio::test]
async fn who_waits_for_a_call_that_runs_on_is_told_and_may_ask_again() {
    let (house, ..) = fixture();
    let running = call_in_background(&house, "climb", step_arguments(1)).await;
    let by_id = json!({ "id": running.id });
    let (told, ()) = tokio::join!(house.call(RESUME_TOOL, by_id), async {
        tokio::time::sleep(SHORT_TIMEOUT).await;
        house.registry.start_shutdown();
    });
    assert_eq!(told.unwrap_err(), ToolError::Stopping);
    house.registry.wait_idle().await;
    assert_eq!(
        background_status(&house, &running.id).await,
        BackgroundStatus::Abandoned
    );
}
