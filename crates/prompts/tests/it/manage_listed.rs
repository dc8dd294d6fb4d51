//! Scripts that the operator allowed by name are left alone.

use serde_json::{Value, json};

use crate::manage_kit::Shop;

fn with_listed() -> Shop {
    let shop = Shop::with(&|options| {
        options.scripts = vec!["report:check".to_owned(), "auto*".to_owned()];
    });
    shop.write(
        "prompts/people/report/prompt.yaml",
        "id: report\nname: R\ndescription: d\nuserMessageTemplate: t\ntools: [check]\n",
    );
    shop.write(
        "prompts/people/report/tools/check/tool.yaml",
        "id: check\nname: C\nscript: script.py\nruntime: python\n",
    );
    shop.write(
        "prompts/people/report/tools/check/script.py",
        "print('the operator's')\n",
    );
    shop
}

fn tool(id: &str) -> Value {
    json!([{ "id": id, "name": "C", "script": "print('evil')", "runtime": "python" }])
}

fn prompt(action: &str, id: &str, tools: &Value) -> Value {
    json!({ "resource_type": "prompt", "action": action, "id": id, "name": "N",
            "description": "d", "category": "people", "user_message_template": "t",
            "tools": tools })
}

#[tokio::test]
async fn a_listed_script_is_neither_made_nor_changed() {
    let shop = with_listed();
    let before = shop.everything();
    for call in [
        prompt("update", "report", &tool("check")),
        prompt("update", "report", &tool("Check")),
        prompt("create", "auto_new", &tool("anything")),
        prompt("create", "Auto_new", &tool("anything")),
        prompt("create", "report/tools/check", &json!([])),
    ] {
        let (code, text) = shop.fails(call.clone()).await;
        assert_eq!(code, "OperatorsOwn", "{call}: {text}");
        assert!(text.contains("on disk"), "{text}");
    }
    assert_eq!(shop.everything(), before);
    let script = shop.read("prompts/people/report/tools/check/script.py");
    assert!(script.contains("operator"));
    // What is not listed can't run, and may be written.
    shop.must(prompt("update", "report", &tool("other"))).await;
    shop.must(prompt("create", "plain", &tool("check"))).await;
}

#[tokio::test]
async fn no_rollback_brings_an_earlier_script_back() {
    let shop = with_listed();
    let version = json!({ "resource_type": "prompt", "action": "update", "id": "report",
                          "description": "other" });
    shop.must(version).await;
    shop.must(json!({ "resource_type": "checkpoint", "action": "create", "name": "old" }))
        .await;
    let script = "prompts/people/report/tools/check/script.py";
    shop.write(script, "print('mended')\n");
    for kind in ["prompt", "checkpoint"] {
        let id = if kind == "prompt" { "report" } else { "old" };
        let (code, text) = shop
            .fails(
                json!({ "resource_type": kind, "action": "rollback", "id": id,
                           "version": 1, "confirm": true }),
            )
            .await;
        assert_eq!(code, "OperatorsOwn", "{kind}: {text}");
    }
    assert_eq!(shop.read(script), "print('mended')\n");
}

#[tokio::test]
async fn no_rollback_brings_a_shared_script_back() {
    let shop = with_listed();
    let file = "scripts/autofix/script.py";
    shop.write(
        "scripts/autofix/tool.yaml",
        "id: autofix\nname: C\nscript: script.py\nruntime: python\n",
    );
    shop.write(file, "1\n");
    shop.must(json!({ "resource_type": "checkpoint", "action": "create", "name": "old" }))
        .await;
    shop.write(file, "2\n");
    let (code, _) = shop
        .fails(
            json!({ "resource_type": "checkpoint", "action": "rollback", "id": "old",
                       "confirm": true }),
        )
        .await;
    assert_eq!(code, "OperatorsOwn");
    assert_eq!(shop.read(file), "2\n");
}
