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
        (scope_of(&["reasoning_get"]), 0, 8),
        (scope_of(&["reasoning_get", "reasoning_sessions"]), 3, 8),
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

fn complete_session(reference: &Value) -> Value {
    json!({ "ref": reference, "argument": { "name": "session_id", "value": "s0" } })
}

#[tokio::test]
async fn prompts_are_unknown_to_whom_their_tool_is_not_allowed() {
    let house = TestServer::new();
    let door = ScopedHttpClient::new(&house.handler);
    let get = json!({ "name": "tree", "arguments": { "problem": "x" } });
    let served = door
        .request(&scope_of(&["reasoning_tree"]), "prompts/get", get.clone())
        .await;
    assert!(served["result"]["messages"].is_array(), "{served}");
    let only_linear = scope_of(&["reasoning_linear"]);
    let refused = door.request(&only_linear, "prompts/get", get).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert_eq!(refused["error"]["code"], -32_602, "{refused}");
    assert!(message.starts_with("there is no prompt named \"tree\""));
    // Names that are not allowed are not suggested either.
    let misspelled = json!({ "name": "tre" });
    let refused = door.request(&only_linear, "prompts/get", misspelled).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(!message.contains("tree"), "{message}");
    let complete = json!({
        "ref": { "type": "ref/prompt", "name": "tree" },
        "argument": { "name": "branches", "value": "" },
    });
    let method = "completion/complete";
    let allowed = door
        .request(&scope_of(&["reasoning_tree"]), method, complete.clone())
        .await;
    let values = &allowed["result"]["completion"]["values"];
    assert!(!values.as_array().unwrap().is_empty(), "{allowed}");
    let refused = door.request(&only_linear, method, complete).await;
    assert_eq!(refused["error"]["code"], -32_602, "{refused}");
}

#[tokio::test]
async fn ids_of_sessions_are_completed_for_those_who_may_list_them() {
    let house = TestServer::new();
    house.add_sessions(2).await;
    let door = ScopedHttpClient::new(&house.handler);
    let template = json!({
        "type": "ref/resource", "uri": "deliberate://sessions/{session_id}/markdown",
    });
    let prompt = json!({ "type": "ref/prompt", "name": "think" });
    for (names, found) in [
        (&["reasoning_*"][..], 2),
        (
            &["reasoning_linear", "reasoning_get", "reasoning_sessions"],
            2,
        ),
        (&["reasoning_linear", "reasoning_get"], 0),
    ] {
        for reference in [&template, &prompt] {
            let answer = door
                .request(
                    &scope_of(names),
                    "completion/complete",
                    complete_session(reference),
                )
                .await;
            let values = &answer["result"]["completion"]["values"];
            let count = values.as_array().map(Vec::len);
            assert_eq!(count, Some(found), "{names:?} {reference} {answer}");
        }
    }
    let answer = door
        .request(
            &scope_of(&["reasoning_linear"]),
            "completion/complete",
            complete_session(&template),
        )
        .await;
    assert_eq!(answer["error"]["code"], -32_602, "{answer}");
}

#[tokio::test]
async fn who_may_list_sessions_may_neither_delete_nor_rename_them() {
    let house = TestServer::new();
    house.add_sessions(2).await;
    let door = ScopedHttpClient::new(&house.handler);
    let call = |arguments: &Value| json!({ "name": "reasoning_sessions", "arguments": arguments });
    let delete = json!({ "action": "delete", "session_id": "s000", "confirm": true });
    let rename = json!({ "action": "rename", "session_id": "s000", "title": "Mine" });
    let list = json!({ "action": "list" });
    let listing = scope_of(&["reasoning_sessions"]);
    for arguments in [&delete, &rename] {
        let refused = door.request(&listing, "tools/call", call(arguments)).await;
        let error = &refused["result"]["structuredContent"]["error"];
        assert_eq!(error["code"], "Forbidden", "{refused}");
    }
    let listed = door.request(&listing, "tools/call", call(&list)).await;
    let sessions = &listed["result"]["structuredContent"]["sessions"];
    assert_eq!(sessions.as_array().unwrap().len(), 2);
    assert_eq!(sessions[1]["title"], "About s000", "{listed}");
    let both = scope_of(&["reasoning_sessions", "reasoning_sessions/*"]);
    for (arguments, field) in [(&rename, "renamed"), (&delete, "deleted")] {
        let done = door.request(&both, "tools/call", call(arguments)).await;
        assert_eq!(done["result"]["structuredContent"][field], true, "{done}");
    }
}
