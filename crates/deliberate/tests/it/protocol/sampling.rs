//! The client's own model, asked while a call runs.

use deliberate_testkit::{Client, Standin};
use serde_json::{Value, json};

use crate::support::{Place, end, failure, output, text, think};

async fn offering(place: &Place, standin: Option<&Standin>) -> Client {
    let mut command = match standin {
        Some(standin) => place.asking(standin),
        None => place.command(),
    };
    let mut client = Client::spawn(&mut command).unwrap();
    client
        .initialize_with(json!({ "sampling": {} }))
        .await
        .unwrap();
    client
}

/// Calls, and returns the call's id and the server's request to sample.
async fn asked(client: &mut Client, content: &str) -> (u64, Value) {
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

fn said(text: &str) -> Value {
    json!({
        "role": "assistant",
        "content": { "type": "text", "text": text },
        "model": "the client's",
        "stopReason": "endTurn",
    })
}

#[tokio::test]
async fn a_client_that_offers_its_model_is_asked_when_nobody_else_is_there() {
    let place = Place::new();
    let mut client = offering(&place, None).await;
    let (id, request) = asked(&mut client, "think for me").await;
    let reply = said(r#"{"thought": "Done.", "confidence_percent": 40}"#);
    client.reply(&request["id"], reply).await.unwrap();
    let answer = client.response(id).await.unwrap();
    assert_eq!(text(&answer, "content"), "Done.");
    assert_eq!(output(&answer)["confidence"], 0.4);
    assert_eq!(end(client).await, [] as [Value; 0]);
    assert_eq!(place.kept().await, (1, 1));
}

#[tokio::test]
async fn an_unusable_reply_is_asked_for_again_and_a_refusal_is_an_error() {
    let place = Place::new();
    let mut client = offering(&place, None).await;
    let (id, request) = asked(&mut client, "try twice").await;
    client.reply(&request["id"], said("")).await.unwrap();
    let again = client.next_message().await.unwrap().unwrap();
    assert_eq!(again["method"], "sampling/createMessage");
    client
        .reply(&again["id"], said("Second thoughts."))
        .await
        .unwrap();
    let answer = client.response(id).await.unwrap();
    assert_eq!(text(&answer, "content"), "Second thoughts.");

    let (id, request) = asked(&mut client, "say no").await;
    let refused = json!({ "code": -1, "message": "User rejected sampling request" });
    let refusal = json!({ "jsonrpc": "2.0", "id": request["id"], "error": refused });
    client.send(&refusal).await.unwrap();
    let answer = client.response(id).await.unwrap();
    assert!(failure(&answer).text.contains("rejected"), "{answer}");
    assert_eq!(end(client).await, [] as [Value; 0]);
    assert_eq!(place.kept().await, (1, 1));
}

#[tokio::test]
async fn a_provider_of_ones_own_comes_first() {
    let (place, standin) = (Place::new(), Standin::start().await.unwrap());
    let mut client = offering(&place, Some(&standin)).await;
    output(&think(&mut client, "who thinks?").await);
    assert_eq!(standin.asks().len(), 1);
    assert_eq!(end(client).await, [] as [Value; 0]);
}
