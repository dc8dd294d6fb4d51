//! `system_control injection`: why guidance is added, and deciding it at run time.

use deliberate_toolkit::ToolError;
use serde_json::{Value, json};

use crate::control_house::{House, ask};

fn explain(of: &str, more: Value) -> Value {
    let mut all = ask("injection", "explain", more);
    all["session_id"] = json!(of);
    all
}

fn decided<'a>(told: &'a Value, kind: &str) -> (&'a Value, &'a str) {
    let kind = &told["kinds"][kind];
    (&kind["inject"], kind["level"].as_str().unwrap())
}

/// Whether a prompt comes with the guidance of the methodology.
async fn guided(house: &House) -> bool {
    let shown = house.engine(json!({ "command": ">>hello Ann" })).await;
    shown["said"].as_str().unwrap().starts_with("Work by")
}

#[tokio::test]
async fn every_level_is_told_for_a_prompt_and_for_a_command() {
    let house = House::with(|options| options.methodology = Some("react".to_owned()));
    house.usual();
    let told = house.control(explain("hello", json!({}))).await;
    assert_eq!(decided(&told, "system-prompt"), (&json!(true), "default"));
    let levels = told["kinds"]["system-prompt"]["levels"].as_array().unwrap();
    let names: Vec<&str> = levels
        .iter()
        .map(|it| it["level"].as_str().unwrap())
        .collect();
    let all = [
        "modifier", "override", "step", "chain", "category", "global", "default",
    ];
    assert_eq!(names, all);
    assert!(told["said"].as_str().unwrap().contains("→ default"));

    let clean = house.control(explain("%clean >>hello", json!({}))).await;
    assert_eq!(
        decided(&clean, "system-prompt"),
        (&json!(false), "modifier")
    );
    let second = house.control(explain("greet", json!({ "step": 2 }))).await;
    assert_eq!(second["name"], "second");
    assert_eq!(
        decided(&second, "system-prompt"),
        (&json!(false), "default")
    );
    let only = house
        .control(explain("greet", json!({ "type": "style-guidance" })))
        .await;
    assert_eq!(only["kinds"].as_object().unwrap().len(), 1);

    let error = house.refused(explain("greet", json!({ "step": 3 }))).await;
    assert!(error.to_string().contains("from 1 to 2"), "{error}");
    let error = house.refused(explain("nobody", json!({}))).await;
    assert_eq!(error.code(), "UnknownName");
    let error = house.refused(ask("injection", "explain", json!({}))).await;
    assert!(matches!(error, ToolError::Invalid(_)));
}

#[tokio::test]
async fn what_is_explained_is_what_is_shown() {
    let house = House::with(|options| options.methodology = Some("react".to_owned()));
    house.usual().write(
        "engine.yaml",
        "injection:\n  categories:\n    own:\n      system-prompt: {frequency: {mode: every, interval: 1}}\n",
    );
    let begun = house.engine(json!({ "command": ">>greet Ann" })).await;
    let run = begun["chain_id"].as_str().unwrap().to_owned();
    let answer = json!({ "chain_id": run, "user_response": "Hi" });
    let second = house.engine(answer).await;
    let told = house.control(explain(&run, json!({}))).await;
    assert_eq!(told["step"], json!(2));
    let (inject, level) = decided(&told, "system-prompt");
    let shown = second["said"].as_str().unwrap().contains("Work by");
    assert_eq!(inject, &json!(shown));
    assert_eq!((shown, level), (true, "category"), "{}", told["said"]);
}

#[tokio::test]
async fn an_override_decides_until_it_ends_or_is_reset() {
    let house = House::with(|options| options.methodology = Some("react".to_owned()));
    house.usual();
    let other = house.beside();
    let off = json!({ "type": "system-prompt", "enabled": false, "expires_in_ms": 60_000 });
    house
        .control(ask("injection", "override", off.clone()))
        .await;
    assert!(!guided(&other).await);
    let told = other.control(explain("hello", json!({}))).await;
    assert_eq!(decided(&told, "system-prompt"), (&json!(false), "override"));

    house.clock.advance(61_000_000);
    assert!(guided(&other).await);

    house
        .control(ask("injection", "override", off.clone()))
        .await;
    house.control(ask("injection", "override", off)).await;
    let status = other.control(json!({ "action": "injection" })).await;
    assert_eq!(status["overrides"].as_array().unwrap().len(), 1);
    let reset = other.control(ask("injection", "reset", json!({}))).await;
    assert_eq!(reset["removed"], json!(1));
    assert!(guided(&house).await);
}

#[tokio::test]
async fn an_override_keeps_to_its_scope() {
    let house = House::with(|options| options.methodology = Some("react".to_owned()));
    house.usual();
    let begun = house.engine(json!({ "command": ">>greet Ann" })).await;
    let run = begun["chain_id"].as_str().unwrap().to_owned();
    let set = |scope: &str, id: &str| {
        let more =
            json!({ "type": "system-prompt", "enabled": false, "scope": scope, "scope_id": id });
        ask("injection", "override", more)
    };
    for (scope, id) in [
        ("session", run.as_str()),
        ("chain", "greet"),
        ("step", "first"),
    ] {
        house.control(set(scope, id)).await;
        let told = house.control(explain(&run, json!({}))).await;
        assert_eq!(decided(&told, "system-prompt").1, "override", "{scope}");
        let elsewhere = house.control(explain("hello", json!({}))).await;
        assert_eq!(decided(&elsewhere, "system-prompt").1, "default", "{scope}");
        house
            .control(ask("injection", "reset", json!({ "scope": scope })))
            .await;
    }
    for wrong in [
        json!({ "type": "x", "enabled": true }),
        json!({ "type": "system-prompt" }),
        json!({ "enabled": true }),
        json!({ "type": "system-prompt", "enabled": true, "scope": "world" }),
        json!({ "type": "system-prompt", "enabled": true, "expires_in_ms": 0 }),
        json!({ "type": "system-prompt", "enabled": true, "scope_id": "x".repeat(400) }),
    ] {
        let error = house.refused(ask("injection", "override", wrong)).await;
        assert!(matches!(error, ToolError::Invalid(_)), "{error}");
    }
}
