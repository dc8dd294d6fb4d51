//! Tests of clients and processes that demand too much: the server stays responsive and small, and
//! never reports something as stored that is not.

use std::time::Duration;

use deliberate_testkit::{MockFault, MockProvider};
use serde_json::{Value, json};
use sqlx::Connection as _;
use tokio::time::timeout;

use crate::support::{
    TestHome, output, serve, shut_down, text, think, think_in_session, tool_failure,
};

/// Much longer than an answer takes, much shorter than the waits under test.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(45);

/// Shorter than the 15 s for which the store waits for another process.
const BELOW_STORE_TIMEOUT: Duration = Duration::from_secs(14);

#[tokio::test]
async fn a_ping_is_answered_and_calls_can_be_cancelled_however_many_hang() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    standin.set_default_fault(MockFault::Hang);
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let mut ids = Vec::new();
    for number in 0..600 {
        let arguments = json!({ "name": "reasoning_linear", "arguments": { "content": "x" } });
        ids.push(client.send_request("tools/call", arguments).await.unwrap());
        assert_eq!(ids.len(), number + 1);
    }
    let pinged = timeout(ANSWER_TIMEOUT, client.request("ping", json!({}))).await;
    assert!(pinged.unwrap().unwrap()["result"].is_object());
    for id in ids {
        let cancelled = json!({ "requestId": id, "reason": "enough" });
        client
            .notify("notifications/cancelled", cancelled)
            .await
            .unwrap();
    }
    standin.reset();
    let answer = timeout(ANSWER_TIMEOUT, think(&mut client, "and now?"))
        .await
        .unwrap();
    output(&answer);
    shut_down(client).await;
}

#[tokio::test]
async fn countless_wrong_arguments_get_a_short_answer_and_a_short_record() {
    let home = TestHome::new();
    let mut client = serve(&mut home.command()).await;
    let mut arguments = json!({ "content": "x" });
    for number in 0..50_000 {
        arguments[format!("unknown_{number}_{}", "n".repeat(20))] = json!(1);
    }
    arguments["y".repeat(50_000)] = json!(1);
    let answer = client.call("reasoning_linear", arguments).await.unwrap();
    assert_eq!(tool_failure(&answer).code, "Validation");
    assert!(
        answer.to_string().len() < 8_192,
        "{}",
        answer.to_string().len()
    );
    shut_down(client).await;
    let (error, input): (String, String) = sqlx::query_as("SELECT error, input FROM invocations")
        .fetch_one(&mut home.open_database().await)
        .await
        .unwrap();
    assert!(error.chars().count() <= 1_000);
    assert!(input.len() < 10_000);
}

#[tokio::test]
async fn a_wrong_call_is_answered_although_another_process_holds_the_database() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    output(&think(&mut client, "opens the database").await);
    let mut other = home.open_database().await;
    let mut held = other.begin_with("BEGIN IMMEDIATE").await.unwrap();
    sqlx::query("UPDATE sessions SET title = 'held'")
        .execute(&mut *held)
        .await
        .unwrap();
    let wrong = client.call("reasoning_linear", json!({ "contnt": "x" }));
    let answer = timeout(BELOW_STORE_TIMEOUT, wrong).await.unwrap().unwrap();
    assert_eq!(tool_failure(&answer).code, "Validation");
    held.rollback().await.unwrap();
    output(&think(&mut client, "goes on").await);
    shut_down(client).await;
}

#[tokio::test]
async fn nothing_is_said_to_be_kept_in_a_file_that_is_gone() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    output(&think(&mut client, "first").await);
    std::fs::remove_file(home.database()).unwrap();
    let answer = think(&mut client, "second").await;
    assert_eq!(tool_failure(&answer).code, "Connection");
    client.close_stdin();
    client.wait_exit().await.unwrap();
}

#[tokio::test]
async fn a_reply_follows_the_thought_its_model_was_shown() {
    let home = TestHome::new();
    let mut client = serve(&mut home.command()).await;
    let reply = |thought: &str| json!({ "thought": thought, "confidence_percent": 1 });
    let first = think(&mut client, "one").await;
    let first = resume(&mut client, &first, reply("first")).await;
    assert_eq!(output(&first)["confidence"], 0.01, "one in a hundred");
    let session = text(&first, "session_id").to_owned();
    let shown = text(&first, "thought_id").to_owned();
    let left = think_in_session(&mut client, &session, "left").await;
    let right = think_in_session(&mut client, &session, "right").await;
    for suspended in [right, left] {
        let answer = resume(&mut client, &suspended, reply("both saw the first")).await;
        assert_eq!(text(&answer, "previous_thought"), shown);
    }
    shut_down(client).await;
}

async fn resume(
    client: &mut deliberate_testkit::StdioClient,
    needs: &Value,
    reply: Value,
) -> Value {
    let id = &output(needs)["needs_reply"]["id"];
    let arguments = json!({ "id": id, "replies": [reply] });
    client.call("reasoning_resume", arguments).await.unwrap()
}

#[tokio::test]
async fn a_response_is_never_answered() {
    let home = TestHome::new();
    let mut client = serve(&mut home.command()).await;
    for line in [
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}"#,
        r#"{"jsonrpc":"2.0","id":{},"result":{}}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
    ] {
        client.send_line(line).await.unwrap();
    }
    assert!(client.request("ping", json!({})).await.unwrap()["result"].is_object());
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}
