//! What callers with a restricted scope see over HTTP.

use std::sync::Arc;

use deliberate_server::{FileLimits, FileRoots, McpHandler, SubscriptionLimits};
use deliberate_toolkit::{Principal, ToolScope};
use http::{Request, header};
use http_body_util::{BodyExt as _, Full};
use rmcp::transport::{
    StreamableHttpServerConfig, StreamableHttpService,
    streamable_http_server::session::never::NeverSessionManager,
};
use serde_json::{Value, json};

use super::test_server::TestServer;

struct ScopedHttpClient(StreamableHttpService<McpHandler, NeverSessionManager>);

impl ScopedHttpClient {
    fn new(handler: &McpHandler) -> Self {
        let face = handler.clone();
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true);
        let service = StreamableHttpService::new(
            move || Ok(face.clone()),
            Arc::new(NeverSessionManager::default()),
            config,
        );
        Self(service)
    }

    async fn request(&self, scope: &ToolScope, method: &str, mut params: Value) -> Value {
        let name = params.get("uri").or(params.get("name"));
        let name = name.and_then(Value::as_str).unwrap_or_default().to_owned();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut request = Request::post("http://localhost/mcp")
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method);
        if !name.is_empty() {
            request = request.header("mcp-name", name);
        }
        let mut request = request
            .body(Full::<bytes::Bytes>::from(body.to_string()))
            .unwrap();
        request.extensions_mut().insert(Principal {
            name: Some("ada".into()),
            scope: scope.clone(),
        });
        let answer = self.0.handle(request).await;
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        serde_json::from_slice(&bytes).unwrap_or_else(|_| panic!("{bytes:?}"))
    }
}

fn scope_of(names: &[&str]) -> ToolScope {
    ToolScope::Only(names.iter().map(|name| (*name).to_owned()).collect())
}

#[tokio::test]
async fn lists_show_what_the_caller_may_use() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "a").unwrap();
    let root = folder.path().to_owned();
    let house = TestServer::with_registry(SubscriptionLimits::default(), move |registry| {
        let files = FileRoots::new(vec![root], FileLimits::default());
        deliberate_reasoning::register(registry).with_resources(files)
    });
    house.add_sessions(2).await;
    let door = ScopedHttpClient::new(&house.handler);

    let all = door.request(&ToolScope::All, "tools/list", json!({})).await;
    assert_eq!(
        all["result"]["cacheScope"], "private",
        "it is theirs alone, who have a name"
    );
    assert!(all["result"]["tools"].as_array().unwrap().len() > 20);
    let some = door
        .request(&scope_of(&["reasoning_tree*"]), "tools/list", json!({}))
        .await;
    assert_eq!(some["result"]["cacheScope"], "private");
    let tools = some["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "reasoning_tree",
            "reasoning_tree_focus",
            "reasoning_tree_list",
            "reasoning_tree_complete",
            "reasoning_resume"
        ]
    );

    for (scope, listed, templates) in [
        (ToolScope::All, 4, 9),
        (scope_of(&["reasoning_get"]), 3, 8),
        (scope_of(&["files"]), 1, 1),
        (scope_of(&["reasoning_linear"]), 0, 0),
    ] {
        let list = door.request(&scope, "resources/list", json!({})).await;
        let list = list["result"]["resources"].as_array().unwrap().len();
        let forms = door
            .request(&scope, "resources/templates/list", json!({}))
            .await;
        let forms = forms["result"]["resourceTemplates"].as_array().unwrap();
        assert_eq!((list, forms.len()), (listed, templates), "{scope:?}");
    }
}

#[tokio::test]
async fn reading_is_refused_to_whom_it_is_not_allowed() {
    let house = TestServer::new();
    house.add_sessions(1).await;
    let door = ScopedHttpClient::new(&house.handler);
    let uri = json!({ "uri": "deliberate://sessions/s000" });
    let read = door
        .request(&scope_of(&["reasoning_get"]), "resources/read", uri.clone())
        .await;
    assert!(read["result"].is_object(), "{read}");
    let refused = door
        .request(&scope_of(&["reasoning_linear"]), "resources/read", uri)
        .await;
    assert_eq!(refused["error"]["code"], -32_602, "{refused}");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("you may not use reasoning_get"),
        "{message}"
    );
    // The list of sessions needs another tool.
    let list = json!({ "uri": "deliberate://sessions" });
    let refused = door
        .request(&scope_of(&["reasoning_get"]), "resources/read", list)
        .await;
    assert_eq!(refused["error"]["code"], -32_602, "{refused}");
}
