//! Tests of `deliberate setup`.

use serde_json::{Value, json};

use crate::support::{PROGRAM, TestHome, run_with_input};

fn expected_block() -> Value {
    json!({ "mcpServers": { "deliberate": { "command": PROGRAM, "args": ["serve"] } } })
}

#[tokio::test]
async fn print_only_prints_the_block_to_paste() {
    let test_home = TestHome::new();
    let output = test_home.run(&["setup", "cursor", "--print"]).await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        serde_json::from_str::<Value>(&output.stdout).unwrap(),
        expected_block()
    );
    assert_eq!(
        std::fs::read_dir(test_home.path("home")).unwrap().count(),
        0
    );
}

#[tokio::test]
async fn yes_writes_and_keeps_what_was_there_and_a_backup() {
    let test_home = TestHome::new();
    let file = test_home.path("home/.cursor/mcp.json");
    std::fs::create_dir(test_home.path("home/.cursor")).unwrap();
    let before =
        "{\n  // mine\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }\n  }\n}\n";
    std::fs::write(&file, before.replace("  // mine\n", "")).unwrap();
    let output = test_home.run(&["setup", "cursor", "--yes"]).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(written["mcpServers"]["other"], json!({ "command": "x" }));
    assert_eq!(
        written["mcpServers"]["deliberate"],
        expected_block()["mcpServers"]["deliberate"]
    );
    let backup = output
        .stdout
        .split("The backup of the old file is ")
        .nth(1)
        .unwrap();
    let backup = backup.lines().next().unwrap().trim_end_matches('.');
    assert_eq!(
        std::fs::read_to_string(backup).unwrap(),
        before.replace("  // mine\n", "")
    );

    let again = test_home.run(&["setup", "cursor", "--yes"]).await;
    assert_eq!(again.code, Some(0));
    assert!(
        again.stdout.contains("nothing was changed"),
        "{}",
        again.stdout
    );
}

#[tokio::test]
async fn without_a_yes_nothing_is_written() {
    let test_home = TestHome::new();
    let file = test_home.path("home/.cursor/mcp.json");
    for (answer, is_written) in [
        ("", false),
        ("n\n", false),
        ("what?\n", false),
        ("y\n", true),
    ] {
        let output = run_with_input(test_home.command().args(["setup", "cursor"]), answer).await;
        assert_eq!(
            output.code,
            Some(i32::from(!is_written)),
            "{answer:?}: {output:?}"
        );
        assert!(
            output.stdout.contains("+++"),
            "the change is shown: {}",
            output.stdout
        );
        assert_eq!(file.exists(), is_written, "{answer:?}");
    }
}

#[tokio::test]
async fn a_key_for_the_server_is_written_but_not_shown() {
    let test_home = TestHome::new();
    let arguments = [
        "setup",
        "cursor",
        "--yes",
        "--env",
        "LANGBASE_API_KEY=sk-very-secret",
    ];
    let output = test_home.run(&arguments).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(
        !output.stdout.contains("sk-very-secret"),
        "{}",
        output.stdout
    );
    let written = std::fs::read_to_string(test_home.path("home/.cursor/mcp.json")).unwrap();
    assert!(written.contains("sk-very-secret"));
}
