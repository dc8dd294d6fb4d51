//! Work whose amount callers and authors decide waits for a thread of its own, within the share of its
//! principal, and never runs on the runtime. A principal without a free thread shows which work that
//! is.

use std::{collections::BTreeMap, fs, sync::Arc, time::Duration};

use deliberate_prompts::{
    gate::{CheckOutcome, GateSource, SelectedGate, check_all_async},
    library::PromptLibrary,
    model::{Gate, ScriptExecution, ScriptTool},
    process::ProcessError,
};
use deliberate_toolkit::{Registry, with_request_limits};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    busy_principal::{BusyPrincipal, caller, principal},
    engine_support::EngineHarness,
    process_commands::{folder, runner},
    resource_manager_support::ManagerHarness,
};

/// The time after which a call that waits for a thread is given up.
const PATIENCE: Duration = Duration::from_millis(300);

/// Calls a tool; returns the code of its error, or `waits` if it waits for a thread.
async fn outcome_code(registry: &Registry, tool: &str, arguments: Value, who: &str) -> String {
    let call = registry.call(tool, arguments, caller(who));
    // A call that needs no thread is answered however long it takes.
    let patience = if who == "alice" {
        PATIENCE
    } else {
        PATIENCE * 100
    };
    match timeout(patience, call).await {
        Err(_) => "waits".to_owned(),
        Ok(Ok(_)) => "done".to_owned(),
        Ok(Err(error)) => error.code().to_owned(),
    }
}

#[tokio::test]
async fn large_templates_and_conditions_are_compiled_off_the_runtime() {
    let prompt = |id: &str, text: &str| {
        format!("id: {id}\nname: N\ndescription: d\nuserMessageTemplate: \"{text}\"\n")
    };
    let large = prompt("large", &"{{ topic }} word ".repeat(1_000));
    let small = prompt("small", "{{ topic }}");
    let including = prompt("including", "{{ref:large}}");
    let kit = EngineHarness::new(&[
        ("prompts/misc/large/prompt.yaml", large.as_str()),
        ("prompts/misc/small/prompt.yaml", small.as_str()),
        ("prompts/misc/including/prompt.yaml", including.as_str()),
    ]);
    kit.library.library().await;
    let _busy = BusyPrincipal::new("alice").await;
    for (command, code, for_alice) in [
        (">>large nothing:\"x\"", "InvalidArguments", "waits"),
        (">>including nothing:\"x\"", "InvalidArguments", "waits"),
        // A small template is compiled at once.
        (
            ">>small nothing:\"x\"",
            "InvalidArguments",
            "InvalidArguments",
        ),
        (
            "? \"missing_name == 1\" : >>small topic:\"x\"",
            "BadCondition",
            "waits",
        ),
    ] {
        let arguments = json!({ "command": command });
        let bob = outcome_code(&kit.registry, "prompt_engine", arguments.clone(), "bob").await;
        assert_eq!(bob, code, "{command}");
        let alice = outcome_code(&kit.registry, "prompt_engine", arguments, "alice").await;
        assert_eq!(alice, for_alice, "{command}");
    }
}

#[tokio::test]
async fn patterns_of_gates_are_searched_off_the_runtime() {
    let busy = BusyPrincipal::new("alice").await;
    let outcome = async |criterion: Value, answer: &str| {
        let gate = SelectedGate {
            gate: Gate {
                id: "g".to_owned(),
                criteria: serde_json::from_value(json!([criterion])).unwrap(),
                ..Gate::default()
            },
            source: GateSource::Inline,
            also: Vec::new(),
        };
        let library = Arc::<PromptLibrary>::default();
        let checking = check_all_async(
            vec![gate],
            answer.to_owned(),
            None,
            library,
            BTreeMap::new(),
        );
        let results = with_request_limits(&busy.principal, PATIENCE, checking).await;
        results[0].outcome
    };
    for criterion in [
        json!({ "type": "content_check", "required_patterns": ["word"] }),
        json!({ "type": "content_check", "forbidden_patterns": ["other"] }),
        json!({ "type": "pattern_check", "regex_patterns": ["w+"] }),
        json!({ "type": "pattern_check", "keyword_count": { "word": 1 } }),
        json!({ "type": "citation_check", "min_citations": 0 }),
        json!({ "type": "schema_check", "schema": {} }),
    ] {
        let found = outcome(criterion.clone(), "a word").await;
        assert_eq!(found, CheckOutcome::CannotTell, "{criterion}");
    }
    // Lengths need no search, unless the answer is long.
    let length = json!({ "type": "content_check", "min_length": 3 });
    assert_eq!(outcome(length.clone(), "a word").await, CheckOutcome::Pass);
    let long = "word ".repeat(10_000);
    assert_eq!(outcome(length, &long).await, CheckOutcome::CannotTell);
}

#[tokio::test]
async fn the_input_of_a_script_is_checked_off_the_runtime() {
    let folder = folder();
    fs::write(folder.path().join("script.sh"), "cat").unwrap();
    let tool = ScriptTool {
        id: "lint".to_owned(),
        script: "script.sh".to_owned(),
        folder: folder.path().to_owned(),
        schema: Some(json!({ "required": ["text"] })),
        execution: ScriptExecution {
            confirm: false,
            ..ScriptExecution::default()
        },
        ..ScriptTool::default()
    };
    let runner = runner(&[], &["lint"], folder.path());
    let busy = BusyPrincipal::new("alice").await;
    let input = json!({});
    let running = runner.run_script(&tool, &input, "review");
    let error = with_request_limits(&busy.principal, PATIENCE, running).await;
    let error = error.unwrap_err();
    assert!(
        matches!(error, ProcessError::InputNotChecked(..)),
        "{error}"
    );
    let running = runner.run_script(&tool, &input, "review");
    let error = with_request_limits(&principal("bob"), PATIENCE * 100, running).await;
    let error = error.unwrap_err();
    assert!(matches!(error, ProcessError::InvalidInput(..)), "{error}");
}

#[tokio::test]
async fn a_resource_is_validated_off_the_runtime_and_an_abandoned_validation_writes_nothing() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    shop.manage_ok(json!({ "resource_type": "checkpoint", "action": "create", "id": "c" }))
        .await;
    let busy = BusyPrincipal::new("alice").await;
    let before = shop.all_files();
    let of_prompt = |action: &str, id: &str| {
        json!({ "resource_type": "prompt", "action": action, "id": id, "confirm": true,
                "version": 1 })
    };
    let create = |id: &str| {
        json!({ "resource_type": "gate", "action": "create", "id": id, "name": "N",
                "description": "d", "guidance": "g" })
    };
    let update = json!({ "resource_type": "prompt", "action": "update", "id": "greet",
                         "description": "other" });
    let checkpoint = json!({ "resource_type": "checkpoint", "action": "rollback", "id": "c",
                             "confirm": true });
    for call in [
        create("hers"),
        update,
        of_prompt("rollback", "greet"),
        of_prompt("delete", "greet"),
        of_prompt("inspect", "greet"),
        checkpoint,
        json!({ "resource_type": "prompt", "action": "reload" }),
    ] {
        let code = outcome_code(&shop.registry, "resource_manager", call.clone(), "alice").await;
        assert_eq!(code, "waits", "{call}");
    }
    assert_eq!(shop.all_files(), before);
    // Others are not held up.
    let code = outcome_code(&shop.registry, "resource_manager", create("his"), "bob").await;
    assert_eq!(code, "done");
    assert!(shop.resource_path("gates/his/gate.yaml").exists());
    drop(busy);
    shop.manage_ok(create("hers")).await;
}
