//! External tools over streamable HTTP, in each of its modes, and over the older SSE transport.

use std::{sync::Arc, time::Duration};

use axum::{Router, body::Body};
use deliberate_json_schema::{mark_large_integers, unmark_large_integers};
use deliberate_server::{
    McpHandler, McpOptions,
    http::{SessionOptions, StreamableHttpOptions, mcp_routes},
};
use deliberate_testkit::wait_for;
use deliberate_toolkit::{Principal, ToolScope};
use http::{Request, StatusCode, header};
use http_body_util::BodyExt as _;
use rmcp::transport::{
    StreamableHttpServerConfig, StreamableHttpService,
    streamable_http_server::session::never::NeverSessionManager,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::{
    external_tools_fixtures::{
        ECHO, INPUT_REQUIRED_RESULT, RELEASE_COPY, RELEASE_WAITING, expected_result,
        server_with_external,
    },
    test_server::TestServer,
};
use crate::sse_support;

/// The mode of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HttpMode {
    Modern,
    Legacy,
    Session,
}

const MODES: [HttpMode; 3] = [HttpMode::Modern, HttpMode::Legacy, HttpMode::Session];

struct WebClient {
    router: Router,
    mode: HttpMode,
    session: Option<String>,
    principal: Principal,
    /// Whether the client supports tasks.
    tasks: bool,
    _server: TestServer,
}

struct WebReply {
    status: StatusCode,
    session: Option<String>,
    /// The raw messages.
    messages: Vec<String>,
}

impl WebClient {
    async fn new(mode: HttpMode) -> Self {
        let house = server_with_external();
        let options = McpOptions {
            http_sessions: mode == HttpMode::Session,
            task_after: Duration::from_millis(20),
            ..McpOptions::default()
        };
        let face = McpHandler::new(Arc::clone(&house.registry), options);
        let options = StreamableHttpOptions {
            body_bytes: 1024 * 1024,
            sessions: (mode == HttpMode::Session).then_some(SessionOptions {
                max_sessions: 4,
                idle_timeout: Duration::from_mins(1),
            }),
        };
        let never = CancellationToken::new();
        let make = move || face.for_connection();
        let (router, _) = mcp_routes(make, &options, never.clone(), never);
        let mut web = Self {
            router,
            mode,
            session: None,
            principal: Principal::default(),
            tasks: false,
            _server: house,
        };
        if mode == HttpMode::Session {
            let hello = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "elicitation": {} },
                "clientInfo": { "name": "test", "version": "0" },
            });
            web.session = web.post("initialize", hello, &[]).await.session;
        }
        web
    }

    fn request(&self) -> http::request::Builder {
        let version = match self.mode {
            HttpMode::Modern => "2026-07-28",
            HttpMode::Legacy | HttpMode::Session => "2025-11-25",
        };
        let mut request = Request::builder()
            .uri("/mcp")
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream")
            .header("mcp-protocol-version", version);
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        request
    }

    async fn post(&self, method: &str, mut params: Value, headers: &[(&str, &str)]) -> WebReply {
        let mut request = self.request().method("POST");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if self.mode == HttpMode::Modern {
            request = request.header("mcp-method", method);
            if let Some(name) = params["name"].as_str().or(params["taskId"].as_str()) {
                request = request.header("mcp-name", name);
            }
            let meta = params["_meta"].as_object().cloned().unwrap_or_default();
            let mut meta = Value::Object(meta);
            meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "test", "version": "0" });
            let mut capabilities = json!({ "elicitation": {} });
            if self.tasks {
                capabilities["extensions"] = json!({ "io.modelcontextprotocol/tasks": {} });
            }
            meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
            params["_meta"] = meta;
        }
        let body = json!({ "jsonrpc": "2.0", "id": "i", "method": method, "params": params });
        let body = unmark_large_integers(body.to_string());
        let request = request.body(Body::from(body)).unwrap();
        self.send(request).await
    }

    async fn send(&self, mut request: Request<Body>) -> WebReply {
        request.extensions_mut().insert(self.principal.clone());
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let header = |name: &str| {
            let value = response.headers().get(name)?;
            Some(value.to_str().unwrap().to_owned())
        };
        let session = header("mcp-session-id");
        let streams = header("content-type").is_some_and(|it| it.starts_with("text/event-stream"));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let body = String::from_utf8(body.to_vec()).unwrap();
        let messages = if streams {
            let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
            let data = data.filter(|data| !data.is_empty());
            data.map(str::to_owned).collect()
        } else {
            vec![body]
        };
        WebReply {
            status,
            session,
            messages,
        }
    }

    async fn result_text(&self, method: &str, params: Value) -> String {
        let reply = self.post(method, params, &[]).await;
        let message = reply.messages.last().unwrap();
        message_result(message)
    }
}

/// The raw result in a message.
fn message_result(message: &str) -> String {
    let rest = message.strip_prefix(r#"{"jsonrpc":"2.0","id":"i","result":"#);
    let rest = rest.unwrap_or_else(|| panic!("{message}"));
    rest.strip_suffix('}').unwrap().to_owned()
}

fn call_params(name: &str, arguments: &Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

#[tokio::test]
async fn guests_are_listed_and_answer_as_they_are_in_every_mode() {
    for mode in MODES {
        let web = WebClient::new(mode).await;
        let modern = mode == HttpMode::Modern;
        let listed = web.result_text("tools/list", json!({})).await;
        assert!(listed.contains(ECHO), "{mode:?}: {listed}");
        assert_eq!(listed.contains(r#""resultType":"complete""#), modern);
        let told = web
            .result_text("tools/call", call_params("far__echo", &json!({ "aa": 1 })))
            .await;
        assert_eq!(told, expected_result(modern), "{mode:?}");
        let own = web
            .result_text("tools/call", call_params("reasoning_sessions", &json!({})))
            .await;
        assert!(own.contains("structuredContent"), "{mode:?}: {own}");
    }
}

#[tokio::test]
async fn integers_beyond_64_bits_reach_a_guest_and_come_back_exactly() {
    let text = r#"{"n":18446744073709551617123,"list":[-99999999999999999999]}"#;
    let arguments: Value = serde_json::from_str(&mark_large_integers(text)).unwrap();
    for mode in MODES {
        let web = WebClient::new(mode).await;
        let params = call_params("far__copy", &arguments);
        let result = web.result_text("tools/call", params).await;
        assert!(result.contains(text), "{mode:?} {result}");
    }
}

#[tokio::test]
async fn integers_beyond_64_bits_are_exact_on_a_stream_that_was_taken_up_again() {
    let web = WebClient::new(HttpMode::Session).await;
    let arguments = r#"{"wait":true,"n":18446744073709551617123}"#;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":"i","method":"tools/call","params":{{"name":"far__copy","arguments":{arguments}}}}}"#
    );
    let (reply, ()) = tokio::join!(take_up_again(&web, body), async {
        RELEASE_COPY.add_permits(1);
    });
    let result = message_result(reply.messages.last().unwrap());
    assert!(result.contains(arguments), "{result}");
}

#[tokio::test]
async fn integers_beyond_64_bits_are_exact_in_the_result_of_a_task() {
    let mut web = WebClient::new(HttpMode::Modern).await;
    web.tasks = true;
    let text = r#"{"wait":true,"n":-18446744073709551617123}"#;
    let arguments: Value = serde_json::from_str(&mark_large_integers(text)).unwrap();
    let task = web.result_text("tools/call", call_params("far__copy", &arguments));
    let task: Value = serde_json::from_str(&task.await).unwrap();
    let id = task["taskId"].as_str().unwrap_or_else(|| panic!("{task}"));
    RELEASE_COPY.add_permits(1);
    let ended = wait_for(async || {
        let state = web.result_text("tasks/get", json!({ "taskId": id })).await;
        (!state.contains(r#""status":"working""#)).then_some(state)
    });
    let state = ended.await;
    assert!(state.contains(text), "{state}");
}

#[tokio::test]
async fn what_comes_after_progress_is_told_as_it_is_too() {
    for mode in MODES {
        let web = WebClient::new(mode).await;
        let mut params = call_params("far__echo", &json!({ "progress": true }));
        params["_meta"] = json!({ "progressToken": "p" });
        let reply = web.post("tools/call", params, &[]).await;
        let [.., progress, last] = reply.messages.as_slice() else {
            panic!("{mode:?}: {:?}", reply.messages);
        };
        assert!(progress.contains("notifications/progress"), "{progress}");
        assert_eq!(
            message_result(last),
            expected_result(mode == HttpMode::Modern),
            "{mode:?}"
        );
    }
}

/// Sends a request, drops its stream, and resumes it.
async fn take_up_again(web: &WebClient, body: String) -> WebReply {
    let request = web.request().method("POST").body(Body::from(body));
    let response = web.router.clone().oneshot(request.unwrap()).await.unwrap();
    let mut stream = response.into_body();
    let first = stream.frame().await.unwrap().unwrap().into_data().unwrap();
    let first = String::from_utf8(first.to_vec()).unwrap();
    let last_id = first.lines().find_map(|line| line.strip_prefix("id: "));
    drop(stream);
    let request = web.request().method("GET");
    let request = request.header("last-event-id", last_id.expect("events have ids"));
    web.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn an_answer_on_a_stream_that_was_taken_up_again_is_told_as_it_is() {
    let web = WebClient::new(HttpMode::Session).await;
    let body = json!({
        "jsonrpc": "2.0", "id": "i", "method": "tools/call",
        "params": call_params("far__wait", &json!({})),
    });
    let taken_up = take_up_again(&web, body.to_string());
    let (reply, ()) = tokio::join!(taken_up, async { RELEASE_WAITING.add_permits(1) });
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(
        message_result(reply.messages.last().unwrap()),
        expected_result(false)
    );
}

#[tokio::test]
async fn a_guest_asks_by_its_answer_and_the_call_is_sent_again() {
    let web = WebClient::new(HttpMode::Modern).await;
    let told = web
        .result_text("tools/call", call_params("far__ask", &json!({})))
        .await;
    assert_eq!(told, INPUT_REQUIRED_RESULT);
    let mut again = call_params("far__ask", &json!({}));
    again["requestState"] = json!("far state");
    again["inputResponses"] = json!({ "who": { "action": "decline" } });
    let told = web.result_text("tools/call", again).await;
    assert!(told.contains("decline"), "{told}");
}

#[tokio::test]
async fn a_guest_asks_during_the_call_in_a_session() {
    let web = WebClient::new(HttpMode::Session).await;
    let body = json!({
        "jsonrpc": "2.0", "id": "i", "method": "tools/call",
        "params": call_params("far__ask", &json!({})),
    });
    let post = |body: &Value| {
        let request = web.request().method("POST");
        request.body(Body::from(body.to_string())).unwrap()
    };
    let response = web.router.clone().oneshot(post(&body)).await.unwrap();
    let mut stream = response.into_body();
    let mut told = String::new();
    while let Some(frame) = stream.frame().await {
        let event = frame.unwrap().into_data().unwrap();
        let event = String::from_utf8(event.to_vec()).unwrap();
        let data = event.lines().find_map(|line| line.strip_prefix("data: {"));
        let Some(data) = data else { continue };
        let message: Value = serde_json::from_str(&format!("{{{data}")).unwrap();
        if message["method"] == "elicitation/create" {
            assert_eq!(message["params"]["vendor"], 1);
            let result = json!({ "action": "cancel" });
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
            assert_eq!(web.send(post(&answer)).await.status, StatusCode::ACCEPTED);
        } else {
            told = message["result"]["content"][0]["text"]
                .as_str()
                .unwrap()
                .to_owned();
        }
    }
    assert_eq!(told, r#"{"action":"cancel"}"#);
}

#[tokio::test]
async fn where_nothing_carries_them_past_the_sdk_guests_are_told_as_far_as_it_knows() {
    let face = server_with_external().handler;
    let door = StreamableHttpService::new(
        move || Ok(face.clone()),
        Arc::new(NeverSessionManager::default()),
        StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true),
    );
    let ask = async |method: &str, params: Value| -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": "i", "method": method, "params": params });
        let request = Request::post("http://localhost/mcp")
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream")
            .body(Body::from(body.to_string()));
        let body = door.handle(request.unwrap()).await.into_body();
        serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap()
    };
    let listed = ask("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "far__ask"));
    // An unknown kind of content is converted to text.
    let told = ask("tools/call", call_params("far__echo", &json!({}))).await;
    assert_eq!(told["result"]["content"][0]["text"], expected_result(false));
    let told = ask("tools/call", call_params("far__ask", &json!({}))).await;
    assert_eq!(told["result"]["content"][0]["text"], "nobody can be asked");
}

#[tokio::test]
async fn a_client_without_a_connection_is_not_asked_during_its_call() {
    let web = WebClient::new(HttpMode::Legacy).await;
    let told = web
        .result_text("tools/call", call_params("far__ask", &json!({})))
        .await;
    assert!(told.contains("nobody can be asked"), "{told}");
}

#[tokio::test]
async fn guests_are_for_those_who_may_call_them() {
    for mode in [HttpMode::Modern, HttpMode::Legacy] {
        let mut web = WebClient::new(mode).await;
        web.principal = Principal {
            name: Some("ada".into()),
            scope: ToolScope::Only(["far__e*".to_owned()].into()),
        };
        let listed: Value =
            serde_json::from_str(&web.result_text("tools/list", json!({})).await).unwrap();
        let tools = listed["tools"].as_array().unwrap();
        let names: Vec<&str> = tools
            .iter()
            .map(|it| it["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["reasoning_resume", "far__echo"]);
        assert_eq!(listed["cacheScope"], "private");
        let told = web
            .result_text("tools/call", call_params("far__echo", &json!({})))
            .await;
        assert_eq!(told, expected_result(mode == HttpMode::Modern));
        for other in ["far__ask", "gateway_call"] {
            let told = web
                .result_text("tools/call", call_params(other, &json!({ "tool": "x" })))
                .await;
            assert!(told.contains("Forbidden"), "{told}");
        }
    }
}

#[tokio::test]
async fn headers_that_a_guest_asks_for_must_say_what_its_arguments_say() {
    let web = WebClient::new(HttpMode::Modern).await;
    let params = || call_params("far__echo", &json!({ "zz": "north" }));
    let fits = web
        .post("tools/call", params(), &[("mcp-param-zone", "north")])
        .await;
    assert_eq!(message_result(&fits.messages[0]), expected_result(true));
    let differs = web
        .post("tools/call", params(), &[("mcp-param-zone", "south")])
        .await;
    assert_eq!(differs.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn guests_are_handed_on_over_the_older_event_stream() {
    let house = server_with_external();
    let server = sse_support::SseTestServer::start_with_handler(house.handler.clone()).await;
    let mut client = server.connect(None).await;
    client.call_tool(1, "far__echo", json!({})).await;
    assert_eq!(
        client.next_message().await["result"].to_string(),
        expected_result(false)
    );
    client.request(json!(2), "tools/list", json!({})).await;
    let listed = client.next_message().await["result"]["tools"].to_string();
    assert!(listed.contains(ECHO), "{listed}");
}
