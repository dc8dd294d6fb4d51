//! Cutting off what runs: everyone who waits is told, and nothing that was promised is lost.

use std::{sync::Arc, time::Duration};

use deliberate_core::SystemIds;
use deliberate_toolkit::{
    Caller, Left, Parts, Principal, RESUME, Registry, StillRunning, ToolError, Within,
};
use serde_json::{Value, json};

use crate::{
    guests_kit::Forward,
    house::{House, done, parts},
    legs::Climb,
};

const SOON: Duration = Duration::from_millis(20);

/// A house whose calls end when they are let, and none is let yet.
fn house() -> (House, Forward, Climb) {
    furnish(House::without_model())
}

fn furnish(mut house: House) -> (House, Forward, Climb) {
    let (forward, climb) = (Forward::new(0), Climb::default());
    let parts = Parts {
        ids: Arc::new(SystemIds),
        clock: house.clock.clone(),
        ..parts(house.store.clone(), None)
    };
    let registry = Registry::new(parts).with(forward.clone());
    house.registry = Arc::new(registry.with(climb.clone()));
    (house, forward, climb)
}

fn outside() -> Value {
    json!({ "tool": "x" })
}

fn climbing(wait_at: u32) -> Value {
    json!({ "step": 1, "last": 2, "wait_at": [wait_at] })
}

async fn runs_on(house: &House, tool: &str, arguments: Value) -> StillRunning {
    let call = house
        .registry
        .call_within(tool, arguments, Caller::default(), SOON);
    match call.await {
        Ok(Within::StillRunning(running)) => running,
        other => panic!("{other:?}"),
    }
}

/// Stops when `running` calls run.
async fn stopped_when(house: &House, running: usize) {
    while house.registry.load().0 < running {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    house.registry.stop_calls();
}

async fn left(house: &House, id: &str) -> Left {
    let left = house.registry.left_call(id, &Principal::default()).await;
    left.unwrap().left
}

#[tokio::test]
async fn who_waits_is_told_and_the_call_is_recorded() {
    let (house, ..) = house();
    let (again, once, ()) = tokio::join!(
        house.call("climb", climbing(1)),
        house.call("forward", outside()),
        stopped_when(&house, 2),
    );
    let again = again.unwrap_err();
    assert_eq!(again, ToolError::Stopping);
    assert!(again.hint().unwrap().contains("again"), "{again}");
    // Nobody knows how far it came, so nobody is told to call again.
    let once = once.unwrap_err();
    assert_eq!(once.code(), "CutOff");
    house.registry.idle().await;
    let mut codes: Vec<_> = house.records().await.into_iter().collect();
    codes.sort_by(|one, other| one.tool_name.cmp(&other.tool_name));
    let codes: Vec<_> = codes.into_iter().filter_map(|it| it.error_code).collect();
    assert_eq!(codes, ["Stopping", "CutOff"]);
    // And nothing begins any more.
    let late = house.call("forward", outside()).await.unwrap_err();
    assert_eq!(late, ToolError::Stopping);
}

#[tokio::test]
async fn what_earlier_legs_kept_is_there_and_told() {
    let (house, _, climb) = house();
    let (answer, ()) = tokio::join!(house.call("climb", climbing(2)), async {
        climb.has_run(&[1, 2]).await;
        house.registry.stop_calls();
    });
    let error = answer.unwrap_err();
    assert_eq!(error.code(), "Stopping");
    let hint = error.hint().unwrap_or_default();
    assert!(hint.ends_with("kept. It climbed 1 so far."), "{hint}");
    let sessions = house.store.sessions(crate::house::ALL).await.unwrap();
    assert_eq!(sessions.len(), 1);
}

#[tokio::test]
async fn a_call_that_was_told_to_run_on_is_gone_on_with_at_once_by_another_process() {
    let (house, _, climb) = house();
    let running = runs_on(&house, "climb", climbing(2)).await;
    climb.has_run(&[1, 2]).await;
    house.registry.stop_calls();
    house.registry.settled().await;
    assert_eq!(left(&house, &running.id).await, Left::Abandoned);

    let (other, _, second) = furnish(house.restarted().await);
    let resumed = other.call(RESUME, json!({ "id": running.id }));
    let (answer, ()) = tokio::join!(resumed, async { second.may_pass(1) });
    assert_eq!(done(answer)["step"], 2);
    assert_eq!(second.ran(), [2]);
    let sessions = other.store.sessions(crate::house::ALL).await.unwrap();
    assert_eq!(sessions.len(), 2);
}

#[tokio::test]
async fn work_outside_that_was_told_to_run_on_is_told_as_lost_and_not_done_again() {
    let (house, ..) = house();
    let running = runs_on(&house, "forward", outside()).await;
    house.registry.stop_calls();
    house.registry.settled().await;
    let (other, second, _) = furnish(house.restarted().await);
    let lost = other.call(RESUME, json!({ "id": running.id })).await;
    assert_eq!(lost.unwrap_err().code(), "CutOff");
    assert_eq!(second.runs(), 0);
}

#[tokio::test]
async fn who_waits_for_a_call_that_runs_on_is_told_and_may_ask_again() {
    let (house, ..) = house();
    let running = runs_on(&house, "climb", climbing(1)).await;
    let by_id = json!({ "id": running.id });
    let (told, ()) = tokio::join!(house.call(RESUME, by_id), async {
        tokio::time::sleep(SOON).await;
        house.registry.stop_calls();
    });
    assert_eq!(told.unwrap_err(), ToolError::Stopping);
    house.registry.idle().await;
    assert_eq!(left(&house, &running.id).await, Left::Abandoned);
}
