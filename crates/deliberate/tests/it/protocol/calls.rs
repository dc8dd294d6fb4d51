//! Tests of concurrent calls, progress and cancellation.

use deliberate_testkit::{MockFault, MockProvider, StdioClient, mock_provider::RequestOutcome};
use serde_json::{Value, json};

use crate::support::{TestHome, error_code, output, serve, shut_down, text, think, wait_until};

async fn send_call(client: &mut StdioClient, content: &str) -> u64 {
    let params = json!({ "name": "reasoning_linear", "arguments": { "content": content } });
    client.send_request("tools/call", params).await.unwrap()
}

async fn cancel(client: &mut StdioClient, id: impl Into<Value>) {
    let params = json!({ "requestId": id.into(), "reason": "changed my mind" });
    client
        .notify("notifications/cancelled", params)
        .await
        .unwrap();
}

#[tokio::test]
async fn ping_and_the_list_are_answered_while_eight_calls_hang() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    standin.set_default_fault(MockFault::Hang);
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let mut calls = Vec::new();
    for number in 0..8 {
        calls.push(send_call(&mut client, &format!("slow {number}")).await);
    }
    wait_until(|| standin.in_flight() == 8).await;
    assert_eq!(
        client.request("ping", json!({})).await.unwrap()["result"],
        json!({})
    );
    let list = client.request("tools/list", json!({})).await.unwrap();
    assert_eq!(list["result"]["tools"][0]["name"], "reasoning_linear");
    assert_eq!(client.take_buffered(), [] as [Value; 0]);
    for id in calls {
        cancel(&mut client, id).await;
    }
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}

#[tokio::test]
async fn calls_run_at_once_and_each_gets_its_own_answer() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    standin.set_default_fault(MockFault::Delay(3_000));
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let mut calls = Vec::new();
    for number in 0..8 {
        let content = format!("question {number}");
        calls.push((send_call(&mut client, &content).await, content));
    }
    for (id, content) in calls {
        let answer = client.response(id).await.unwrap();
        assert!(text(&answer, "content").contains(&content), "{answer}");
    }
    assert_eq!(standin.peak_concurrency(), 8);
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
    assert_eq!(home.stored_counts().await, (8, 8));
}

#[tokio::test]
async fn a_cancelled_call_gets_no_answer_and_its_request_upstream_is_dropped() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    standin.push_fault(MockFault::Hang);
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let hung = send_call(&mut client, "never mind").await;
    wait_until(|| standin.in_flight() == 1).await;
    cancel(&mut client, hung).await;
    wait_until(|| standin.model_requests()[0].outcome == RequestOutcome::Dropped).await;
    let next = think(&mut client, "and now?").await;
    assert!(text(&next, "content").contains("and now?"));
    assert_eq!(
        shut_down(client).await,
        [] as [Value; 0],
        "a cancelled call is not answered"
    );
    assert_eq!(home.stored_counts().await, (1, 1));

    let sql = "SELECT error_code FROM invocations WHERE success = 0";
    let codes: Vec<String> = sqlx::query_scalar(sql)
        .fetch_all(&mut home.open_database().await)
        .await
        .unwrap();
    assert_eq!(codes, ["Cancelled"]);
}

#[tokio::test]
async fn cancelling_what_does_not_run_changes_nothing() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let first = think(&mut client, "first").await;
    for id in [
        json!(first["id"]),
        json!(999),
        json!("999"),
        json!(null),
        json!({ "a": 1 }),
    ] {
        cancel(&mut client, id).await;
    }
    client
        .notify("notifications/cancelled", json!({}))
        .await
        .unwrap();
    client
        .notify("notifications/cancelled", json!([1]))
        .await
        .unwrap();
    output(&think(&mut client, "second").await);
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}

#[tokio::test]
async fn progress_is_told_under_the_callers_token_and_only_if_there_is_one() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    for token in [json!("a token"), json!(7)] {
        let params = json!({
            "name": "reasoning_linear",
            "arguments": { "content": "how far?" },
            "_meta": { "progressToken": token },
        });
        output(&client.request("tools/call", params).await.unwrap());
        let told = client.take_buffered();
        assert!(!told.is_empty());
        let mut last = -1.0;
        for note in told {
            assert_eq!(note["method"], "notifications/progress");
            assert_eq!(note["params"]["progressToken"], token);
            let progress = note["params"]["progress"].as_f64().unwrap();
            assert!(progress > last, "progress must grow: {note}");
            last = progress;
        }
    }
    output(&think(&mut client, "silently").await);
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}

#[tokio::test]
async fn an_id_that_is_in_use_is_refused_and_the_first_call_is_not_disturbed() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    standin.push_fault(MockFault::Delay(3_000));
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let call = |content: &str| {
        let params = json!({ "name": "reasoning_linear", "arguments": { "content": content } });
        json!({ "jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": params })
    };
    client.send(&call("the first")).await.unwrap();
    wait_until(|| standin.in_flight() == 1).await;
    client.send(&call("the second")).await.unwrap();
    assert_eq!(error_code(&client.response("same").await.unwrap()), -32_600);
    let first = client.response("same").await.unwrap();
    assert!(text(&first, "content").contains("the first"));
    // After the answer the id is free again.
    client.send(&call("the third")).await.unwrap();
    assert!(text(&client.response("same").await.unwrap(), "content").contains("the third"));
    assert_eq!(standin.model_requests().len(), 2);
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}
