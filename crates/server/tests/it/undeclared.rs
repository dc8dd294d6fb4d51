//! Only declared capabilities are served.

use std::sync::Arc;

use deliberate_server::{McpHandler, McpOptions, SubscriptionLimits};
use serde_json::json;

use super::test_server::{ERAS, TestClient, TestEra, TestServer};

#[tokio::test]
async fn what_is_there_is_declared() {
    let house = TestServer::new();
    for era in ERAS {
        let client = house.client(era).await;
        assert_eq!(
            client.initialize_result["capabilities"],
            json!({
                "tools": { "listChanged": true },
                "resources": { "subscribe": true, "listChanged": true },
                "prompts": { "listChanged": true },
                "completions": {},
                "logging": {},
                "extensions": { "io.modelcontextprotocol/tasks": {} },
            })
        );
    }
}

#[tokio::test]
async fn what_is_not_there_is_neither_declared_nor_answered() {
    let house = TestServer::with_registry(SubscriptionLimits::default(), |registry| registry);
    let bare = McpHandler::new(Arc::clone(&house.registry), McpOptions::default());
    for era in ERAS {
        let mut client = TestClient::connect(bare.clone(), era).await;
        assert_eq!(
            client.initialize_result["capabilities"],
            json!({
                "tools": {},
                "logging": {},
                "extensions": { "io.modelcontextprotocol/tasks": {} },
            })
        );
        let mut methods = vec![
            ("prompts/list", json!({})),
            ("prompts/get", json!({ "name": "x" })),
            ("resources/list", json!({})),
            ("resources/templates/list", json!({})),
            ("resources/read", json!({ "uri": "x:y" })),
            (
                "completion/complete",
                json!({ "ref": { "type": "ref/prompt", "name": "x" }, "argument": { "name": "a", "value": "" } }),
            ),
            ("resources/subscribe", json!({ "uri": "x:y" })),
            ("resources/unsubscribe", json!({ "uri": "x:y" })),
            ("subscriptions/listen", json!({ "notifications": {} })),
        ];
        if era == TestEra::Legacy {
            methods.push(("subscriptions/listen", json!({ "notifications": {} })));
        }
        for (method, params) in methods {
            let (code, message) = client.request_err(method, params).await;
            assert_eq!(code, -32_601, "{method}: {message}");
        }
    }
}
