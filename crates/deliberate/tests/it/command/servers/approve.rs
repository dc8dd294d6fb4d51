//! Tests of a server whose tools become suspicious: quarantine and approval.

use deliberate_testkit::mock_mcp_server_program;
use serde_json::Value;

use super::{assert_success, write_settings};
use crate::support::TestHome;

/// Writes settings with one server that lists a tool with or without hidden text.
fn write_upstream_settings(place: &TestHome, hidden: bool) {
    let args = if hidden {
        "'--fault', 'hidden-text'"
    } else {
        ""
    };
    let program = mock_mcp_server_program().display();
    write_settings(
        place,
        &format!("[servers.up]\ncommand = '{program}'\nargs = [{args}]\n"),
    );
}

async fn tool_status(place: &TestHome, tool: &str) -> Value {
    let tools = place.run_json(&["servers", "tools", "up", "--json"]).await;
    let mut tools = tools.as_array().unwrap().iter();
    let found = tools.find(|it| it["name"] == tool).unwrap();
    found["standing"]["is"].clone()
}

#[tokio::test]
async fn what_has_turned_suspicious_is_held_back_until_it_is_approved() {
    let place = TestHome::new();
    write_upstream_settings(&place, false);
    let echo = &["servers", "call", "up__echo", "text=hello"];
    let ran = place.run(echo).await;
    assert_success(&ran);
    assert_eq!(ran.stdout, "hello\n");
    assert_eq!(tool_status(&place, "echo").await, "fine");

    write_upstream_settings(&place, true);
    let now = tool_status(&place, "echo").await;
    assert!(now == "flagged" || now == "changed", "{now}");
    assert_eq!(tool_status(&place, "add").await, "fine");
    let ran = place.run(echo).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(
        ran.stderr.contains("deliberate servers approve up"),
        "{}",
        ran.stderr
    );
    let tested = place.run(&["servers", "test", "up"]).await;
    assert_eq!(tested.code, Some(0));
    assert!(tested.stdout.contains("1 quarantined"), "{}", tested.stdout);

    let ran = place.run(&["servers", "approve", "up"]).await;
    assert_eq!(ran.code, Some(2), "nobody is there to say yes");
    assert!(
        ran.stdout.contains("echo") && ran.stdout.contains("IMPORTANT"),
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.contains("--yes"), "{}", ran.stderr);
    assert!(
        !ran.stdout.contains('\u{200b}'),
        "what is hidden is not passed on"
    );
    assert_eq!(place.run(echo).await.code, Some(2));

    let ran = place
        .run(&["servers", "approve", "up", "add", "--yes"])
        .await;
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.stdout, "\"add\" of \"up\" is not quarantined.\n");
    let ran = place
        .run(&["servers", "approve", "up", "echo", "--yes"])
        .await;
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.ends_with("Approved: echo.\n"), "{}", ran.stdout);
    assert_success(&place.run(echo).await);
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_not_approved() {
    let place = TestHome::new();
    write_upstream_settings(&place, false);
    let ran = place
        .run(&["servers", "approve", "up", "ecko", "--yes"])
        .await;
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("deliberate servers tools up"),
        "{}",
        ran.stderr
    );
}
