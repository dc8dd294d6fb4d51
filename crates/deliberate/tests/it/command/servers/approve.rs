//! Tests of a server whose tools become suspicious: quarantine and approval.

use deliberate_testkit::mock_mcp_server_program;
use serde_json::Value;

use super::{assert_success, write_settings};
use crate::support::TestHome;

/// Writes settings with one server that lists a tool with or without hidden text.
fn write_upstream_settings(home: &TestHome, hidden: bool) {
    let args = if hidden {
        "'--fault', 'hidden-text'"
    } else {
        ""
    };
    let program = mock_mcp_server_program().display();
    write_settings(
        home,
        &format!("[servers.up]\ncommand = '{program}'\nargs = [{args}]\n"),
    );
}

async fn tool_status(home: &TestHome, tool: &str) -> Value {
    let tools = home.run_json(&["servers", "tools", "up", "--json"]).await;
    let mut tools = tools.as_array().unwrap().iter();
    let found = tools.find(|it| it["name"] == tool).unwrap();
    found["standing"]["is"].clone()
}

#[tokio::test]
async fn what_has_turned_suspicious_is_held_back_until_it_is_approved() {
    let home = TestHome::new();
    write_upstream_settings(&home, false);
    let echo = &["servers", "call", "up__echo", "text=hello"];
    let output = home.run(echo).await;
    assert_success(&output);
    assert_eq!(output.stdout, "hello\n");
    assert_eq!(tool_status(&home, "echo").await, "fine");

    write_upstream_settings(&home, true);
    let now = tool_status(&home, "echo").await;
    assert!(now == "flagged" || now == "changed", "{now}");
    assert_eq!(tool_status(&home, "add").await, "fine");
    let output = home.run(echo).await;
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (Some(2), ""),
        "{output:?}"
    );
    assert!(
        output.stderr.contains("deliberate servers approve up"),
        "{}",
        output.stderr
    );
    let tested = home.run(&["servers", "test", "up"]).await;
    assert_eq!(tested.code, Some(0));
    assert!(tested.stdout.contains("1 quarantined"), "{}", tested.stdout);

    let output = home.run(&["servers", "approve", "up"]).await;
    assert_eq!(output.code, Some(2), "nobody is there to say yes");
    assert!(
        output.stdout.contains("echo") && output.stdout.contains("IMPORTANT"),
        "{}",
        output.stdout
    );
    assert!(output.stderr.contains("--yes"), "{}", output.stderr);
    assert!(
        !output.stdout.contains('\u{200b}'),
        "what is hidden is not passed on"
    );
    assert_eq!(home.run(echo).await.code, Some(2));

    let output = home
        .run(&["servers", "approve", "up", "add", "--yes"])
        .await;
    assert_eq!(output.code, Some(0));
    assert_eq!(output.stdout, "\"add\" of \"up\" is not quarantined.\n");
    let output = home
        .run(&["servers", "approve", "up", "echo", "--yes"])
        .await;
    assert_eq!(output.code, Some(0));
    assert!(
        output.stdout.ends_with("Approved: echo.\n"),
        "{}",
        output.stdout
    );
    assert_success(&home.run(echo).await);
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_not_approved() {
    let home = TestHome::new();
    write_upstream_settings(&home, false);
    let output = home
        .run(&["servers", "approve", "up", "ecko", "--yes"])
        .await;
    assert_eq!(output.code, Some(2));
    assert!(
        output.stderr.contains("deliberate servers tools up"),
        "{}",
        output.stderr
    );
}
