//! Errors and notes that prevent an operation the caller did not intend.

use std::fs::{self, File};

use serde_json::json;

use super::resource_manager_support::{ManagerHarness, reply_text};

#[tokio::test]
async fn a_gate_is_not_active_everywhere_unless_that_is_said() {
    let shop = ManagerHarness::new();
    let gate = |id: &str| {
        json!({ "resource_type": "gate", "action": "create", "id": id, "name": "N",
                "description": "d", "guidance": "g" })
    };
    let made = shop.manage_ok(gate("quiet")).await;
    assert!(
        reply_text(&made).contains("only where it is named"),
        "{made}"
    );
    assert!(
        shop.read("gates/quiet/gate.yaml")
            .contains("explicit_request: true")
    );
    let mut open = gate("loud");
    open["activation"] = json!({ "prompt_categories": ["people"] });
    let made = shop.manage_ok(open).await;
    assert!(
        !reply_text(&made).contains("only where it is named"),
        "{made}"
    );
    assert!(
        !shop
            .read("gates/loud/gate.yaml")
            .contains("explicit_request")
    );
}

#[tokio::test]
async fn a_gate_is_listed_with_its_type_and_its_severity() {
    let shop = ManagerHarness::new();
    shop.manage_ok(
        json!({ "resource_type": "gate", "action": "create", "id": "g", "name": "N",
                      "description": "d", "guidance": "g", "severity": "high" }),
    )
    .await;
    let list = shop
        .manage_ok(
            json!({ "resource_type": "gate", "action": "list", "format": "json",
                      "filter": "layer:workspace" }),
        )
        .await;
    let gate = &list["items"][0];
    assert_eq!(
        (&gate["type"], &gate["severity"]),
        (&json!("guidance"), &json!("high"))
    );
}

#[tokio::test]
async fn gates_that_a_prompt_defines_are_told_of() {
    let shop = ManagerHarness::new();
    shop.write(
        "prompts/people/p/prompt.yaml",
        "id: p\nname: P\ndescription: d\nuserMessageTemplate: t\ngateConfiguration:\n  \
         inline_gate_definitions:\n    - {id: mine, name: Mine, guidance: g}\n",
    );
    let told = shop
        .manage_ok(json!({ "resource_type": "prompt", "action": "analyze_gates", "id": "p" }))
        .await;
    assert_eq!(told["inline"], json!(["mine"]), "{told}");
    assert!(reply_text(&told).contains("mine"));
}

#[tokio::test]
async fn a_list_must_be_a_list() {
    let shop = ManagerHarness::new();
    shop.create_greeting("g").await;
    let before = shop.read("prompts/people/g/prompt.yaml");
    for (field, value) in [
        ("arguments", json!("notalist")),
        ("arguments", json!(7)),
        ("arguments", json!({ "name": "x" })),
        ("chain_steps", json!("notalist")),
    ] {
        let mut call = json!({ "resource_type": "prompt", "action": "update", "id": "g" });
        call[field] = value;
        let (code, text) = shop.manage_error(call.clone()).await;
        assert_eq!(code, "InvalidInput", "{call}: {text}");
    }
    assert_eq!(shop.read("prompts/people/g/prompt.yaml"), before);
}

#[tokio::test]
async fn a_template_may_not_use_what_nothing_gives_it() {
    let shop = ManagerHarness::new();
    let create = json!({ "resource_type": "prompt", "action": "create", "id": "p", "name": "N",
                         "description": "d", "user_message_template": "{{ topik }}",
                         "arguments": [{ "name": "topic" }] });
    let (code, text) = shop.manage_error(create).await;
    assert_eq!(code, "InvalidResource");
    assert!(
        text.contains("`topik`") && text.contains("`topic`"),
        "{text}"
    );
    shop.create_greeting("g").await;
    let update = json!({ "resource_type": "prompt", "action": "update", "id": "g",
                         "user_message_template": "{{ whoo }}" });
    let (_, text) = shop.manage_error(update.clone()).await;
    assert!(text.contains("`whoo`") && text.contains("`who`"), "{text}");
    // A chain may pass the value to its step.
    shop.manage_ok(
        json!({ "resource_type": "prompt", "action": "create", "id": "c", "name": "N",
                      "description": "d", "chain_steps": [{ "prompt_id": "g" }] }),
    )
    .await;
    shop.manage_ok(update).await;
}

#[tokio::test]
async fn a_workspace_that_stays_locked_is_no_reason_to_hang() {
    let shop = ManagerHarness::new();
    fs::create_dir_all(shop.workspace()).unwrap();
    let other = File::create(shop.workspace().join(".deliberate.lock")).unwrap();
    other.lock().unwrap();
    let (code, text) = shop
        .manage_error(
            json!({ "resource_type": "prompt", "action": "create", "id": "p", "name": "N",
                       "description": "d", "user_message_template": "t" }),
        )
        .await;
    assert_eq!(code, "Busy", "{text}");
    drop(other);
    shop.create_greeting("g").await;
}

#[tokio::test]
async fn a_deeply_nested_value_is_refused_and_ends_nothing() {
    let shop = ManagerHarness::new();
    for depth in [30, 37, 40, 50, 58, 60, 62, 64, 80, 110] {
        let schema = (0..depth).fold(
            json!({ "type": "string" }),
            |inner, _| json!({ "if": inner }),
        );
        let gate = json!({ "resource_type": "gate", "action": "create", "id": format!("g{depth}"),
                           "name": "G", "type": "validation", "description": "d", "guidance": "g",
                           "pass_criteria": [{ "type": "schema_check", "schema": schema }] });
        if depth < 35 {
            shop.manage_ok(gate).await;
        } else {
            let (code, text) = shop.manage_error(gate).await;
            assert_eq!(code, "InvalidResource", "{depth}: {text}");
        }
    }
}
