//! Versions: every state that was current can be viewed, compared and restored.

use std::fs;

use serde_json::{Value, json};

use super::resource_manager_support::{ManagerHarness, reply_text};

fn versions_arguments(action: &str, more: &Value) -> Value {
    let mut all = json!({ "resource_type": "prompt", "action": action, "id": "greet" });
    for (name, value) in more.as_object().unwrap() {
        all[name] = value.clone();
    }
    all
}

#[tokio::test]
async fn the_newest_version_is_what_is_there() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    shop.manage_ok(versions_arguments(
        "update",
        &json!({ "user_message_template": "Two {{ who }}" }),
    ))
    .await;
    shop.manage_ok(versions_arguments(
        "update",
        &json!({ "user_message_template": "Three {{ who }}",
                                     "reason": "better" }),
    ))
    .await;
    let history = shop
        .manage_ok(versions_arguments("history", &json!({})))
        .await;
    let numbers: Vec<&Value> = history["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| &version["version"])
        .collect();
    assert_eq!(numbers, [3, 2, 1]);
    assert_eq!(history["versions"][0]["description"], "better");
    assert_eq!(history["versions"][0]["diff"], "+1 -1");
    let one = shop
        .manage_ok(versions_arguments("history", &json!({ "limit": 1 })))
        .await;
    assert_eq!(one["versions"].as_array().unwrap().len(), 1);
    assert_eq!(one["total"], 3);
    let compared = shop
        .manage_ok(versions_arguments(
            "compare",
            &json!({ "from_version": 1, "to_version": 3 }),
        ))
        .await;
    assert!(
        reply_text(&compared).contains("-Hello {{ who }}!"),
        "{compared}"
    );
    assert!(
        reply_text(&compared).contains("+Three {{ who }}"),
        "{compared}"
    );
    let last = shop
        .manage_ok(versions_arguments("compare", &json!({})))
        .await;
    assert!(reply_text(&last).contains("-Two {{ who }}"), "{last}");
    let kept: Value =
        serde_json::from_str(&shop.read("prompts/people/greet/.history.json")).unwrap();
    assert_eq!(kept["resource_type"], "prompt");
    assert_eq!(kept["resource_id"], "greet");
    assert_eq!(kept["current_version"], 3);
    assert!(kept["versions"][0]["date"].as_str().unwrap().contains('T'));
}

#[tokio::test]
async fn a_rollback_is_confirmed_exact_and_can_be_undone() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    let before = shop.read("prompts/people/greet/prompt.yaml");
    shop.manage_ok(versions_arguments(
        "update",
        &json!({ "user_message_template": "Two {{ who }}",
                                     "system_message": "s", "description": "Another" }),
    ))
    .await;
    // The watcher has not detected this edit yet.
    shop.write("prompts/people/greet/user-message.md", "By hand {{ who }}");
    let (code, _) = shop
        .manage_error(versions_arguments("rollback", &json!({ "version": 1 })))
        .await;
    assert_eq!(code, "ConfirmationNeeded");
    let answer = shop
        .manage_ok(versions_arguments(
            "rollback",
            &json!({ "version": 1, "confirm": true }),
        ))
        .await;
    assert_eq!(answer["version"], 4, "{answer}");
    assert_eq!(shop.read("prompts/people/greet/prompt.yaml"), before);
    assert_eq!(
        shop.read("prompts/people/greet/user-message.md"),
        "Hello {{ who }}!"
    );
    assert!(
        !shop
            .resource_path("prompts/people/greet/system-message.md")
            .exists()
    );
    assert!(
        shop.render_command(">>greet who:\"Ada\"")
            .await
            .contains("Hello Ada!")
    );
    shop.manage_ok(versions_arguments(
        "rollback",
        &json!({ "version": 3, "confirm": true }),
    ))
    .await;
    assert_eq!(
        shop.read("prompts/people/greet/user-message.md"),
        "By hand {{ who }}"
    );
    assert_eq!(shop.read("prompts/people/greet/system-message.md"), "s");
    let (code, text) = shop
        .manage_error(versions_arguments(
            "rollback",
            &json!({ "version": 99, "confirm": true }),
        ))
        .await;
    assert_eq!(code, "NotFound");
    assert!(text.contains("5, 4, 3"), "{text}");
}

#[tokio::test]
async fn a_broken_file_can_be_rolled_back() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    shop.write("prompts/people/greet/prompt.yaml", "id: [broken");
    let (code, text) = shop
        .manage_error(versions_arguments("update", &json!({ "name": "x" })))
        .await;
    assert_eq!(code, "InvalidResource");
    assert!(text.contains("roll back"), "{text}");
    shop.manage_ok(versions_arguments(
        "rollback",
        &json!({ "version": 1, "confirm": true }),
    ))
    .await;
    assert_eq!(shop.problems().await, Vec::<String>::new());
    let compared = shop
        .manage_ok(versions_arguments(
            "compare",
            &json!({ "from_version": 2, "to_version": 3 }),
        ))
        .await;
    assert!(reply_text(&compared).contains("-id: [broken"), "{compared}");
}

#[tokio::test]
async fn no_more_are_kept_than_allowed_and_none_if_not_wanted() {
    let shop = ManagerHarness::with_options(&|options| options.limits.max_versions = 3);
    shop.create_greeting("greet").await;
    for number in 0..6 {
        shop.manage_ok(versions_arguments(
            "update",
            &json!({ "description": format!("Number {number}") }),
        ))
        .await;
    }
    let history = shop
        .manage_ok(versions_arguments("history", &json!({})))
        .await;
    assert_eq!(history["total"], 3);
    assert_eq!(history["versions"][0]["version"], 7);
    let skipped = shop
        .manage_ok(versions_arguments(
            "update",
            &json!({ "description": "Quiet", "skip_version": true }),
        ))
        .await;
    assert_eq!(skipped["version"], Value::Null);
    let history = shop
        .manage_ok(versions_arguments("history", &json!({})))
        .await;
    assert_eq!(history["versions"][0]["version"], 7);
    shop.manage_ok(versions_arguments(
        "update",
        &json!({ "description": "Loud" }),
    ))
    .await;
    let history = shop
        .manage_ok(versions_arguments("history", &json!({})))
        .await;
    assert_eq!(history["versions"][1]["description"], "Changed outside");
    assert_eq!(history["versions"][0]["version"], 9);
}

#[tokio::test]
async fn a_damaged_history_is_told_and_set_aside() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    shop.write("prompts/people/greet/.history.json", "{ half");
    for action in ["history", "compare"] {
        let (code, text) = shop
            .manage_error(versions_arguments(action, &json!({})))
            .await;
        assert_eq!(code, "DamagedHistory", "{text}");
    }
    let (code, _) = shop
        .manage_error(versions_arguments(
            "rollback",
            &json!({ "version": 1, "confirm": true }),
        ))
        .await;
    assert_eq!(code, "DamagedHistory");
    let answer = shop
        .manage_ok(versions_arguments(
            "update",
            &json!({ "description": "Goes on" }),
        ))
        .await;
    assert!(
        reply_text(&answer).contains(".history.json.damaged-1"),
        "{answer}"
    );
    assert_eq!(
        shop.read("prompts/people/greet/.history.json.damaged-1"),
        "{ half"
    );
    let history = shop
        .manage_ok(versions_arguments("history", &json!({})))
        .await;
    assert_eq!(history["total"], 2);
}

#[tokio::test]
async fn the_history_of_an_earlier_program_is_read() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    let old = json!({
        "resource_type": "prompt", "resource_id": "greet", "current_version": 2,
        "versions": [
            { "version": 2, "date": "2025-01-02T00:00:00.000Z", "diff_summary": "+1/-1",
              "description": "Update via resource_manager",
              "snapshot": { "id": "greet", "name": "Old name", "category": "people",
                            "description": "The older words",
                            "userMessageTemplate": "Older {{ who }}",
                            "arguments": [{ "name": "who", "required": true }] } },
            { "version": 1, "date": "2025-01-01T00:00:00.000Z", "snapshot": {},
              "diff_summary": "", "description": "" },
        ],
    });
    fs::write(
        shop.resource_path("prompts/people/greet/.history.json"),
        old.to_string(),
    )
    .unwrap();
    let history = shop
        .manage_ok(versions_arguments("history", &json!({})))
        .await;
    assert_eq!(history["total"], 2);
    let answer = shop
        .manage_ok(versions_arguments(
            "rollback",
            &json!({ "version": 2, "confirm": true }),
        ))
        .await;
    assert_eq!(answer["version"], 4, "{answer}");
    assert!(
        shop.render_command(">>greet who:\"Ada\"")
            .await
            .contains("Older Ada")
    );
    let seen = shop
        .manage_ok(versions_arguments("inspect", &json!({})))
        .await;
    assert_eq!(seen["name"], "Old name");
}

#[tokio::test]
async fn a_shipped_thing_has_none() {
    let shop = ManagerHarness::new();
    let history = shop
        .manage_ok(json!({ "resource_type": "gate", "action": "history", "id": "no-filler" }))
        .await;
    assert_eq!(history["total"], 0);
    assert!(!shop.workspace().exists());
}
