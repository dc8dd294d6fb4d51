//! Tests of sampling: the client's own model is asked during a call.

use deliberate_testkit::{MockProvider, StdioClient};
use serde_json::{Value, json};

use crate::support::{TestHome, output, shut_down, text, think};

async fn serve_with_sampling(home: &TestHome, standin: Option<&MockProvider>) -> StdioClient {
    let mut command = match standin {
        Some(standin) => home.command_with_provider(standin),
        None => home.command(),
    };
    let mut client = StdioClient::spawn(&mut command).unwrap();
    client
        .initialize_with(json!({ "sampling": {} }))
        .await
        .unwrap();
    client
}

/// Calls a tool, and returns the call's id and the server's sampling request.
async fn call_until_sampled(client: &mut StdioClient, content: &str) -> (u64, Value) {
    let params = json!({ "name": "reasoning_linear", "arguments": { "content": content } });
    let id = client.send_request("tools/call", params).await.unwrap();
    let request = client.next_message().await.unwrap().unwrap();
    assert_eq!(request["method"], "sampling/createMessage", "{request}");
    assert!(
        request["params"]["messages"].to_string().contains(content),
        "{request}"
    );
    (id, request)
}

fn sampling_result(text: &str) -> Value {
    json!({
        "role": "assistant",
        "content": { "type": "text", "text": text },
        "model": "the client's",
        "stopReason": "endTurn",
    })
}

#[tokio::test]
async fn a_client_that_offers_its_model_is_asked_when_nobody_else_is_there() {
    let home = TestHome::new();
    let mut client = serve_with_sampling(&home, None).await;
    let (id, request) = call_until_sampled(&mut client, "think for me").await;
    let reply = sampling_result(r#"{"thought": "Done.", "confidence_percent": 40}"#);
    client.reply(&request["id"], reply).await.unwrap();
    let answer = client.response(id).await.unwrap();
    assert_eq!(text(&answer, "content"), "Done.");
    assert_eq!(output(&answer)["confidence"], 0.4);
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
    assert_eq!(home.stored_counts().await, (1, 1));
}

#[tokio::test]
async fn an_unusable_reply_is_asked_for_again() {
    let home = TestHome::new();
    let mut client = serve_with_sampling(&home, None).await;
    let (id, request) = call_until_sampled(&mut client, "try twice").await;
    client
        .reply(&request["id"], sampling_result(""))
        .await
        .unwrap();
    let again = client.next_message().await.unwrap().unwrap();
    assert_eq!(again["method"], "sampling/createMessage");
    client
        .reply(&again["id"], sampling_result("Second thoughts."))
        .await
        .unwrap();
    let fields = client.next_message().await.unwrap().unwrap();
    assert_eq!(fields["method"], "sampling/createMessage");
    let told = fields["params"]["messages"].to_string();
    assert!(told.contains("Second thoughts."), "{told}");
    let reply = sampling_result(r#"{"answer": "no", "confidence_percent": 40}"#);
    client.reply(&fields["id"], reply).await.unwrap();
    let answer = client.response(id).await.unwrap();
    assert_eq!(text(&answer, "content"), "Second thoughts.");
    assert_eq!(output(&answer)["answer"], "no");
    assert_eq!(output(&answer)["confidence"], 0.4);
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
    assert_eq!(home.stored_counts().await, (1, 1));
}

#[tokio::test]
async fn after_a_refusal_the_reason_is_told_and_the_client_may_reply_itself() {
    let home = TestHome::new();
    let mut client = serve_with_sampling(&home, None).await;
    let (id, request) = call_until_sampled(&mut client, "say no").await;
    let refused = json!({ "code": -1, "message": "User rejected sampling request" });
    let refusal = json!({ "jsonrpc": "2.0", "id": request["id"], "error": refused });
    client.send(&refusal).await.unwrap();
    let answer = client.response(id).await.unwrap();
    let told = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(told.contains("rejected"), "{answer}");
    assert_eq!(home.stored_counts().await, (0, 0));
    let needs = &output(&answer)["needs_reply"];
    let replies = json!({ "id": needs["id"], "replies": ["No, then."] });
    let done = client.call("reasoning_resume", replies).await.unwrap();
    assert_eq!(text(&done, "content"), "No, then.");
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
    assert_eq!(home.stored_counts().await, (1, 1));
}

#[tokio::test]
async fn a_provider_of_ones_own_comes_first() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve_with_sampling(&home, Some(&standin)).await;
    output(&think(&mut client, "who thinks?").await);
    assert_eq!(standin.model_requests().len(), 1);
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}
