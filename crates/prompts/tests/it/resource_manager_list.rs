//! Listing and inspecting resources.

use serde_json::{Value, json};

use super::resource_manager_support::{ManagerHarness, reply_text};

#[tokio::test]
async fn filters_formats_and_pages_are_honoured() {
    let shop = ManagerHarness::new();
    let list = |more: Value| {
        let mut all = json!({ "resource_type": "prompt", "action": "list", "format": "json" });
        for (name, value) in more.as_object().unwrap() {
            all[name] = value.clone();
        }
        all
    };
    let all = shop.manage_ok(list(json!({}))).await;
    let total = all["total"].as_u64().unwrap();
    assert!(total > 20);
    let parsed: Value = serde_json::from_str(reply_text(&all)).unwrap();
    assert_eq!(parsed["items"], all["items"]);
    let some = shop
        .manage_ok(list(json!({ "filter": "category:development review" })))
        .await;
    let items = some["items"].as_array().unwrap();
    assert!(!items.is_empty() && items.len() < 10);
    for item in items {
        assert_eq!(item["category"], "development");
        assert!(item.to_string().to_lowercase().contains("review"), "{item}");
    }
    let chains = shop
        .manage_ok(list(json!({ "filter": "type:chain" })))
        .await;
    for item in chains["items"].as_array().unwrap() {
        assert!(
            item["type"].as_str().unwrap().starts_with("chain with"),
            "{item}"
        );
    }
    let none = shop
        .manage_ok(list(json!({ "search_query": "zzz-nothing" })))
        .await;
    assert_eq!(none["total"], 0);
    let mut seen = Vec::new();
    let mut offset = 0;
    loop {
        let page = shop
            .manage_ok(list(json!({ "limit": 7, "offset": offset })))
            .await;
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 7);
        seen.extend(items.iter().map(|item| item["id"].clone()));
        match page["next_offset"].as_u64() {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert_eq!(seen.len() as u64, total);
    shop.create_greeting("greet").await;
    let mine = shop
        .manage_ok(list(json!({ "filter": "layer:workspace" })))
        .await;
    assert_eq!(mine["items"][0]["id"], "greet");
    assert_eq!(mine["total"], 1);
}

#[tokio::test]
async fn a_text_list_is_short_and_says_what_is_a_chain() {
    let shop = ManagerHarness::new();
    let answer = shop
        .manage_ok(json!({ "resource_type": "prompt", "action": "list", "filter": "release" }))
        .await;
    assert!(reply_text(&answer).contains("[writing]"), "{answer}");
    assert!(reply_text(&answer).contains("(chain with"), "{answer}");
    assert!(answer.get("items").is_none());
    shop.manage_ok(
        json!({ "resource_type": "style", "action": "create", "id": "off", "name": "Off",
                      "guidance": "g", "enabled": false }),
    )
    .await;
    let ids = |answer: &Value| reply_text(answer).contains("off: Off");
    let all = shop
        .manage_ok(json!({ "resource_type": "style", "action": "list" }))
        .await;
    assert!(ids(&all), "{all}");
    let on = shop
        .manage_ok(json!({ "resource_type": "style", "action": "list", "enabled_only": true }))
        .await;
    assert!(!ids(&on), "{on}");
}

#[tokio::test]
async fn inspecting_shows_steps_users_and_problems() {
    let shop = ManagerHarness::new();
    let seen = shop
        .manage_ok(json!({ "resource_type": "prompt", "action": "inspect", "id": "release_notes" }))
        .await;
    assert_eq!(seen["type"], "chain");
    assert!(seen["total_steps"].as_u64().unwrap() > 1);
    assert!(reply_text(&seen).contains("step 1:"), "{seen}");
    let seen = shop
        .manage_ok(json!({ "resource_type": "prompt", "action": "inspect",
                      "id": "release_notes/group", "format": "json" }))
        .await;
    assert!(
        seen["used_by"].to_string().contains("release_notes"),
        "{seen}"
    );
    serde_json::from_str::<Value>(reply_text(&seen)).unwrap();
    shop.write("prompts/misc/broken/prompt.yaml", "id: broken\nname: [");
    shop.manage_ok(json!({ "resource_type": "prompt", "action": "reload" }))
        .await;
    let seen = shop
        .manage_ok(json!({ "resource_type": "prompt", "action": "inspect", "id": "broken" }))
        .await;
    assert!(reply_text(&seen).contains("prompt.yaml"), "{seen}");
    let kind = shop
        .manage_ok(json!({ "resource_type": "prompt", "action": "analyze_type",
                      "id": "release_notes" }))
        .await;
    assert_eq!(kind["type"], "chain");
    let gates = shop
        .manage_ok(
            json!({ "resource_type": "prompt", "action": "analyze_gates",
                      "id": "commit_message" }),
        )
        .await;
    assert_eq!(gates["own"], json!(["commit-format"]));
}
