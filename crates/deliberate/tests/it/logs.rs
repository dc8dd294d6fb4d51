//! What is logged: what happened, and neither what was said nor any key.

use std::collections::BTreeMap;

use deliberate_testkit::{Client, Fault, Standin, standin::Settings};
use serde_json::json;

use crate::support::{Place, Wire, output, serve, think};

const KEY: &str = "sk-canary-key-2c1f";
const SAID: &str = "canary-said-7be0";
const ANSWERED: &str = "canary-answered-93d1";

/// Every way in which a text of the client or of the model comes by.
async fn talk(client: &mut Client, standin: &Standin) {
    output(&think(client, SAID).await);
    let answer = |body: String| Fault::Status {
        code: 200,
        headers: BTreeMap::new(),
        body,
    };
    standin.always(answer(format!("{{\"{ANSWERED}\": \"{ANSWERED}\"}}")));
    think(client, SAID).await;
    for code in [400, 500] {
        standin.always(Fault::Status {
            code,
            headers: BTreeMap::from([("x-echo".to_owned(), ANSWERED.to_owned())]),
            body: format!("{{\"error\":{{\"message\":\"{KEY} {ANSWERED}\"}}}}"),
        });
        think(client, SAID).await;
    }
    let wrong = json!({ "content": SAID, "confidence": SAID, SAID: SAID });
    client.call("reasoning_linear", wrong).await.unwrap();
    client.call(SAID, json!({ "x": SAID })).await.unwrap();
    for odd in [
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": { "requestId": SAID, "reason": SAID } }),
        json!({ "jsonrpc": "2.0", "method": SAID, "params": SAID }),
        json!({ "jsonrpc": "2.0", "id": 9, "result": SAID }),
    ] {
        client.send(&odd).await.unwrap();
    }
    client
        .request("resources/read", json!({ "uri": SAID }))
        .await
        .unwrap();
}

#[tokio::test]
async fn neither_contents_nor_keys_are_logged_at_any_level() {
    for wire in Wire::ALL {
        for (level, format) in [("debug", "pretty"), ("trace", "pretty"), ("trace", "json")] {
            let place = Place::new();
            let settings = Settings {
                key: Some(KEY.to_owned()),
                ..Settings::default()
            };
            let standin = Standin::start_with(settings, 0).await.unwrap();
            let mut command = place.command();
            wire.set(&mut command, &standin);
            command
                .env("LOG_LEVEL", level)
                .env("LOG_FORMAT", format)
                .env("MAX_RETRIES", "1");
            let mut client = serve(&mut command).await;
            talk(&mut client, &standin).await;
            client.close_stdin();
            client.wait_exit().await.unwrap();
            let log = client.stderr();
            assert!(log.contains("a call failed"), "it logs: {log}");
            for canary in [KEY, SAID, ANSWERED] {
                assert!(!log.contains(canary), "{wire:?} {level} {canary}: {log}");
            }
        }
    }
}
