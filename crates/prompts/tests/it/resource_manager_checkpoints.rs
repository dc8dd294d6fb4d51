//! Checkpoints: copies of all resources, and restoring them.

use std::fs;

use serde_json::{Value, json};

use super::resource_manager_support::{ManagerHarness, reply_text};

fn checkpoint(action: &str, more: &Value) -> Value {
    let mut all = json!({ "resource_type": "checkpoint", "action": action });
    for (name, value) in more.as_object().unwrap() {
        all[name] = value.clone();
    }
    all
}

#[tokio::test]
async fn everything_comes_back_and_the_way_back_is_kept() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    shop.manage_ok(
        json!({ "resource_type": "gate", "action": "create", "id": "g", "name": "G",
                      "description": "d", "guidance": "g" }),
    )
    .await;
    let made = shop
        .manage_ok(checkpoint(
            "create",
            &json!({ "name": "good", "description": "works" }),
        ))
        .await;
    assert_eq!(made["files"], 6, "{made}");
    let before: Vec<(String, Vec<u8>)> = shop
        .all_files()
        .into_iter()
        .filter(|name| !name.contains(".checkpoints"))
        .map(|name| (name.clone(), fs::read(shop.root().join(name)).unwrap()))
        .collect();
    shop.manage_ok(
        json!({ "resource_type": "prompt", "action": "update", "id": "greet",
                      "user_message_template": "Other {{ who }}" }),
    )
    .await;
    shop.manage_ok(
        json!({ "resource_type": "gate", "action": "delete", "id": "g", "confirm": true }),
    )
    .await;
    shop.create_greeting("extra").await;
    let (code, _) = shop
        .manage_error(checkpoint("rollback", &json!({ "id": "good" })))
        .await;
    assert_eq!(code, "ConfirmationNeeded");
    let back = shop
        .manage_ok(checkpoint(
            "rollback",
            &json!({ "id": "good", "confirm": true }),
        ))
        .await;
    let now: Vec<(String, Vec<u8>)> = shop
        .all_files()
        .into_iter()
        .filter(|name| !name.contains(".checkpoints"))
        .map(|name| (name.clone(), fs::read(shop.root().join(name)).unwrap()))
        .collect();
    assert_eq!(now, before);
    let library = shop.library.library().await;
    assert!(library.gates.contains_key("g"));
    assert!(!library.prompts.contains_key("extra"));
    shop.manage_ok(checkpoint(
        "rollback",
        &json!({ "id": back["safety"], "confirm": true }),
    ))
    .await;
    let library = shop.library.library().await;
    assert!(library.prompts.contains_key("extra"));
    assert!(!library.gates.contains_key("g"));
    assert!(
        shop.render_command(">>greet who:\"Ada\"")
            .await
            .contains("Other Ada")
    );
}

#[tokio::test]
async fn they_are_listed_named_once_and_removed_with_consent() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    for name in ["one", "two"] {
        shop.manage_ok(checkpoint("create", &json!({ "id": name })))
            .await;
    }
    let (code, _) = shop
        .manage_error(checkpoint("create", &json!({ "id": "One" })))
        .await;
    assert_eq!(code, "AlreadyExists");
    let listed = shop.manage_ok(checkpoint("list", &json!({}))).await;
    assert_eq!(listed["total"], 2);
    assert!(reply_text(&listed).contains("one"), "{listed}");
    assert_eq!(shop.problems().await, Vec::<String>::new());
    for action in ["delete", "clear"] {
        let (code, _) = shop
            .manage_error(checkpoint(action, &json!({ "id": "one" })))
            .await;
        assert_eq!(code, "ConfirmationNeeded");
    }
    shop.manage_ok(checkpoint(
        "delete",
        &json!({ "id": "one", "confirm": true }),
    ))
    .await;
    let (code, text) = shop
        .manage_error(checkpoint(
            "rollback",
            &json!({ "id": "tow", "confirm": true }),
        ))
        .await;
    assert_eq!(code, "NotFound");
    assert!(text.contains("`two`"), "{text}");
    let cleared = shop
        .manage_ok(checkpoint("clear", &json!({ "confirm": true })))
        .await;
    assert_eq!(cleared["deleted"], 1);
    for name in ["../out", "", ".hidden", "a/b"] {
        let (code, _) = shop
            .manage_error(checkpoint("create", &json!({ "id": name })))
            .await;
        assert_eq!(code, "InvalidInput");
    }
    let (code, _) = shop
        .manage_error(checkpoint("switch", &json!({ "id": "one" })))
        .await;
    assert_eq!(code, "InvalidInput");
}
