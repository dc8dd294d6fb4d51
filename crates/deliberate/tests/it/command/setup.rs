//! Tests of `deliberate setup`.

use serde_json::{Value, json};

use crate::support::{PROGRAM, TestHome, run_with_input};

fn expected_block() -> Value {
    json!({ "mcpServers": { "deliberate": { "command": PROGRAM, "args": ["serve"] } } })
}

#[tokio::test]
async fn print_only_prints_the_block_to_paste() {
    let place = TestHome::new();
    let ran = place.run(&["setup", "cursor", "--print"]).await;
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        serde_json::from_str::<Value>(&ran.stdout).unwrap(),
        expected_block()
    );
    assert_eq!(std::fs::read_dir(place.path("home")).unwrap().count(), 0);
}

#[tokio::test]
async fn yes_writes_and_keeps_what_was_there_and_a_backup() {
    let place = TestHome::new();
    let file = place.path("home/.cursor/mcp.json");
    std::fs::create_dir(place.path("home/.cursor")).unwrap();
    let before =
        "{\n  // mine\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }\n  }\n}\n";
    std::fs::write(&file, before.replace("  // mine\n", "")).unwrap();
    let ran = place.run(&["setup", "cursor", "--yes"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(written["mcpServers"]["other"], json!({ "command": "x" }));
    assert_eq!(
        written["mcpServers"]["deliberate"],
        expected_block()["mcpServers"]["deliberate"]
    );
    let backup = ran
        .stdout
        .split("The backup of the old file is ")
        .nth(1)
        .unwrap();
    let backup = backup.lines().next().unwrap().trim_end_matches('.');
    assert_eq!(
        std::fs::read_to_string(backup).unwrap(),
        before.replace("  // mine\n", "")
    );

    let again = place.run(&["setup", "cursor", "--yes"]).await;
    assert_eq!(again.code, Some(0));
    assert!(
        again.stdout.contains("nothing was changed"),
        "{}",
        again.stdout
    );
}

#[tokio::test]
async fn without_a_yes_nothing_is_written() {
    let place = TestHome::new();
    let file = place.path("home/.cursor/mcp.json");
    for (answer, is_written) in [
        ("", false),
        ("n\n", false),
        ("what?\n", false),
        ("y\n", true),
    ] {
        let ran = run_with_input(place.command().args(["setup", "cursor"]), answer).await;
        assert_eq!(
            ran.code,
            Some(i32::from(!is_written)),
            "{answer:?}: {ran:?}"
        );
        assert!(
            ran.stdout.contains("+++"),
            "the change is shown: {}",
            ran.stdout
        );
        assert_eq!(file.exists(), is_written, "{answer:?}");
    }
}

#[tokio::test]
async fn a_key_for_the_server_is_written_but_not_shown() {
    let place = TestHome::new();
    let arguments = [
        "setup",
        "cursor",
        "--yes",
        "--env",
        "LANGBASE_API_KEY=sk-very-secret",
    ];
    let ran = place.run(&arguments).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stdout.contains("sk-very-secret"), "{}", ran.stdout);
    let written = std::fs::read_to_string(place.path("home/.cursor/mcp.json")).unwrap();
    assert!(written.contains("sk-very-secret"));
}
