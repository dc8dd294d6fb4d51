//! `system_control`: analytics, maintenance, guide, changes.

use deliberate_testkit::wait_until_async;
use deliberate_toolkit::ToolError;
use serde_json::{Value, json};

use super::control_support::{ControlHarness, control_arguments, field_values};

#[tokio::test]
async fn row_31_executions_are_counted_and_survive() {
    let house = ControlHarness::new();
    house.write_sample_prompts();
    house.call_engine(json!({ "command": ">>hello Ann" })).await;
    house
        .call_engine(json!({ "command": ">>hello Bob --> >>bye" }))
        .await;
    house
        .call("prompt_engine", json!({ "command": ">>hello" }))
        .await
        .unwrap_err();
    house.registry.flush_log().await;

    let other = house.second_process();
    let view = other
        .call_control(control_arguments(
            "analytics",
            "view",
            json!({ "include_history": true }),
        ))
        .await;
    let hello = json!({ "prompt": "hello", "executions": 3, "failed": 1 });
    assert_eq!(view["prompts"][0], hello);
    assert_eq!(view["executions"], json!(4));
    let tools = view["tools"].as_array().unwrap();
    let engine = tools
        .iter()
        .find(|it| it["tool"] == "prompt_engine")
        .unwrap();
    assert_eq!(
        (&engine["calls"], &engine["failed"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(view["history"].as_array().unwrap().len(), 3);

    let history = other
        .call_control(control_arguments(
            "analytics",
            "history",
            json!({ "limit": 1 }),
        ))
        .await;
    assert_eq!(history["history"][0]["asked"], ">>hello");
    assert_eq!(history["history"][0]["success"], json!(false));

    let error = other
        .control_error(control_arguments("analytics", "reset", json!({})))
        .await;
    assert_eq!(error.code(), "NeedsConfirmation");
    other
        .call_control(control_arguments(
            "analytics",
            "reset",
            json!({ "confirm": true }),
        ))
        .await;
    assert_eq!(
        house
            .call_control(control_arguments("analytics", "view", json!({})))
            .await["executions"],
        json!(0)
    );
}

#[tokio::test]
async fn outcomes_of_gates_are_counted() {
    let house = ControlHarness::new();
    house.write_sample_prompts();
    let begun = house
        .call_engine(json!({ "command": ">>bye :: \"is polite\"" }))
        .await;
    let id = begun["chain_id"].clone();
    let answer =
        json!({ "chain_id": id, "user_response": "Bye, dear", "gate_verdict": "PASS - is" });
    house.call_engine(answer).await;
    let view = house.call_control(json!({ "action": "analytics" })).await;
    assert_eq!(view["gates"][0]["passed"], json!(1), "{view}");
}

#[tokio::test]
async fn the_stages_of_the_last_calls_can_be_shown() {
    let house = ControlHarness::new();
    house.write_sample_prompts();
    house.call_engine(json!({ "command": ">>hello Ann" })).await;
    house
        .call("prompt_engine", json!({ "command": ">>nobody" }))
        .await
        .unwrap_err();
    let trace = house
        .call_control(control_arguments("analytics", "trace", json!({})))
        .await;
    let last = &trace["traces"][0];
    assert_eq!(
        (&last["asked"], &last["error"]),
        (&json!(">>nobody"), &json!("UnknownName"))
    );
    let stages = field_values(&trace["traces"][1]["stages"], "stage");
    assert!(stages.starts_with(&["normalize".to_owned()]), "{stages:?}");
    assert!(stages.contains(&"render".to_owned()));
    assert!(trace["traces"][1]["stages"][0]["micros"].is_u64());
}

#[tokio::test]
async fn restart_reads_the_library_again_and_needs_a_word() {
    let house = ControlHarness::new();
    house.write_sample_prompts();
    house.call_control(json!({ "action": "status" })).await;
    house.prompt("late", "userMessageTemplate: 'Late'");
    let error = house
        .control_error(json!({ "action": "maintenance" }))
        .await;
    assert_eq!(error.code(), "NeedsConfirmation");
    let done = house
        .call_control(json!({ "action": "maintenance", "confirm": true }))
        .await;
    assert_eq!(done["changed"], json!(true));
    assert_eq!(
        house.call_engine(json!({ "command": ">>late" })).await["said"],
        "Late"
    );

    let all = house.call_control(json!({ "action": "changes" })).await;
    assert_eq!(all["changes"][0]["id"], "late");
    assert_eq!(all["changes"][0]["source"], "mcp-tool");
    let list = |more: Value| control_arguments("changes", "list", more);
    let none = house
        .call_control(list(json!({ "source": "filesystem" })))
        .await;
    assert_eq!(none["changes"], json!([]));
    let none = house
        .call_control(list(json!({ "resourceType": "gate" })))
        .await;
    assert_eq!(none["changes"], json!([]));
    let none = house
        .call_control(list(json!({ "since": "2999-01-01" })))
        .await;
    assert_eq!(none["changes"], json!([]));
    let some = house
        .call_control(list(json!({ "source": "mcp-tool", "limit": 1 })))
        .await;
    assert_eq!(some["changes"].as_array().unwrap().len(), 1);
    for wrong in [
        json!({ "source": "me" }),
        json!({ "resourceType": "x" }),
        json!({ "since": "x" }),
    ] {
        assert!(matches!(
            house.control_error(list(wrong)).await,
            ToolError::Invalid(_)
        ));
    }
}

#[tokio::test]
async fn the_guide_has_topics() {
    let house = ControlHarness::new();
    let all = house.call_control(json!({ "action": "guide" })).await;
    for topic in all["topics"].as_array().unwrap() {
        let text = house
            .control_text(json!({ "action": "guide", "topic": topic }))
            .await;
        assert!(text.len() > 80, "{text}");
    }
    let error = house
        .control_error(json!({ "action": "guide", "topic": "gatse" }))
        .await;
    assert!(error.to_string().contains("did you mean gates?"), "{error}");
}

#[tokio::test]
async fn words_of_the_command_lead_here() {
    let house = ControlHarness::new();
    house.write_sample_prompts();
    let status = house.call_engine(json!({ "command": "status" })).await;
    assert!(status["said"].as_str().unwrap().contains("open runs: 0"));
    house
        .call_engine(json!({ "command": "framework switch react" }))
        .await;
    let seen = house
        .second_process()
        .call_control(json!({ "action": "framework" }))
        .await;
    assert!(
        seen["active"]
            .as_str()
            .unwrap()
            .eq_ignore_ascii_case("react")
    );
}

#[tokio::test]
async fn a_file_that_is_written_by_hand_is_noticed_and_told() {
    let house = ControlHarness::new();
    house.write_sample_prompts();
    house.call_control(json!({ "action": "status" })).await;
    house.prompt("by_hand", "userMessageTemplate: 'x'");
    let wanted = json!({ "action": "changes", "source": "filesystem" });
    wait_until_async(async || {
        let list = house.call_control(wanted.clone()).await;
        field_values(&list["changes"], "id").contains(&"by_hand".to_owned())
    })
    .await;
}

#[tokio::test]
async fn every_call_that_was_answered_is_counted() {
    let house = ControlHarness::new();
    house.write_sample_prompts();
    let list = json!({ "resource_type": "prompt", "action": "list" });
    house.call("resource_manager", list).await.unwrap();
    // The first record opens the database, which may take longer than the call waits.
    house.registry.flush_log().await;
    house.call_control(json!({ "action": "status" })).await;
    let view = house
        .call_control(control_arguments("analytics", "view", json!({})))
        .await;
    let counted = field_values(&view["tools"], "tool");
    assert_eq!(counted, ["resource_manager", "system_control"], "{view}");
}
