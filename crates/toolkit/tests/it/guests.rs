//! Tools of other servers, called through one of our own.

use std::{sync::Arc, time::Duration};

use deliberate_core::SystemIds;
use deliberate_store::StoreError;
use deliberate_toolkit::{
    Again, Caller, HANDED_ON, Left, Parts, Principal, RESUME, Registry, Scope, StillRunning,
    ToolError, Within,
};
use serde_json::{Value, json};

use crate::{
    guests_kit::{Changing, Forward, Through, Two},
    house::{House, done, parts},
    recorder::Recorder,
    tools::Echo,
};

const SOON: Duration = Duration::from_millis(20);

fn furnish(registry: Registry, forward: &Forward) -> Arc<Registry> {
    let registry = registry.with(Echo).with(forward.clone()).with(Through);
    Arc::new(registry.with_guests(Arc::new(Two)))
}

/// With a guest that may answer so often.
fn house(permits: usize) -> (House, Forward) {
    let mut house = House::without_model();
    let forward = Forward::new(permits);
    let parts = Parts {
        ids: Arc::new(SystemIds),
        clock: house.clock.clone(),
        ..parts(house.store.clone(), None)
    };
    house.registry = furnish(Registry::new(parts), &forward);
    (house, forward)
}

fn only(names: &[&str]) -> Caller {
    Caller {
        principal: Principal {
            name: Some("ann".into()),
            scope: Scope::Only(names.iter().map(|name| (*name).to_owned()).collect()),
        },
        ..Caller::default()
    }
}

fn path() -> Value {
    json!({ "path": "a", "depth": null })
}

async fn left_running(house: &House, caller: Caller) -> StillRunning {
    let call = house
        .registry
        .call_within("fs__write", path(), caller, SOON)
        .await;
    match call {
        Ok(Within::StillRunning(running)) => running,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_call_of_a_guest_is_a_call_of_our_tool_and_recorded_as_such() {
    let (house, _) = house(1);
    let output = done(house.call("fs__read", path()).await);
    assert_eq!(output[HANDED_ON]["zebra"], "fs__read");
    // What it is called with is the guest's business: nothing in it is mended.
    assert_eq!(output[HANDED_ON]["content"], path());
    let record = house.last_record().await;
    assert_eq!(record.tool_name, "forward");
    assert_eq!(record.input["tool"], "fs__read");
    assert_eq!(record.output, Some(output));
}

#[tokio::test]
async fn who_may_call_is_asked_of_the_guests_name() {
    let (house, forward) = house(9);
    let call = async |scope: &[&str], name: &str| {
        let arguments = match name {
            "forward" => json!({ "tool": "fs__read" }),
            _ => path(),
        };
        house.registry.call(name, arguments, only(scope)).await
    };
    let forbidden = |name: &str| {
        Err(ToolError::Forbidden {
            what: name.to_owned(),
        })
    };
    assert!(call(&["fs__*"], "fs__read").await.is_ok());
    assert!(call(&["forward"], "forward").await.is_ok());
    assert_eq!(call(&["fs__*"], "forward").await, forbidden("forward"));
    assert_eq!(call(&["forward"], "fs__read").await, forbidden("fs__read"));
    assert_eq!(
        call(&["fs__read"], "fs__write").await,
        forbidden("fs__write")
    );
    assert_eq!(forward.runs(), 2);
}

#[tokio::test]
async fn a_name_that_nobody_has_is_told_with_the_nearest_of_all() {
    let (house, _) = house(0);
    let error = house.call("fs__raed", path()).await.unwrap_err();
    assert_eq!(error.hint().unwrap(), "Did you mean fs__read?");
    let error = house.call("eco", path()).await.unwrap_err();
    assert_eq!(error.hint().unwrap(), "Did you mean echo?");
}

#[tokio::test]
async fn a_tool_can_run_a_guest_within_its_call() {
    let (house, _) = house(9);
    let run = |tool: &str| json!({ "tool": tool });
    let output = done(house.call("through", run("fs__read")).await);
    // What another server answers is told as ours is: its text, or all there is.
    let said = output["inner"]["said"].as_str().unwrap();
    assert!(said.contains(r#"{"path":"b"}"#), "{said}");
    assert_eq!(
        (&output["can"], &output["waits"]),
        (&json!(true), &json!(false))
    );
    let error = house.call("through", run("fs__none")).await.unwrap_err();
    assert_eq!(error.code(), "UnknownTool");
    let caller = only(&["through", "forward"]);
    let call = house.registry.call("through", run("fs__read"), caller);
    assert_eq!(call.await.unwrap_err().code(), "Forbidden");
    let caller = only(&["through", "fs__read"]);
    let call = house.registry.call("through", run("fs__read"), caller);
    assert!(call.await.is_ok());
}

#[tokio::test]
async fn a_call_that_is_sent_again_goes_to_whom_it_belongs() {
    let (house, forward) = house(9);
    let again = |state: &str| Caller {
        again: Some(Again {
            state: state.to_owned(),
            responses: json!({ "name": { "action": "accept" } }),
        }),
        ..Caller::default()
    };
    let call = house
        .registry
        .call("fs__read", path(), again("for fs__read"));
    let output = done(call.await);
    assert_eq!(output[HANDED_ON]["again"]["name"]["action"], "accept");
    // One of our own names too, if they gave it.
    let call = house.registry.call("echo", path(), again("for echo"));
    assert_eq!(done(call.await)[HANDED_ON]["zebra"], "echo");
    let call = house
        .registry
        .call("fs__write", path(), again("for fs__read"));
    assert_eq!(call.await.unwrap_err().code(), "UnknownTool");
    assert_eq!(forward.runs(), 2);
}

#[tokio::test]
async fn who_may_call_the_guest_alone_can_pick_up_its_call() {
    let (house, forward) = house(0);
    let running = left_running(&house, only(&["fs__write"])).await;
    let by_id = json!({ "id": running.id });
    let found = async |caller: Caller| {
        let found = house.registry.left_call(&running.id, &caller.principal);
        found.await
    };
    assert_eq!(
        found(only(&["fs__read"])).await.unwrap_err().code(),
        "SuspensionNotFound"
    );
    let left = found(only(&["fs__write"])).await.unwrap();
    assert_eq!(left.tool, "forward");
    assert!(house.registry.is_call(&left, "fs__write", &path()));
    assert!(!house.registry.is_call(&left, "fs__read", &path()));
    assert!(!house.registry.is_call(&left, "fs__write", &json!({})));
    forward.may_end.add_permits(1);
    let caller = only(&["fs__write"]);
    let output = done(house.registry.call(RESUME, by_id, caller).await);
    assert_eq!(output[HANDED_ON]["zebra"], "fs__write");
    assert_eq!(forward.runs(), 1);
}

#[tokio::test]
async fn a_call_with_work_outside_that_was_cut_off_is_told_as_lost_and_not_run_again() {
    let (house, forward) = house(0);
    let running = left_running(&house, Caller::default()).await;
    let mut other = house.beside(None);
    let second = Forward::new(9);
    let parts = Parts {
        ids: Arc::new(SystemIds),
        clock: house.clock.clone(),
        ..parts(other.store.clone(), None)
    };
    other.registry = furnish(Registry::new(parts), &second);
    house.clock.advance(60_000_000);
    let nobody = Principal::default();
    let left = other.registry.left_call(&running.id, &nobody).await;
    assert_eq!(left.unwrap().left, Left::Abandoned);
    for _ in 0..2 {
        let resumed = other.call(RESUME, json!({ "id": running.id })).await;
        let lost = resumed.unwrap_err();
        assert_eq!(lost.code(), "CutOff");
        assert!(lost.to_string().contains("may or may not"), "{lost}");
    }
    let left = other.registry.left_call(&running.id, &nobody).await;
    assert!(matches!(left.unwrap().left, Left::Ended(Err(_))));
    assert_eq!((forward.runs(), second.runs()), (1, 0));
    // The first was not dead, only slow: what is told stays the same.
    forward.may_end.add_permits(1);
    house.registry.settled().await;
    let told = house.call(RESUME, json!({ "id": running.id })).await;
    assert_eq!(told.unwrap_err().code(), "CutOff");
}

#[tokio::test]
async fn work_outside_is_not_done_twice_because_others_were_faster() {
    let conflict = StoreError::Conflict {
        reason: "others changed it".to_owned(),
    };
    let forward = Forward::new(99);
    let parts = parts(Recorder::failing(conflict), None);
    let changes = Changing(forward.clone());
    let registry = Registry::new(parts).with(changes);
    let call = registry.call("changing", json!({ "tool": "x" }), Caller::default());
    assert_eq!(call.await.unwrap_err().code(), "Conflict");
    assert_eq!(forward.runs(), 1);
}
