//! Tests of `deliberate usage`.

use deliberate_testkit::MockProvider;
use serde_json::json;

use crate::support::{TestHome, run_command};

#[tokio::test]
async fn usage_adds_up_calls_by_day_session_tool_and_model() {
    let home = TestHome::new();
    let output = home.run(&["usage"]).await;
    assert_eq!(output.stdout, "No calls were recorded.\n");
    let standin = MockProvider::start().await.unwrap();
    for question in ["Why?", "And why not?"] {
        let mut command = home.command_with_provider(&standin);
        let output = run_command(command.args(["think", "--json", question])).await;
        assert_eq!(output.code, Some(0), "{}", output.stderr);
    }
    for (by, rows) in [("day", 1), ("session", 2), ("tool", 1), ("model", 1)] {
        let usage = home.run_json(&["usage", "--by", by, "--json"]).await;
        assert_eq!(usage["rows"].as_array().unwrap().len(), rows, "{usage}");
        assert_eq!(usage["total"]["calls"], 2, "{usage}");
        assert_eq!(usage["total"]["model_requests"], 2, "{usage}");
        assert!(usage["rows"][0][by].is_string(), "{usage}");
    }
    let table = home.run(&["usage", "--by", "session"]).await.stdout;
    assert!(table.contains("And why not?"), "{table}");
    assert_eq!(table.lines().count(), 4, "headings, two sessions, total");

    let sessions = home.run_json(&["usage", "--by", "session", "--json"]).await;
    let id = sessions["rows"][0]["session"].as_str().unwrap();
    let one = home
        .run_json(&["usage", "--session", &id[..13], "--json"])
        .await;
    assert_eq!(one["total"]["calls"], 1);
    let future = home
        .run_json(&["usage", "--since", "2999-01-01", "--json"])
        .await;
    assert_eq!(
        (&future["rows"], &future["total"]["calls"]),
        (&json!([]), &json!(0))
    );
    let shown = home.run(&["sessions", "show", id]).await.stdout;
    let last = shown.lines().last().unwrap();
    assert!(
        last.starts_with("Usage: 1 calls, 1 model requests ("),
        "{last}"
    );
    let shown = home.run_json(&["sessions", "show", id, "--json"]).await;
    assert_eq!(shown["usage"]["total"]["model_requests"], 1);
}

#[tokio::test]
async fn what_cannot_be_read_is_told() {
    let home = TestHome::new();
    let output = home.run(&["usage", "--since", "yesterday"]).await;
    assert_eq!(output.code, Some(2));
    assert!(
        output.stderr.contains("write 7d, 12h or a date"),
        "{}",
        output.stderr
    );
    let output = home.run(&["usage", "--session", "nope"]).await;
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("`deliberate sessions` lists them"));
}
