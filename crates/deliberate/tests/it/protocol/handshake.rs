//! Tests of the handshake, in both eras of the protocol.

use deliberate_testkit::{MockFault, MockProvider, StdioClient};
use serde_json::{Value, json};

use crate::support::{TestHome, error_code, output, serve, shut_down, text, think, wait_until};

fn initialize_request(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "0" },
    })
}

/// Returns the `_meta` that a request of the 2026-07-28 revision has instead of a handshake.
fn request_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn stateless_call(content: &str) -> Value {
    json!({ "name": "reasoning_linear", "arguments": { "content": content }, "_meta": request_meta() })
}

#[tokio::test]
async fn every_handshake_revision_is_echoed_and_an_unknown_one_gets_the_newest() {
    let cases = [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("2031-01-01", "2025-11-25"),
        ("not a date", "2025-11-25"),
        ("", "2025-11-25"),
    ];
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    for (asked, given) in cases {
        let mut client = StdioClient::spawn(&mut home.command_with_provider(&standin)).unwrap();
        let hello = client
            .request("initialize", initialize_request(asked))
            .await
            .unwrap();
        assert_eq!(
            hello["result"]["protocolVersion"], given,
            "asked for {asked:?}"
        );
        assert_eq!(hello["result"]["serverInfo"]["name"], "deliberate");
        assert!(hello["result"]["capabilities"]["tools"].is_object());
        client
            .notify("notifications/initialized", json!({}))
            .await
            .unwrap();
        output(&think(&mut client, "does it work?").await);
        shut_down(client).await;
    }
}

#[tokio::test]
async fn initialize_may_be_repeated() {
    let home = TestHome::new();
    let mut client = serve(&mut home.command()).await;
    let again = client
        .request("initialize", initialize_request("2025-06-18"))
        .await
        .unwrap();
    assert!(again["result"]["protocolVersion"].is_string(), "{again}");
    assert!(client.request("tools/list", json!({})).await.unwrap()["result"].is_object());
    shut_down(client).await;
}

#[tokio::test]
async fn a_call_before_the_handshake_is_an_error_with_its_id_and_does_nothing() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = StdioClient::spawn(&mut home.command_with_provider(&standin)).unwrap();
    let early = think(&mut client, "too early").await;
    assert!(error_code(&early) < 0);
    assert!(error_code(&client.request("tools/list", json!({})).await.unwrap()) < 0);
    assert_eq!(
        client.request("ping", json!({})).await.unwrap()["result"],
        json!({})
    );
    client.initialize().await.unwrap();
    output(&think(&mut client, "in time").await);
    assert_eq!(standin.model_requests().len(), 1);
    shut_down(client).await;
}

#[tokio::test]
async fn the_newest_revision_needs_no_handshake() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = StdioClient::spawn(&mut home.command_with_provider(&standin)).unwrap();
    let found = client
        .request("server/discover", json!({ "_meta": request_meta() }))
        .await
        .unwrap();
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{found}");

    let list = client
        .request("tools/list", json!({ "_meta": request_meta() }))
        .await
        .unwrap();
    assert_eq!(list["result"]["tools"][0]["name"], "reasoning_linear");
    assert_eq!(list["result"]["cacheScope"], "public");
    let answer = client
        .request("tools/call", stateless_call("modern?"))
        .await
        .unwrap();
    assert!(text(&answer, "content").contains("modern?"));
    assert_eq!(answer["result"]["resultType"], "complete");
    shut_down(client).await;
}

#[tokio::test]
async fn a_modern_call_may_be_the_very_first_message() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = StdioClient::spawn(&mut home.command_with_provider(&standin)).unwrap();
    output(
        &client
            .request("tools/call", stateless_call("at once"))
            .await
            .unwrap(),
    );
    shut_down(client).await;
}

#[tokio::test]
async fn a_modern_call_can_be_cancelled() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    standin.push_fault(MockFault::Hang);
    let mut client = StdioClient::spawn(&mut home.command_with_provider(&standin)).unwrap();
    let id = client
        .send_request("tools/call", stateless_call("never mind"))
        .await
        .unwrap();
    wait_until(|| standin.in_flight() == 1).await;
    client
        .notify("notifications/cancelled", json!({ "requestId": id }))
        .await
        .unwrap();
    wait_until(|| standin.in_flight() == 0).await;
    output(
        &client
            .request("tools/call", stateless_call("go on"))
            .await
            .unwrap(),
    );
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}

#[tokio::test]
async fn discovering_first_and_then_shaking_hands_works() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = StdioClient::spawn(&mut home.command_with_provider(&standin)).unwrap();
    let found = client
        .request("server/discover", json!({ "_meta": request_meta() }))
        .await
        .unwrap();
    assert!(found["result"].is_object(), "{found}");
    let hello = client.initialize().await.unwrap();
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
    output(&think(&mut client, "both").await);
    shut_down(client).await;
}

#[tokio::test]
async fn a_notification_that_comes_too_early_is_ignored() {
    let home = TestHome::new();
    let mut client = StdioClient::spawn(&mut home.command()).unwrap();
    client
        .notify("notifications/initialized", json!({}))
        .await
        .unwrap();
    client
        .notify("notifications/cancelled", json!({ "requestId": 1 }))
        .await
        .unwrap();
    client
        .send(&json!({ "jsonrpc": "2.0", "id": 5, "result": {} }))
        .await
        .unwrap();
    client.initialize().await.unwrap();
    assert!(client.request("tools/list", json!({})).await.unwrap()["result"].is_object());
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}

/// The SDK answers some requests before it knows the client; messages after them are still before
/// the handshake.
#[tokio::test]
async fn so_is_one_between_an_early_request_and_the_handshake() {
    let mut unknown = request_meta();
    unknown["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
    let early = [
        ("ping", json!({})),
        ("server/discover", json!({ "_meta": request_meta() })),
        ("tools/list", json!({})),
        (
            "tools/call",
            json!({ "name": "reasoning_linear", "arguments": { "content": "x" } }),
        ),
        ("initialize", json!({ "protocolVersion": 7 })),
        ("no/such/method", json!({})),
        (
            "tools/list",
            json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } }),
        ),
        ("tools/list", json!({ "_meta": unknown })),
    ];
    let home = TestHome::new();
    for (method, params) in early {
        let mut client = StdioClient::spawn(&mut home.command()).unwrap();
        client.request(method, params).await.unwrap();
        client
            .notify("notifications/cancelled", json!({ "requestId": 1 }))
            .await
            .unwrap();
        client
            .notify("notifications/initialized", json!({}))
            .await
            .unwrap();
        let hello = client.initialize().await;
        assert!(
            hello.is_ok(),
            "after {method}: {hello:?}\n{}",
            client.stderr()
        );
        assert_eq!(shut_down(client).await, [] as [Value; 0], "after {method}");
    }
}

#[tokio::test]
async fn a_client_that_leaves_without_a_word_is_no_failure() {
    let home = TestHome::new();
    let client = StdioClient::spawn(&mut home.command()).unwrap();
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}
