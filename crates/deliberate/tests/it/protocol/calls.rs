//! Many calls at once, progress, and calls that are taken back.

use deliberate_testkit::{Client, Fault, Standin, standin::Outcome};
use serde_json::{Value, json};

use crate::support::{Place, code, end, eventually, output, serve, text, think};

async fn send_call(client: &mut Client, content: &str) -> u64 {
    let params = json!({ "name": "reasoning_linear", "arguments": { "content": content } });
    client.send_request("tools/call", params).await.unwrap()
}

async fn cancel(client: &mut Client, id: impl Into<Value>) {
    let params = json!({ "requestId": id.into(), "reason": "changed my mind" });
    client
        .notify("notifications/cancelled", params)
        .await
        .unwrap();
}

#[tokio::test]
async fn ping_and_the_list_are_answered_while_eight_calls_hang() {
    let (place, standin) = (Place::new(), Standin::start().await.unwrap());
    standin.always(Fault::Hang);
    let mut client = serve(&mut place.asking(&standin)).await;
    let mut calls = Vec::new();
    for number in 0..8 {
        calls.push(send_call(&mut client, &format!("slow {number}")).await);
    }
    eventually("eight asks at once", || standin.in_flight() == 8).await;
    assert_eq!(
        client.request("ping", json!({})).await.unwrap()["result"],
        json!({})
    );
    let list = client.request("tools/list", json!({})).await.unwrap();
    assert_eq!(list["result"]["tools"][0]["name"], "reasoning_linear");
    assert_eq!(client.take_kept(), [] as [Value; 0]);
    for id in calls {
        cancel(&mut client, id).await;
    }
    assert_eq!(end(client).await, [] as [Value; 0]);
}

#[tokio::test]
async fn calls_run_at_once_and_each_gets_its_own_answer() {
    let (place, standin) = (Place::new(), Standin::start().await.unwrap());
    standin.always(Fault::Delay(3_000));
    let mut client = serve(&mut place.asking(&standin)).await;
    let mut calls = Vec::new();
    for number in 0..8 {
        let content = format!("question {number}");
        calls.push((send_call(&mut client, &content).await, content));
    }
    for (id, content) in calls {
        let answer = client.response(id).await.unwrap();
        assert!(text(&answer, "content").contains(&content), "{answer}");
    }
    assert_eq!(standin.peak(), 8);
    assert_eq!(end(client).await, [] as [Value; 0]);
    assert_eq!(place.kept().await, (8, 8));
}

#[tokio::test]
async fn a_cancelled_call_gets_no_answer_and_its_request_upstream_is_dropped() {
    let (place, standin) = (Place::new(), Standin::start().await.unwrap());
    standin.push(Fault::Hang);
    let mut client = serve(&mut place.asking(&standin)).await;
    let hung = send_call(&mut client, "never mind").await;
    eventually("the ask is under way", || standin.in_flight() == 1).await;
    cancel(&mut client, hung).await;
    eventually("the ask is dropped", || {
        standin.asks()[0].outcome == Outcome::Dropped
    })
    .await;
    let next = think(&mut client, "and now?").await;
    assert!(text(&next, "content").contains("and now?"));
    assert_eq!(
        end(client).await,
        [] as [Value; 0],
        "a cancelled call is not answered"
    );
    assert_eq!(place.kept().await, (1, 1));

    let sql = "SELECT error_code FROM invocations WHERE success = 0";
    let codes: Vec<String> = sqlx::query_scalar(sql)
        .fetch_all(&mut place.open().await)
        .await
        .unwrap();
    assert_eq!(codes, ["Cancelled"]);
}

#[tokio::test]
async fn cancelling_what_does_not_run_changes_nothing() {
    let (place, standin) = (Place::new(), Standin::start().await.unwrap());
    let mut client = serve(&mut place.asking(&standin)).await;
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
    assert_eq!(end(client).await, [] as [Value; 0]);
}

#[tokio::test]
async fn progress_is_told_under_the_callers_token_and_only_if_there_is_one() {
    let (place, standin) = (Place::new(), Standin::start().await.unwrap());
    let mut client = serve(&mut place.asking(&standin)).await;
    for token in [json!("a token"), json!(7)] {
        let params = json!({
            "name": "reasoning_linear",
            "arguments": { "content": "how far?" },
            "_meta": { "progressToken": token },
        });
        output(&client.request("tools/call", params).await.unwrap());
        let told = client.take_kept();
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
    assert_eq!(end(client).await, [] as [Value; 0]);
}

#[tokio::test]
async fn an_id_that_is_in_use_is_refused_and_the_first_call_is_not_disturbed() {
    let (place, standin) = (Place::new(), Standin::start().await.unwrap());
    standin.push(Fault::Delay(3_000));
    let mut client = serve(&mut place.asking(&standin)).await;
    let call = |content: &str| {
        let params = json!({ "name": "reasoning_linear", "arguments": { "content": content } });
        json!({ "jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": params })
    };
    client.send(&call("the first")).await.unwrap();
    eventually("the ask is under way", || standin.in_flight() == 1).await;
    client.send(&call("the second")).await.unwrap();
    assert_eq!(code(&client.response("same").await.unwrap()), -32_600);
    let first = client.response("same").await.unwrap();
    assert!(text(&first, "content").contains("the first"));
    // Answered, the id is free again.
    client.send(&call("the third")).await.unwrap();
    assert!(text(&client.response("same").await.unwrap(), "content").contains("the third"));
    assert_eq!(standin.asks().len(), 2);
    assert_eq!(end(client).await, [] as [Value; 0]);
}
