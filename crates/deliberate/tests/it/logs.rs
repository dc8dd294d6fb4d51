//! Tests of the log: it contains events, but neither content nor keys.

use std::collections::BTreeMap;

use deliberate_testkit::{MockFault, MockProvider, StdioClient, mock_provider::MockSettings};
use serde_json::json;

use crate::support::{ProviderFormat, TestHome, output, serve, think};

const KEY: &str = "sk-canary-key-2c1f";
const CLIENT_TEXT: &str = "canary-said-7be0";
const MODEL_TEXT: &str = "canary-answered-93d1";

/// Makes calls of every kind that carry text of the client or the model.
async fn exercise_calls(client: &mut StdioClient, standin: &MockProvider) {
    output(&think(client, CLIENT_TEXT).await);
    let answer = |body: String| MockFault::Status {
        code: 200,
        headers: BTreeMap::new(),
        body,
    };
    standin.set_default_fault(answer(format!("{{\"{MODEL_TEXT}\": \"{MODEL_TEXT}\"}}")));
    think(client, CLIENT_TEXT).await;
    for code in [400, 500] {
        standin.set_default_fault(MockFault::Status {
            code,
            headers: BTreeMap::from([("x-echo".to_owned(), MODEL_TEXT.to_owned())]),
            body: format!("{{\"error\":{{\"message\":\"{KEY} {MODEL_TEXT}\"}}}}"),
        });
        think(client, CLIENT_TEXT).await;
    }
    let wrong =
        json!({ "content": CLIENT_TEXT, "confidence": CLIENT_TEXT, CLIENT_TEXT: CLIENT_TEXT });
    client.call("reasoning_linear", wrong).await.unwrap();
    client
        .call(CLIENT_TEXT, json!({ "x": CLIENT_TEXT }))
        .await
        .unwrap();
    for odd in [
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": { "requestId": CLIENT_TEXT, "reason": CLIENT_TEXT } }),
        json!({ "jsonrpc": "2.0", "method": CLIENT_TEXT, "params": CLIENT_TEXT }),
        json!({ "jsonrpc": "2.0", "id": 9, "result": CLIENT_TEXT }),
    ] {
        client.send(&odd).await.unwrap();
    }
    client
        .request("resources/read", json!({ "uri": CLIENT_TEXT }))
        .await
        .unwrap();
}

#[tokio::test]
async fn neither_contents_nor_keys_are_logged_at_any_level() {
    for wire in ProviderFormat::ALL {
        for (level, format) in [("debug", "pretty"), ("trace", "pretty"), ("trace", "json")] {
            let home = TestHome::new();
            let settings = MockSettings {
                key: Some(KEY.to_owned()),
                ..MockSettings::default()
            };
            let standin = MockProvider::start_with(settings, 0).await.unwrap();
            let mut command = home.command();
            wire.configure(&mut command, &standin);
            command
                .env("LOG_LEVEL", level)
                .env("LOG_FORMAT", format)
                .env("MAX_RETRIES", "1");
            let mut client = serve(&mut command).await;
            exercise_calls(&mut client, &standin).await;
            client.close_stdin();
            client.wait_exit().await.unwrap();
            let log = client.stderr();
            assert!(log.contains("a call failed"), "it logs: {log}");
            for canary in [KEY, CLIENT_TEXT, MODEL_TEXT] {
                assert!(!log.contains(canary), "{wire:?} {level} {canary}: {log}");
            }
        }
    }
}
