//! `system_control injection`: explains why guidance is added, and overrides it at run time.

use deliberate_toolkit::ToolError;
use serde_json::{Value, json};

use super::control_support::{ControlHarness, control_arguments};

fn explain_arguments(of: &str, more: Value) -> Value {
    let mut all = control_arguments("injection", "explain", more);
    all["session_id"] = json!(of);
    all
}

fn decision_for<'a>(told: &'a Value, kind: &str) -> (&'a Value, &'a str) {
    let kind = &told["kinds"][kind];
    (&kind["inject"], kind["level"].as_str().unwrap())
}

/// Returns whether a rendered prompt contains the guidance of the methodology.
async fn has_guidance(harness: &ControlHarness) -> bool {
    let shown = harness
        .call_engine(json!({ "command": ">>hello Ann" }))
        .await;
    shown["said"].as_str().unwrap().starts_with("Work by")
}

#[tokio::test]
async fn every_level_is_told_for_a_prompt_and_for_a_command() {
    let house =
        ControlHarness::with_options(|options| options.methodology = Some("react".to_owned()));
    house.write_sample_prompts();
    let told = house
        .call_control(explain_arguments("hello", json!({})))
        .await;
    assert_eq!(
        decision_for(&told, "system-prompt"),
        (&json!(true), "default")
    );
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

    let clean = house
        .call_control(explain_arguments("%clean >>hello", json!({})))
        .await;
    assert_eq!(
        decision_for(&clean, "system-prompt"),
        (&json!(false), "modifier")
    );
    let second = house
        .call_control(explain_arguments("greet", json!({ "step": 2 })))
        .await;
    assert_eq!(second["name"], "second");
    assert_eq!(
        decision_for(&second, "system-prompt"),
        (&json!(false), "default")
    );
    let only = house
        .call_control(explain_arguments(
            "greet",
            json!({ "type": "style-guidance" }),
        ))
        .await;
    assert_eq!(only["kinds"].as_object().unwrap().len(), 1);

    let error = house
        .control_error(explain_arguments("greet", json!({ "step": 3 })))
        .await;
    assert!(error.to_string().contains("from 1 to 2"), "{error}");
    let error = house
        .control_error(explain_arguments("nobody", json!({})))
        .await;
    assert_eq!(error.code(), "UnknownName");
    let error = house
        .control_error(control_arguments("injection", "explain", json!({})))
        .await;
    assert!(matches!(error, ToolError::Invalid(_)));
}

#[tokio::test]
async fn what_is_explained_is_what_is_shown() {
    let house =
        ControlHarness::with_options(|options| options.methodology = Some("react".to_owned()));
    house.write_sample_prompts().write(
        "engine.yaml",
        "injection:\n  categories:\n    own:\n      system-prompt: {frequency: {mode: every, interval: 1}}\n",
    );
    let begun = house.call_engine(json!({ "command": ">>greet Ann" })).await;
    let run = begun["chain_id"].as_str().unwrap().to_owned();
    let answer = json!({ "chain_id": run, "user_response": "Hi" });
    let second = house.call_engine(answer).await;
    let told = house.call_control(explain_arguments(&run, json!({}))).await;
    assert_eq!(told["step"], json!(2));
    let (inject, level) = decision_for(&told, "system-prompt");
    let shown = second["said"].as_str().unwrap().contains("Work by");
    assert_eq!(inject, &json!(shown));
    assert_eq!((shown, level), (true, "category"), "{}", told["said"]);
}

#[tokio::test]
async fn an_override_decides_until_it_ends_or_is_reset() {
    let house =
        ControlHarness::with_options(|options| options.methodology = Some("react".to_owned()));
    house.write_sample_prompts();
    let other = house.second_process();
    let off = json!({ "type": "system-prompt", "enabled": false, "expires_in_ms": 60_000 });
    house
        .call_control(control_arguments("injection", "override", off.clone()))
        .await;
    assert!(!has_guidance(&other).await);
    let told = other
        .call_control(explain_arguments("hello", json!({})))
        .await;
    assert_eq!(
        decision_for(&told, "system-prompt"),
        (&json!(false), "override")
    );

    house.clock.advance(61_000_000);
    assert!(has_guidance(&other).await);

    house
        .call_control(control_arguments("injection", "override", off.clone()))
        .await;
    house
        .call_control(control_arguments("injection", "override", off))
        .await;
    let status = other.call_control(json!({ "action": "injection" })).await;
    assert_eq!(status["overrides"].as_array().unwrap().len(), 1);
    let reset = other
        .call_control(control_arguments("injection", "reset", json!({})))
        .await;
    assert_eq!(reset["removed"], json!(1));
    assert!(has_guidance(&house).await);
}

#[tokio::test]
async fn an_override_keeps_to_its_scope() {
    let house =
        ControlHarness::with_options(|options| options.methodology = Some("react".to_owned()));
    house.write_sample_prompts();
    let begun = house.call_engine(json!({ "command": ">>greet Ann" })).await;
    let run = begun["chain_id"].as_str().unwrap().to_owned();
    let set = |scope: &str, id: &str| {
        let more =
            json!({ "type": "system-prompt", "enabled": false, "scope": scope, "scope_id": id });
        control_arguments("injection", "override", more)
    };
    for (scope, id) in [
        ("session", run.as_str()),
        ("chain", "greet"),
        ("step", "first"),
    ] {
        house.call_control(set(scope, id)).await;
        let told = house.call_control(explain_arguments(&run, json!({}))).await;
        assert_eq!(
            decision_for(&told, "system-prompt").1,
            "override",
            "{scope}"
        );
        let elsewhere = house
            .call_control(explain_arguments("hello", json!({})))
            .await;
        assert_eq!(
            decision_for(&elsewhere, "system-prompt").1,
            "default",
            "{scope}"
        );
        house
            .call_control(control_arguments(
                "injection",
                "reset",
                json!({ "scope": scope }),
            ))
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
        let error = house
            .control_error(control_arguments("injection", "override", wrong))
            .await;
        assert!(matches!(error, ToolError::Invalid(_)), "{error}");
    }
}
