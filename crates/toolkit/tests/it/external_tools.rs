//! Tests of external tools, which are called through one of our own.

use std::{sync::Arc, time::Duration};

use deliberate_core::SystemIds;
use deliberate_store::StoreError;
use deliberate_toolkit::{
    BackgroundStatus, CallerContext, InputReply, Principal, RAW_RESULT, RESUME_TOOL, Registry,
    RegistryDeps, StillRunning, TimedOutcome, ToolError, ToolScope,
};
use serde_json::{Value, json};

use super::{
    external_tools_support::{ChangingForwardTool, ForwardTool, NestedTool, TwoExternalTools},
    recording_store::RecordingStore,
    registry_fixture::{RegistryFixture, deps, expect_done},
    test_tools::EchoTool,
};

const SHORT_TIMEOUT: Duration = Duration::from_millis(20);

fn build_registry(registry: Registry, forward: &ForwardTool) -> Arc<Registry> {
    let registry = registry
        .with(EchoTool)
        .with(forward.clone())
        .with(NestedTool);
    Arc::new(registry.with_external_tools(Arc::new(TwoExternalTools)))
}

/// Creates a registry with an external tool that may answer that often.
fn fixture(permits: usize) -> (RegistryFixture, ForwardTool) {
    let mut house = RegistryFixture::without_model();
    let forward = ForwardTool::new(permits);
    let parts = RegistryDeps {
        ids: Arc::new(SystemIds),
        clock: house.clock.clone(),
        ..deps(house.store.clone(), None)
    };
    house.registry = build_registry(Registry::new(parts), &forward);
    (house, forward)
}

fn scoped_caller(names: &[&str]) -> CallerContext {
    CallerContext {
        principal: Principal {
            name: Some("ann".into()),
            scope: ToolScope::Only(names.iter().map(|name| (*name).to_owned()).collect()),
        },
        ..CallerContext::default()
    }
}

fn path_arguments() -> Value {
    json!({ "path": "a", "depth": null })
}

async fn call_in_background(fixture: &RegistryFixture, caller: CallerContext) -> StillRunning {
    let call = fixture
        .registry
        .call_with_timeout("fs__write", path_arguments(), caller, SHORT_TIMEOUT)
        .await;
    match call {
        Ok(TimedOutcome::StillRunning(running)) => running,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_call_of_a_guest_is_a_call_of_our_tool_and_recorded_under_its_name() {
    let (house, _) = fixture(1);
    let output = expect_done(house.call("fs__read", path_arguments()).await);
    assert_eq!(output[RAW_RESULT]["zebra"], "fs__read");
    // The arguments are the external tool's own: nothing in them is corrected.
    assert_eq!(output[RAW_RESULT]["content"], path_arguments());
    let record = house.last_record().await;
    assert_eq!(record.tool_name, "fs__read");
    assert_eq!(record.input["tool"], "fs__read");
    assert_eq!(record.output, Some(output));
}

#[tokio::test]
async fn who_may_call_is_asked_of_the_guests_name() {
    let (house, forward) = fixture(9);
    let call = async |scope: &[&str], name: &str| {
        let arguments = match name {
            "forward" => json!({ "tool": "fs__read" }),
            _ => path_arguments(),
        };
        house
            .registry
            .call(name, arguments, scoped_caller(scope))
            .await
    };
    let forbidden = |name: &str| {
        Err(ToolError::Forbidden {
            what: name.to_owned(),
        })
    };
    assert!(call(&["fs__*"], "fs__read").await.is_ok());
    assert!(call(&["forward"], "forward").await.is_ok());
    assert_eq!(call(&["fs__*"], "forward").await, forbidden("forward"));
    // The scope of our tool covers every tool that it calls, also by name.
    assert!(call(&["forward"], "fs__read").await.is_ok());
    assert_eq!(
        call(&["fs__read"], "fs__write").await,
        forbidden("fs__write")
    );
    assert_eq!(forward.run_count(), 3);
}

#[tokio::test]
async fn a_name_that_nobody_has_is_told_with_the_nearest_of_all() {
    let (house, _) = fixture(0);
    let error = house.call("fs__raed", path_arguments()).await.unwrap_err();
    assert_eq!(error.hint().unwrap(), "Did you mean fs__read?");
    let error = house.call("eco", path_arguments()).await.unwrap_err();
    assert_eq!(error.hint().unwrap(), "Did you mean echo?");
}

#[tokio::test]
async fn a_tool_can_run_a_guest_within_its_call() {
    let (house, _) = fixture(9);
    let run = |tool: &str| json!({ "tool": tool });
    let output = expect_done(house.call("through", run("fs__read")).await);
    // An upstream server's answer has the form of our own: its text, or all of its content.
    let said = output["inner"]["said"].as_str().unwrap();
    assert!(said.contains(r#"{"path":"b"}"#), "{said}");
    assert_eq!(
        (&output["can"], &output["waits"]),
        (&json!(true), &json!(false))
    );
    let error = house.call("through", run("fs__none")).await.unwrap_err();
    assert_eq!(error.code(), "UnknownTool");
    for (scope, code) in [
        (&["through", "fs__write"][..], Some("Forbidden")),
        (&["through", "fs__read"], None),
        (&["through", "forward"], None),
    ] {
        let call = house
            .registry
            .call("through", run("fs__read"), scoped_caller(scope));
        let failed = call.await.err();
        assert_eq!(failed.as_ref().map(ToolError::code), code, "{scope:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_sent_again_goes_to_whom_it_belongs() {
    let (house, forward) = fixture(9);
    let again = |state: &str| CallerContext {
        input_reply: Some(InputReply {
            state: state.to_owned(),
            responses: json!({ "name": { "action": "accept" } }),
        }),
        ..CallerContext::default()
    };
    let call = house
        .registry
        .call("fs__read", path_arguments(), again("for fs__read"));
    let output = expect_done(call.await);
    assert_eq!(output[RAW_RESULT]["again"]["name"]["action"], "accept");
    // This holds for one of our own names too, if the reply belongs to an external tool.
    let call = house
        .registry
        .call("echo", path_arguments(), again("for echo"));
    assert_eq!(expect_done(call.await)[RAW_RESULT]["zebra"], "echo");
    let call = house
        .registry
        .call("fs__write", path_arguments(), again("for fs__read"));
    assert_eq!(call.await.unwrap_err().code(), "UnknownTool");
    assert_eq!(forward.run_count(), 2);
}

#[tokio::test]
async fn who_may_call_the_guest_alone_can_pick_up_its_call() {
    let (house, forward) = fixture(0);
    let running = call_in_background(&house, scoped_caller(&["fs__write"])).await;
    let by_id = json!({ "id": running.id });
    let found = async |caller: CallerContext| {
        let found = house
            .registry
            .background_call(&running.id, &caller.principal);
        found.await
    };
    assert_eq!(
        found(scoped_caller(&["fs__read"]))
            .await
            .unwrap_err()
            .code(),
        "SuspensionNotFound"
    );
    let left = found(scoped_caller(&["fs__write"])).await.unwrap();
    assert_eq!(left.tool, "forward");
    assert!(
        house
            .registry
            .matches_call(&left, "fs__write", &path_arguments())
    );
    assert!(
        !house
            .registry
            .matches_call(&left, "fs__read", &path_arguments())
    );
    assert!(!house.registry.matches_call(&left, "fs__write", &json!({})));
    forward.permits.add_permits(1);
    let caller = scoped_caller(&["fs__write"]);
    let output = expect_done(house.registry.call(RESUME_TOOL, by_id, caller).await);
    assert_eq!(output[RAW_RESULT]["zebra"], "fs__write");
    assert_eq!(forward.run_count(), 1);
}

#[tokio::test]
async fn a_call_with_work_outside_that_was_cut_off_is_told_as_lost_and_not_run_again() {
    let (house, forward) = fixture(0);
    let running = call_in_background(&house, CallerContext::default()).await;
    let mut other = house.second_process(None);
    let second = ForwardTool::new(9);
    let parts = RegistryDeps {
        ids: Arc::new(SystemIds),
        clock: house.clock.clone(),
        ..deps(other.store.clone(), None)
    };
    other.registry = build_registry(Registry::new(parts), &second);
    house.clock.advance(60_000_000);
    let nobody = Principal::default();
    let left = other.registry.background_call(&running.id, &nobody).await;
    assert_eq!(left.unwrap().status, BackgroundStatus::Abandoned);
    for _ in 0..2 {
        let resumed = other.call(RESUME_TOOL, json!({ "id": running.id })).await;
        let lost = resumed.unwrap_err();
        assert_eq!(lost.code(), "CutOff");
        assert!(lost.to_string().contains("may or may not"), "{lost}");
    }
    let left = other.registry.background_call(&running.id, &nobody).await;
    assert!(matches!(
        left.unwrap().status,
        BackgroundStatus::Ended(Err(_))
    ));
    assert_eq!((forward.run_count(), second.run_count()), (1, 0));
    // The first worker was not dead, only slow: the reported outcome stays the same.
    forward.permits.add_permits(1);
    house.registry.wait_background_calls().await;
    let told = house.call(RESUME_TOOL, json!({ "id": running.id })).await;
    assert_eq!(told.unwrap_err().code(), "CutOff");
}

#[tokio::test]
async fn work_outside_is_not_done_twice_because_others_were_faster() {
    let conflict = StoreError::Conflict {
        reason: "others changed it".to_owned(),
    };
    let forward = ForwardTool::new(99);
    let parts = deps(RecordingStore::failing(conflict), None);
    let changes = ChangingForwardTool(forward.clone());
    let registry = Registry::new(parts).with(changes);
    let call = registry.call("changing", json!({ "tool": "x" }), CallerContext::default());
    assert_eq!(call.await.unwrap_err().code(), "Conflict");
    assert_eq!(forward.run_count(), 1);
}
