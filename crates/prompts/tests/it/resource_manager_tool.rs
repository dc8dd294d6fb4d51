//! The tool definition as a client sees it.

use serde_json::json;

use super::resource_manager_support::{ManagerHarness, reply_text};

#[tokio::test]
async fn it_takes_little_room_in_the_list_of_tools() {
    let shop = ManagerHarness::new();
    let listing = shop
        .registry
        .list()
        .into_iter()
        .find(|listing| listing.meta.name == "resource_manager")
        .unwrap();
    let entry = json!({
        "name": listing.meta.name,
        "title": listing.meta.title,
        "description": listing.meta.description,
        "inputSchema": listing.input_schema,
        "outputSchema": listing.output_schema,
        "annotations": { "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false,
                         "openWorldHint": false },
    });
    let tokens = entry.to_string().len() / 4;
    assert!(tokens <= 430, "{tokens} tokens: {entry}");
    assert_eq!(listing.input_schema["additionalProperties"], json!(true));
    assert_eq!(
        listing.input_schema["required"],
        json!(["resource_type", "action"])
    );
}

#[tokio::test]
async fn a_name_that_means_nothing_is_refused_with_the_nearest() {
    let shop = ManagerHarness::new();
    let (code, text) = shop
        .manage_error(
            json!({ "resource_type": "prompt", "action": "create", "id": "x", "name": "X",
                       "description": "d", "user_mesage_template": "t" }),
        )
        .await;
    assert_eq!(code, "InvalidInput");
    assert!(text.contains("`user_message_template`"), "{text}");
    let (_, text) = shop
        .manage_error(
            json!({ "resource_type": "prompt", "action": "create", "id": "x", "name": "X",
                       "description": "d", "user_message_template": "t", "pass_criteria": ["a"] }),
        )
        .await;
    assert!(text.contains("gate"), "{text}");
    let (_, text) = shop
        .manage_error(json!({ "resource_type": "gate", "action": "list", "severity": "high" }))
        .await;
    assert!(text.contains("create and update"), "{text}");
    assert!(!shop.workspace().exists(), "{:?}", shop.all_files());
}

#[tokio::test]
async fn a_switch_changes_the_methodology_in_use() {
    let shop = ManagerHarness::new();
    let answer = shop
        .manage_ok(
            json!({ "resource_type": "framework", "action": "switch", "id": "ReACT",
                      "reason": "to try" }),
        )
        .await;
    assert_eq!(answer["active"], "react");
    let state = shop.store.settings(&[]).await.unwrap();
    assert_eq!(state["prompts.framework"]["active"], "react");
    assert_eq!(state["prompts.framework"]["reason"], "to try");
    let listed = shop
        .manage_ok(json!({ "resource_type": "methodology", "action": "list" }))
        .await;
    assert!(reply_text(&listed).contains("(active)"), "{listed}");
    let (code, text) = shop
        .manage_error(json!({ "resource_type": "methodology", "action": "switch", "id": "scampr" }))
        .await;
    assert_eq!(code, "NotFound");
    assert!(text.contains("scamper"), "{text}");
    let (_, text) = shop
        .manage_error(
            json!({ "resource_type": "methodology", "action": "switch", "id": "react",
                       "persist": false }),
        )
        .await;
    assert!(text.contains("persist"), "{text}");
    let (code, _) = shop
        .manage_error(json!({ "resource_type": "gate", "action": "switch", "id": "x" }))
        .await;
    assert_eq!(code, "InvalidInput");
}

#[tokio::test]
async fn the_guide_and_reload_answer() {
    let shop = ManagerHarness::new();
    let guide = shop
        .manage_ok(json!({ "resource_type": "prompt", "action": "guide" }))
        .await;
    assert!(reply_text(&guide).contains("expected_hash"));
    shop.write("gates/bad/gate.yaml", "id: bad\nname: [\n");
    let answer = shop
        .manage_ok(json!({ "resource_type": "gate", "action": "reload" }))
        .await;
    assert_eq!(answer["errors"], 1, "{answer}");
    assert!(
        reply_text(&answer).contains("gates/bad/gate.yaml"),
        "{answer}"
    );
}
