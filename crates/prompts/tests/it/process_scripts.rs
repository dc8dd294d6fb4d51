//! Running script tools, and the commands and scripts of gates.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use serde_json::{Value, json};

use CheckOutcome::{CannotTell, Fail, Pass};

use super::process_commands::{folder, runner};
use deliberate_prompts::{
    gate::{CheckOutcome, GateSource, SelectedGate},
    model::{Gate, ScriptExecution, ScriptRuntime, ScriptTool},
    process::ProcessError,
};

fn script(folder: &Path, body: &str) -> ScriptTool {
    fs::write(folder.join("script.sh"), body).unwrap();
    ScriptTool {
        id: "lint".to_owned(),
        script: "script.sh".to_owned(),
        folder: folder.to_owned(),
        execution: ScriptExecution {
            confirm: false,
            ..ScriptExecution::default()
        },
        ..ScriptTool::default()
    }
}

#[tokio::test]
async fn a_script_gets_json_and_gives_json_or_text() {
    let folder = folder();
    let runner = runner(&[], &["lint"], folder.path());
    let run = async |body: &str, input: Value| {
        let tool = script(folder.path(), body);
        runner.run_script(&tool, &input, "review").await
    };
    let input = json!({ "text": "a \"b\" é" });
    assert_eq!(run("cat", input.clone()).await.unwrap().value, input);
    let text = run("echo hello; echo aside >&2", json!({})).await.unwrap();
    assert_eq!(text.value, json!({ "output": "hello" }));
    assert_eq!(text.stderr_tail, "aside\n");
    let failed = run(
        "echo '{\"valid\": true}'; echo broken >&2; exit 3",
        json!({}),
    )
    .await;
    let failed = failed.unwrap_err().to_string();
    assert!(
        failed.contains("exit code 3") && failed.contains("broken"),
        "{failed}"
    );
    let much = run("seq 1 100000", json!({})).await.unwrap_err();
    assert!(matches!(much, ProcessError::OutputTooLarge(_)));
    assert!(much.to_string().contains("64 KiB"));
}

#[tokio::test]
async fn a_script_knows_who_it_is_and_runs_in_its_folder() {
    let folder = folder();
    let runner = runner(&[], &["lint"], Path::new("/nowhere"));
    let mut tool = script(
        folder.path(),
        "printf '%s|%s|%s|%s' \"$SCRIPT_TOOL_ID\" \"$SCRIPT_PROMPT_ID\" \"$SCRIPT_TOOL_DIR\" \"$(pwd)\"",
    );
    tool.env
        .insert("SCRIPT_TOOL_ID".to_owned(), "false".to_owned());
    let said = runner
        .run_script(&tool, &json!({}), "review")
        .await
        .unwrap()
        .value;
    let real = folder.path().canonicalize().unwrap();
    let (given, real) = (folder.path().display(), real.display());
    assert_eq!(said["output"], format!("lint|review|{given}|{real}"));
    tool.working_dir = Some("..".to_owned());
    let outside = runner.run_script(&tool, &json!({}), "review").await;
    assert!(matches!(outside, Err(ProcessError::OutsideFolder { .. })));
}

#[tokio::test]
async fn the_input_of_a_script_must_fit_its_schema() {
    let folder = folder();
    let runner = runner(&[], &["lint"], folder.path());
    let mut tool = script(folder.path(), "cat");
    tool.schema = Some(json!({
        "type": "object",
        "required": ["name"],
        "properties": { "name": { "type": "string", "pattern": "^(a+)+$" } },
    }));
    let fits = json!({ "name": "aaa" });
    assert_eq!(
        runner.run_script(&tool, &fits, "p").await.unwrap().value,
        fits
    );
    for wrong in [
        json!({}),
        json!({ "name": 7 }),
        json!({ "name": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!" }),
    ] {
        let error = runner.run_script(&tool, &wrong, "p").await.unwrap_err();
        assert!(matches!(error, ProcessError::InvalidInput(..)), "{error}");
    }
    let error = runner
        .run_script(&tool, &json!({ "name": 7 }), "p")
        .await
        .unwrap_err();
    assert!(error.to_string().contains("/name"), "{error}");
}

#[tokio::test]
async fn a_script_stays_in_its_folder() {
    let (folder, outside) = (folder(), folder());
    let runner = runner(&[], &["*"], folder.path());
    let mut tool = script(folder.path(), "cat");
    fs::write(outside.path().join("evil.sh"), "cat").unwrap();
    let name = outside.path().file_name().unwrap().to_str().unwrap();
    let absolute = outside.path().join("evil.sh").to_str().unwrap().to_owned();
    let mut paths = vec![
        format!("../{name}/evil.sh"),
        absolute,
        "missing.sh".to_owned(),
    ];
    #[cfg(unix)]
    {
        let link = folder.path().join("link.sh");
        std::os::unix::fs::symlink(outside.path().join("evil.sh"), link).unwrap();
        paths.push("link.sh".to_owned());
    }
    for path in paths {
        tool.script = path;
        let refused = runner.run_script(&tool, &json!({}), "p").await;
        assert!(
            matches!(refused, Err(ProcessError::OutsideFolder { .. })),
            "{}",
            tool.script
        );
    }
}

#[tokio::test]
async fn row_47_only_the_operator_can_allow_a_script() {
    let folder = folder();
    let mut tool = script(folder.path(), "echo ran > ran");
    tool.execution = ScriptExecution::default();
    assert!(
        tool.execution.confirm,
        "asking is what scripts do unless they say otherwise"
    );
    let nobody = runner(&[], &[], folder.path());
    let by_star = runner(&[], &["li*", "*"], folder.path());
    for _ in 0..3 {
        let refused = nobody.run_script(&tool, &json!({}), "p").await.unwrap_err();
        assert!(matches!(refused, ProcessError::NotAllowed { .. }));
        let refused = by_star
            .run_script(&tool, &json!({}), "p")
            .await
            .unwrap_err();
        assert!(matches!(refused, ProcessError::NeedsFullName(_)));
    }
    assert!(!folder.path().join("ran").exists());
    let by_name = runner(&[], &["lint"], folder.path());
    by_name.run_script(&tool, &json!({}), "p").await.unwrap();
    assert!(folder.path().join("ran").exists());
}

#[tokio::test]
async fn scripts_are_allowed_by_name_or_by_the_beginning_of_it() {
    let folder = folder();
    let allowed = |list: &[&str], tool: &ScriptTool| {
        runner(&[], list, folder.path()).check_script(tool).is_ok()
    };
    let mut tool = script(folder.path(), "cat");
    assert!(allowed(&["lint"], &tool) && allowed(&["li*"], &tool) && allowed(&["*"], &tool));
    assert!(!allowed(&["linter"], &tool) && !allowed(&["lin"], &tool) && !allowed(&[""], &tool));
    tool.owner = Some("review".to_owned());
    assert!(allowed(&["review:lint"], &tool) && allowed(&["review:*"], &tool));
    assert!(!allowed(&["lint"], &tool));
    tool.enabled = false;
    assert!(!allowed(&["review:lint"], &tool));
}

#[tokio::test]
async fn a_script_that_nothing_is_known_to_run_says_so() {
    let folder = folder();
    let mut tool = script(folder.path(), "cat");
    fs::write(folder.path().join("script.xyz"), "cat").unwrap();
    tool.script = "script.xyz".to_owned();
    let runner = runner(&[], &["lint"], folder.path());
    let error = runner.run_script(&tool, &json!({}), "p").await.unwrap_err();
    assert!(matches!(error, ProcessError::NoRuntime(_)));
    tool.runtime = ScriptRuntime::Shell;
    assert!(runner.run_script(&tool, &json!({}), "p").await.is_ok());
}

#[tokio::test]
async fn row_46_commands_and_scripts_of_gates_look_at_the_answer() {
    let folder = folder();
    let gates = [SelectedGate {
        gate: Gate {
            id: "g".to_owned(),
            criteria: serde_json::from_value(json!([
                { "type": "shell_verify", "shell_command": "grep needle" },
                { "type": "shell_verify", "shell_command": "grep needle | sh" },
                { "type": "llm_self_check" },
                { "type": "script_tool", "tool": "lint" },
                { "type": "script_tool", "tool": "missing" },
                { "type": "shell_verify", "shell_command": "sleep 300", "shell_timeout": 1 },
            ]))
            .unwrap(),
            ..Gate::default()
        },
        source: GateSource::Inline,
        also: Vec::new(),
    }];
    let body = "if grep -q needle; then echo '{\"valid\": true}'; \
                else echo '{\"valid\": false, \"reason\": \"no needle\"}'; fi";
    let tool = Arc::new(script(folder.path(), body));
    let runner = runner(&["grep *", "sleep *"], &["lint"], folder.path());
    let run = async |answer: &str| {
        let find = |id: &str| (id == "lint").then(|| Arc::clone(&tool));
        runner.run_gate_checks(&gates, answer, "p", find).await
    };
    let of =
        |ran: &BTreeMap<(String, usize), deliberate_prompts::gate::ExternalCheckResult>| -> Vec<(usize, CheckOutcome)> {
            ran.iter().map(|((_, at), it)| (*at, it.outcome)).collect()
        };
    let good = run("a needle").await;
    let rest = [(2, CannotTell), (5, CannotTell), (6, Fail)];
    assert_eq!(of(&good), [(1, Pass), rest[0], (4, Pass), rest[1], rest[2]]);
    let bad = run("hay").await;
    assert_eq!(of(&bad), [(1, Fail), rest[0], (4, Fail), rest[1], rest[2]]);
    let why = |at: usize| bad[&("g".to_owned(), at)].reason.clone();
    assert!(why(1).contains("exit code 1"));
    assert!(why(2).contains("contains shell syntax"));
    assert!(why(4).contains("no needle"));
    assert!(why(5).contains("no script `missing`"));
    assert!(why(6).contains("took longer"));
}
