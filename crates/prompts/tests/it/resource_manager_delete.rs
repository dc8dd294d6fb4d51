//! Deleting resources: only with confirmation, and never one that is in use.

use serde_json::json;

use super::resource_manager_support::{ManagerHarness, reply_text};

#[tokio::test]
async fn every_delete_must_be_confirmed() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    shop.manage_ok(
        json!({ "resource_type": "gate", "action": "create", "id": "g", "name": "G",
                      "description": "d", "guidance": "g" }),
    )
    .await;
    shop.manage_ok(
        json!({ "resource_type": "style", "action": "create", "id": "s", "name": "S",
                      "guidance": "g" }),
    )
    .await;
    shop.manage_ok(
        json!({ "resource_type": "methodology", "action": "create", "id": "m", "name": "M",
                      "system_prompt_guidance": "g", "phases": ["a"],
                      "methodology_gates": ["b"] }),
    )
    .await;
    let before = shop.all_files();
    let things = [
        ("prompt", "greet"),
        ("gate", "g"),
        ("style", "s"),
        ("methodology", "m"),
    ];
    for (kind, id) in things {
        for confirm in [json!(null), json!(false)] {
            let (code, text) = shop
                .manage_error(json!({ "resource_type": kind, "action": "delete", "id": id,
                               "confirm": confirm }))
                .await;
            assert_eq!(code, "ConfirmationNeeded", "{text}");
        }
    }
    assert_eq!(shop.all_files(), before);
    for (kind, id) in things {
        shop.manage_ok(
            json!({ "resource_type": kind, "action": "delete", "id": id, "confirm": true }),
        )
        .await;
        let (code, _) = shop
            .manage_error(json!({ "resource_type": kind, "action": "inspect", "id": id }))
            .await;
        assert_eq!(code, "NotFound");
    }
    assert_eq!(shop.all_files(), Vec::<String>::new());
}

#[tokio::test]
async fn what_others_use_is_kept_unless_there_is_a_reason() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    shop.manage_ok(
        json!({ "resource_type": "prompt", "action": "create", "id": "outer", "name": "O",
                      "description": "d", "user_message_template": "{{ref:greet}}",
                      "arguments": ["who"] }),
    )
    .await;
    let delete = json!({ "resource_type": "prompt", "action": "delete", "id": "greet",
                         "confirm": true });
    let (code, text) = shop.manage_error(delete.clone()).await;
    assert_eq!(code, "InUse");
    assert!(text.contains("prompt outer"), "{text}");
    let mut with_reason = delete;
    with_reason["reason"] = json!("no longer wanted");
    let answer = shop.manage_ok(with_reason).await;
    assert!(reply_text(&answer).contains("prompt outer"), "{answer}");
}

#[tokio::test]
async fn a_shipped_thing_stays_and_comes_back() {
    let shop = ManagerHarness::new();
    let delete = json!({ "resource_type": "gate", "action": "delete", "id": "no-filler",
                         "confirm": true });
    let (code, _) = shop.manage_error(delete.clone()).await;
    assert_eq!(code, "Shipped");
    shop.manage_ok(
        json!({ "resource_type": "gate", "action": "update", "id": "no-filler",
                      "name": "Mine" }),
    )
    .await;
    let answer = shop.manage_ok(delete).await;
    assert!(
        reply_text(&answer).contains("shipped version is used again"),
        "{answer}"
    );
    let seen = shop
        .manage_ok(json!({ "resource_type": "gate", "action": "inspect", "id": "no-filler" }))
        .await;
    assert_eq!(seen["layer"], "shipped");
    assert_ne!(seen["name"], "Mine");
}

#[tokio::test]
async fn nested_prompts_stay_when_their_parent_goes() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    shop.create_greeting("greet/formal").await;
    shop.manage_ok(
        json!({ "resource_type": "prompt", "action": "delete", "id": "greet",
                      "confirm": true }),
    )
    .await;
    let library = shop.library.library().await;
    assert!(!library.prompts.contains_key("greet"));
    assert!(library.prompts.contains_key("greet/formal"));
}

#[tokio::test]
async fn a_delete_by_hash_is_refused_when_the_thing_changed() {
    let shop = ManagerHarness::new();
    let made = shop.create_greeting("greet").await;
    shop.write("prompts/people/greet/user-message.md", "Other {{ who }}");
    let (code, _) = shop
        .manage_error(
            json!({ "resource_type": "prompt", "action": "delete", "id": "greet",
                       "confirm": true, "expected_hash": made["hash"] }),
        )
        .await;
    assert_eq!(code, "Conflict");
}

#[tokio::test]
async fn the_methodology_in_use_is_not_removed_by_mistake() {
    let shop = ManagerHarness::new();
    shop.manage_ok(
        json!({ "resource_type": "methodology", "action": "create", "id": "mine", "name": "M",
                "system_prompt_guidance": "g", "phases": ["a"], "methodology_gates": ["b"] }),
    )
    .await;
    shop.manage_ok(json!({ "resource_type": "methodology", "action": "switch", "id": "mine" }))
        .await;
    let (code, text) = shop
        .manage_error(
            json!({ "resource_type": "methodology", "action": "delete", "id": "mine",
                    "confirm": true }),
        )
        .await;
    assert_eq!(code, "InUse");
    assert!(text.contains("active methodology"), "{text}");
}
