//! `system_control session`: lists, inspects and clears chain runs.

use deliberate_store::Pagination;
use deliberate_toolkit::ToolScope;
use serde_json::json;

use super::control_support::{ControlHarness, control_arguments};

async fn begin_run(harness: &ControlHarness) -> String {
    let begun = harness
        .call_engine(json!({ "command": ">>greet Ann" }))
        .await;
    begun["chain_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn runs_are_listed_newest_first_and_seen_by_another_process() {
    let house = ControlHarness::new();
    house.write_sample_prompts();
    let (one, two) = (begin_run(&house).await, begin_run(&house).await);
    house
        .call_engine(json!({ "chain_id": one, "user_response": "Hi" }))
        .await;
    let other = house.second_process();
    let list = other.call_control(json!({ "action": "session" })).await;
    assert_eq!(list["runs"][0]["chain_id"], json!(one));
    assert_eq!(list["runs"][0]["step"], json!(2));
    assert_eq!(list["runs"][1]["chain_id"], json!(two));
    assert!(list["said"].as_str().unwrap().contains("step 2 of 2"));
    let first = other
        .call_control(control_arguments("session", "list", json!({ "limit": 1 })))
        .await;
    assert_eq!(first["runs"].as_array().unwrap().len(), 1);
    assert_eq!(first["total"], json!(2));
    let status = other.call_control(json!({ "action": "status" })).await;
    assert_eq!(status["open_runs"], json!(2));
}

#[tokio::test]
async fn a_run_is_looked_into_by_its_id_or_its_base() {
    let house = ControlHarness::new();
    house.write_sample_prompts();
    begin_run(&house).await;
    let id = begin_run(&house).await;
    house
        .call_engine(json!({ "chain_id": id, "user_response": "Hi there" }))
        .await;
    let whole = house
        .call_control(control_arguments(
            "session",
            "inspect",
            json!({ "session_id": id }),
        ))
        .await;
    assert_eq!(whole["steps"][0]["status"], "done");
    assert_eq!(whole["steps"][0]["result"], "Hi there");
    assert_eq!(whole["steps"][1]["status"], "open");
    assert_eq!(whole["events"][0]["kind"], "answered");
    assert!(
        whole["events"][0]["at"]
            .as_str()
            .unwrap()
            .starts_with("2026-01-01")
    );
    for base in ["chain-greet", "greet"] {
        let same = house
            .call_control(control_arguments(
                "session",
                "inspect",
                json!({ "session_id": base }),
            ))
            .await;
        assert_eq!(same["chain_id"], json!(id));
    }
    for wrong in ["chain-greet#99", "nobody", "x#y"] {
        let error = house
            .control_error(control_arguments(
                "session",
                "inspect",
                json!({ "session_id": wrong }),
            ))
            .await;
        assert_eq!(error.code(), "RunNotFound");
    }
}

#[tokio::test]
async fn clearing_needs_a_word_and_spares_what_is_open() {
    let house = ControlHarness::new();
    house.write_sample_prompts();
    let (open, ended, gone) = (
        begin_run(&house).await,
        begin_run(&house).await,
        begin_run(&house).await,
    );
    house
        .call_engine(json!({ "chain_id": ended, "gate_action": "abort" }))
        .await;
    let clear = |more| control_arguments("session", "clear", more);
    let error = house
        .control_error(clear(json!({ "session_id": gone })))
        .await;
    assert_eq!(error.code(), "NeedsConfirmation");
    house
        .call_control(clear(json!({ "session_id": gone, "confirm": true })))
        .await;
    let error = house
        .call("prompt_engine", json!({ "chain_id": gone }))
        .await
        .unwrap_err();
    assert_eq!(error.code(), "RunNotFound");

    let error = house.control_error(clear(json!({}))).await;
    assert_eq!(error.code(), "NeedsConfirmation");
    let cleared = house.call_control(clear(json!({ "confirm": true }))).await;
    assert_eq!(cleared["deleted"], json!([ended]));
    let left = house
        .second_process()
        .call_control(json!({ "action": "session" }))
        .await;
    assert_eq!(left["total"], json!(1));
    assert_eq!(left["runs"][0]["chain_id"], json!(open));
}

#[tokio::test]
async fn who_has_a_name_sees_their_own_runs() {
    let house = ControlHarness::new().with_caller("ann");
    house.write_sample_prompts();
    let id = begin_run(&house).await;
    let bob = house.second_process().with_caller("bob");
    assert_eq!(
        bob.call_control(json!({ "action": "session" })).await["total"],
        json!(0)
    );
    let error = bob
        .control_error(control_arguments(
            "session",
            "inspect",
            json!({ "session_id": id }),
        ))
        .await;
    assert_eq!(error.code(), "RunNotFound");
    let clear = control_arguments(
        "session",
        "clear",
        json!({ "session_id": id, "confirm": true }),
    );
    assert_eq!(bob.control_error(clear).await.code(), "RunNotFound");
    let operator = house.second_process();
    assert_eq!(
        operator.call_control(json!({ "action": "session" })).await["total"],
        json!(1)
    );
}

#[tokio::test]
async fn the_newest_run_is_the_callers_own() {
    let ann = ControlHarness::new().with_caller("ann");
    ann.write_sample_prompts();
    let hers = begin_run(&ann).await;
    let bob = ann.second_process().with_caller("bob");
    let his = begin_run(&bob).await;
    assert_ne!(hers, his);
    let inspect = control_arguments("session", "inspect", json!({ "session_id": "greet" }));
    assert_eq!(ann.call_control(inspect).await["chain_id"], json!(hers));
    let went_on = ann
        .call_engine(json!({ "chain_id": "chain-greet", "user_response": "Hi" }))
        .await;
    assert_eq!(went_on["chain_id"], json!(hers));
}

#[tokio::test]
async fn a_run_that_nobody_goes_on_with_is_forgotten_in_time() {
    const DAY: i64 = 24 * 60 * 60 * 1_000_000;
    let house = ControlHarness::new();
    house.write_sample_prompts();
    let (idle, lively) = (begin_run(&house).await, begin_run(&house).await);
    house.clock.advance(29 * DAY);
    house
        .call_engine(json!({ "chain_id": lively, "user_response": "Hi" }))
        .await;
    house.clock.advance(2 * DAY);
    let total = async || house.call_control(json!({ "action": "session" })).await["total"].clone();
    assert_eq!(total().await, json!(2));
    let new = begin_run(&house).await;
    assert_eq!(total().await, json!(2));
    let gone = house
        .control_error(control_arguments(
            "session",
            "inspect",
            json!({ "session_id": idle }),
        ))
        .await;
    assert_eq!(gone.code(), "RunNotFound");
    for id in [lively, new] {
        house
            .call_control(control_arguments(
                "session",
                "inspect",
                json!({ "session_id": id }),
            ))
            .await;
    }
}

#[tokio::test]
async fn deleting_needs_a_scope_of_its_own() {
    let mut house = ControlHarness::new().with_caller("ann");
    house.write_sample_prompts();
    let id = begin_run(&house).await;
    let allow =
        |scopes: &[&str]| ToolScope::Only(scopes.iter().map(|scope| (*scope).to_owned()).collect());
    let clear = control_arguments(
        "session",
        "clear",
        json!({ "session_id": id, "confirm": true }),
    );
    let delete = json!({
        "resource_type": "prompt", "action": "delete", "id": "hello", "confirm": true,
        "reason": "no longer wanted",
    });
    house.caller.principal.scope = allow(&["system_control", "resource_manager"]);
    for (tool, arguments) in [("system_control", &clear), ("resource_manager", &delete)] {
        let error = house.call(tool, arguments.clone()).await.unwrap_err();
        assert_eq!(error.code(), "Forbidden", "{tool}");
        assert!(error.to_string().contains(&format!("{tool}/delete")));
    }
    let listed = house.call_control(json!({ "action": "session" })).await;
    assert_eq!(listed["total"], json!(1));
    house.caller.principal.scope = allow(&["system_control*"]);
    house.call_control(clear).await;
    let listed = house.call_control(json!({ "action": "session" })).await;
    assert_eq!(listed["total"], json!(0));
    for allowed in [
        ["resource_manager", "resource_manager/delete"].as_slice(),
        &["resource_manager*"],
    ] {
        house.write_sample_prompts();
        house.caller.principal.scope = allow(&["resource_manager"]);
        let error = house.call("resource_manager", delete.clone()).await;
        assert_eq!(error.unwrap_err().code(), "Forbidden");
        house.caller.principal.scope = allow(allowed);
        house
            .call("resource_manager", delete.clone())
            .await
            .unwrap();
        let inspect = json!({ "resource_type": "prompt", "action": "inspect", "id": "hello" });
        let error = house.call("resource_manager", inspect).await;
        assert_eq!(error.unwrap_err().code(), "NotFound", "{allowed:?}");
    }
}

#[tokio::test]
async fn a_deleted_run_leaves_no_text_in_the_invocation_log() {
    let house = ControlHarness::new();
    house.write_sample_prompts();
    let id = begin_run(&house).await;
    let answer = json!({ "chain_id": id, "user_response": "a private answer" });
    house.call_engine(answer).await;
    let run = json!({ "session_id": id });
    house
        .call_control(control_arguments("session", "inspect", run))
        .await;
    let clear = json!({ "session_id": id, "confirm": true });
    house
        .call_control(control_arguments("session", "clear", clear))
        .await;
    house.registry.flush_log().await;
    let store = house.registry.store();
    let records = store.invocations(None, Pagination::limit(10)).await;
    let records = records.unwrap();
    assert_eq!(records.len(), 4, "every call is logged");
    for record in records {
        let texts = format!("{:?}{:?}", record.input, record.output);
        assert!(!texts.contains("private answer"), "{record:?}");
        assert!(!texts.contains(&id), "{record:?}");
    }
}
