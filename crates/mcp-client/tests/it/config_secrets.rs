//! Tests that a secret in a configuration reaches the server it is for, and nobody else.

use deliberate_mcp_client::{
    McpClient,
    client::{CachePolicy, CallOptions},
    config::read_servers,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::client_support::with_deadline;

const SECRET_MARK: &str = "xyzzy-s3cr3t-0123456789";

fn entry_with_secret(place: usize, reachable: &str) -> Value {
    let secret = format!("Bearer {SECRET_MARK}");
    match place {
        0 => json!({ "command": "/no/such/program", "env": { "TOKEN": SECRET_MARK } }),
        1 => json!({ "command": "/no/such/program", "args": ["--key", SECRET_MARK] }),
        2 => json!({ "url": reachable, "headers": { "Authorization": secret } }),
        3 => {
            json!({ "url": reachable, "auth": { "client_id": "me", "client_secret": SECRET_MARK } })
        }
        4 => json!({ "url": format!("{reachable}?key={SECRET_MARK}") }),
        5 => {
            json!({ "url": format!("ws://127.0.0.1:1/?key={SECRET_MARK}"), "headers": { "X-Key": SECRET_MARK } })
        }
        _ => json!({ "type": "sse", "url": reachable, "headers": { "X-Key": secret } }),
    }
}

#[tokio::test]
async fn what_is_shown_of_a_server_holds_none() {
    let mut servers = Map::new();
    for place in 0..=6 {
        servers.insert(
            format!("s{place}"),
            entry_with_secret(place, "http://127.0.0.1:1/mcp"),
        );
    }
    let configured_servers = read_servers(&servers, &|_| None).unwrap();
    let mut shown = vec![format!("{configured_servers:?} {configured_servers:#?}")];
    let configs: Vec<_> = configured_servers
        .into_iter()
        .map(|server| server.config)
        .collect();
    for config in &configs {
        let client = McpClient::new(
            config.clone(),
            std::sync::Arc::new(deliberate_mcp_client::client::NoClientHandler),
        )
        .unwrap();
        let error = with_deadline(client.call("any", json!({}), CallOptions::default()))
            .await
            .unwrap_err();
        shown.push(format!("{error} {error:?} {} {client:?}", error.to_json()));
        shown.push(format!("{:?}", client.status()));
        shown.push(serde_json::to_string(&client.status()).unwrap());
        let error = with_deadline(client.tools(CachePolicy::Refresh))
            .await
            .unwrap_err();
        shown.push(format!("{error:?} {error} {:?}", error.hint()));
    }
    for text in shown {
        assert!(!text.contains(SECRET_MARK), "{text}");
    }
}

/// An entry with a secret in a wrong place.
fn misplaced_secret() -> impl Strategy<Value = Value> {
    let fields = [
        "command", "args", "env", "headers", "auth", "url", "type", "cwd", "at_once", "disabled",
        "speaks", "timeout", "pass_env",
    ];
    let wrong = prop_oneof![
        Just(json!(SECRET_MARK)),
        Just(json!([SECRET_MARK])),
        Just(json!({ "a": SECRET_MARK })),
        Just(json!({ "a": [SECRET_MARK] })),
        Just(json!([{ "a": SECRET_MARK }])),
    ];
    let field = proptest::sample::select(fields.to_vec());
    proptest::collection::vec((field, wrong), 1..5).prop_map(|fields| {
        let mut entry = json!({ "command": "x" });
        for (name, value) in fields {
            entry[name] = value;
        }
        entry
    })
}

proptest! {
    #[test]
    fn what_is_wrong_is_told_without_what_was_written(entry in misplaced_secret()) {
        let servers = Map::from_iter([("one".to_owned(), entry.clone())]);
        if let Err(error) = read_servers(&servers, &|_| None) {
            // Fields that are never secret may be quoted.
            let quoted = ["type", "speaks"].iter().any(|name| entry[*name] == SECRET_MARK);
            let shown = format!("{error} {error:?}");
            prop_assert!(quoted || !shown.contains(SECRET_MARK), "{shown}");
        }
    }
}
