//! Calls write no script unless the operator allows it, and never one that is allowed by name.

use std::process::Command;

use deliberate_toolkit::{CallOutcome, CallerContext};
use serde_json::{Value, json};

use super::resource_manager_support::ManagerHarness;

fn with_listed_scripts() -> ManagerHarness {
    let shop = ManagerHarness::with_options(&|options| {
        options.scripts = vec!["report:check".to_owned(), "auto*".to_owned()];
        options.caller_scripts = true;
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
    let shop = with_listed_scripts();
    let before = shop.all_files();
    for call in [
        prompt("update", "report", &tool("check")),
        prompt("update", "report", &tool("Check")),
        prompt("create", "auto_new", &tool("anything")),
        prompt("create", "Auto_new", &tool("anything")),
        prompt("create", "report/tools/check", &json!([])),
    ] {
        let (code, text) = shop.manage_error(call.clone()).await;
        assert_eq!(code, "OperatorsOwn", "{call}: {text}");
        assert!(text.contains("on disk"), "{text}");
    }
    assert_eq!(shop.all_files(), before);
    let script = shop.read("prompts/people/report/tools/check/script.py");
    assert!(script.contains("operator"));
    // A script that is not listed cannot run by its name, so the operator may let it be written.
    shop.manage_ok(prompt("update", "report", &tool("other")))
        .await;
    shop.manage_ok(prompt("create", "plain", &tool("check")))
        .await;
}

#[tokio::test]
async fn no_rollback_brings_an_earlier_script_back() {
    let shop = with_listed_scripts();
    let version = json!({ "resource_type": "prompt", "action": "update", "id": "report",
                          "description": "other" });
    shop.manage_ok(version).await;
    shop.manage_ok(json!({ "resource_type": "checkpoint", "action": "create", "name": "old" }))
        .await;
    let script = "prompts/people/report/tools/check/script.py";
    shop.write(script, "print('mended')\n");
    for kind in ["prompt", "checkpoint"] {
        let id = if kind == "prompt" { "report" } else { "old" };
        let (code, text) = shop
            .manage_error(
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
    let shop = with_listed_scripts();
    let file = "scripts/autofix/script.py";
    shop.write(
        "scripts/autofix/tool.yaml",
        "id: autofix\nname: C\nscript: script.py\nruntime: python\n",
    );
    shop.write(file, "1\n");
    shop.manage_ok(json!({ "resource_type": "checkpoint", "action": "create", "name": "old" }))
        .await;
    shop.write(file, "2\n");
    let (code, _) = shop
        .manage_error(
            json!({ "resource_type": "checkpoint", "action": "rollback", "id": "old",
                       "confirm": true }),
        )
        .await;
    assert_eq!(code, "OperatorsOwn");
    assert_eq!(shop.read(file), "2\n");
}

#[tokio::test]
async fn no_script_is_written_where_commands_run() {
    let shop = ManagerHarness::with_options(&|options| {
        options.commands = vec!["node --test".to_owned()];
    });
    let before = shop.all_files();
    let script = json!([{ "id": "test", "name": "T", "script": "evil()", "runtime": "node" }]);
    let (code, text) = shop.manage_error(prompt("create", "test", &script)).await;
    assert_eq!(code, "OperatorsOwn", "{text}");
    assert!(text.contains("on disk"), "{text}");
    assert_eq!(shop.all_files(), before);
    // A prompt without a script is no danger.
    shop.manage_ok(prompt("create", "test", &json!([]))).await;
}

#[tokio::test]
async fn no_script_waits_in_the_workspace_for_a_command_to_be_allowed() {
    let shop = ManagerHarness::new();
    let script = json!([{ "id": "test", "name": "T", "script": "evil()", "runtime": "node" }]);
    let (code, text) = shop
        .manage_error(prompt("create", "waiting", &script))
        .await;
    assert_eq!(code, "OperatorsOwn", "{text}");
    assert!(text.contains("prompts.caller_scripts"), "{text}");
    shop.manage_ok(prompt("create", "waiting", &json!([])))
        .await;
    let (code, text) = shop
        .manage_error(prompt("update", "waiting", &script))
        .await;
    assert_eq!(code, "OperatorsOwn", "{text}");
    let later = shop.reopen(&|options| options.commands = vec!["node --test".to_owned()]);
    let files = later.all_files();
    assert!(
        !files.iter().any(|it| it.contains("/tools/")),
        "a command would run it: {files:?}"
    );
    // The prompt itself is there, and can be changed.
    later
        .manage_ok(
            json!({ "resource_type": "prompt", "action": "update", "id": "waiting",
                    "description": "other" }),
        )
        .await;
}

#[tokio::test]
async fn the_operator_may_let_calls_write_scripts() {
    let shop = ManagerHarness::with_options(&|options| options.caller_scripts = true);
    shop.manage_ok(prompt("create", "mine", &tool("check")))
        .await;
    let script = "prompts/people/mine/tools/check/script.py";
    assert_eq!(shop.read(script), "print('evil')");
    // A script of the operator stays as it is when a call changes something else.
    let strict = shop.reopen(&|_| {});
    let change = json!({ "resource_type": "prompt", "action": "update", "id": "mine",
                         "description": "other" });
    strict.manage_ok(change).await;
    let rollback = json!({ "resource_type": "prompt", "action": "rollback", "id": "mine",
                           "version": 1, "confirm": true });
    strict.manage_ok(rollback.clone()).await;
    assert_eq!(shop.read(script), "print('evil')");
    shop.write(script, "print('mended')");
    let (code, text) = strict.manage_error(rollback).await;
    assert_eq!(code, "OperatorsOwn", "{text}");
    assert_eq!(shop.read(script), "print('mended')");
}

#[tokio::test]
async fn no_checkpoint_brings_a_script_back_unless_calls_may_write_some() {
    for allowed in [false, true] {
        let shop = ManagerHarness::with_options(&|options| options.caller_scripts = allowed);
        let script = "prompts/people/report/tools/check/script.mjs";
        shop.write(
            "prompts/people/report/prompt.yaml",
            "id: report\nname: R\ndescription: d\nuserMessageTemplate: t\ntools: [check]\n",
        );
        shop.write(script, "evil()\n");
        shop.manage_ok(json!({ "resource_type": "checkpoint", "action": "create", "name": "old" }))
            .await;
        shop.write(script, "good()\n");
        let rollback = json!({ "resource_type": "checkpoint", "action": "rollback", "id": "old",
                               "confirm": true });
        if allowed {
            shop.manage_ok(rollback).await;
            assert_eq!(shop.read(script), "evil()\n");
        } else {
            let (code, text) = shop.manage_error(rollback).await;
            assert_eq!(code, "OperatorsOwn", "{text}");
            assert_eq!(shop.read(script), "good()\n");
        }
    }
}

#[tokio::test]
async fn a_stored_gate_of_a_caller_chooses_neither_environment_nor_folder_of_a_command() {
    let shop = ManagerHarness::with_options(&|options| {
        options.commands = vec!["python3 -m pytest -q".to_owned()];
    });
    let criterion = json!({ "type": "shell_verify", "shell_command": "python3 -m pytest -q" });
    for (field, value) in [
        ("shell_env", json!({ "CI": "1" })),
        ("shell_working_dir", json!("prompts")),
    ] {
        let before = shop.all_files();
        let mut set = criterion.clone();
        set[field] = value;
        let gate = json!({ "resource_type": "gate", "action": "create", "id": "mine",
                           "name": "G", "description": "d", "guidance": "g",
                           "pass_criteria": [set.clone()] });
        let (code, text) = shop.manage_error(gate).await;
        assert_eq!(code, "OperatorsOwn", "{text}");
        assert!(text.contains(field), "{text}");
        assert_eq!(shop.all_files(), before);
    }
    // The operator's own settings stay when a caller changes something else.
    shop.write(
        "gates/theirs/gate.yaml",
        "id: theirs\ntype: validation\nname: T\ndescription: d\nguidance: g\npass_criteria:\n  - type: shell_verify\n    shell_command: python3 -m pytest -q\n    shell_env: { CI: \"1\" }\n",
    );
    shop.manage_ok(
        json!({ "resource_type": "gate", "action": "update", "id": "theirs",
                           "description": "other" }),
    )
    .await;
}

/// Answers a prompt under a gate that runs `node --test` in the workspace.
async fn run_node_tests(shop: &ManagerHarness) -> String {
    let call = async |arguments: Value| {
        let outcome = shop
            .registry
            .call("prompt_engine", arguments, CallerContext::default());
        match outcome.await.unwrap() {
            CallOutcome::Done(answer) => answer,
            CallOutcome::NeedsReply(asked) => panic!("it asked: {asked:?}"),
        }
    };
    let begun = call(json!({ "command": ">>greet who:\"Ann\" :: verify:\"node --test\"" })).await;
    let answer = json!({ "chain_id": begun["chain_id"], "user_response": "Hello Ann!" });
    call(answer).await.to_string()
}

#[tokio::test]
async fn an_allowed_test_command_runs_no_script_of_a_caller() {
    if Command::new("node").arg("--version").output().is_err() {
        eprintln!("skipped: node is not installed");
        return;
    }
    for caller_scripts in [false, true] {
        let shop = ManagerHarness::with_options(&|options| {
            options.commands = vec!["node --test".to_owned()];
            options.caller_scripts = caller_scripts;
        });
        shop.create_greeting("greet").await;
        let marker = shop.root().join("marker");
        let source = format!(
            "require('fs').writeFileSync({:?}, 'ran')",
            marker.display().to_string()
        );
        let script = json!([{ "id": "check", "name": "C", "script": source, "runtime": "node" }]);
        let written = shop.manage(prompt("create", "test", &script)).await;
        assert_eq!(written.is_ok(), caller_scripts, "{written:?}");
        let output = run_node_tests(&shop).await;
        // The command does run what it finds; that the operator may allow scripts is what shows it.
        assert_eq!(marker.exists(), caller_scripts, "{output}");
    }
}
