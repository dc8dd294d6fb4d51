//! Tests of batches, which only clients of revision 2025-03-26 may send.

use std::{sync::Arc, time::Duration};

use axum::{Router, body::Body};
use deliberate_server::{
    McpHandler, McpOptions,
    http::{SessionOptions, StreamableHttpOptions, mcp_routes},
    stdio::{self, StdioOptions},
};
use deliberate_toolkit::Principal;
use http::{Request, StatusCode, header};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::test_server::TestServer;

const BATCH_REVISION: &str = "2025-03-26";

fn initialize(version: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "0" },
    } })
}

fn request(id: impl Into<Value>, method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": {} })
}

fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

/// Sends the lines after a handshake and returns what is written after its response.
async fn stdio_exchange(version: &str, lines: &[Value]) -> Vec<Value> {
    let server = TestServer::new();
    let (mut input, their_input) = tokio::io::duplex(64 * 1024);
    let (their_output, mut output) = tokio::io::duplex(1024 * 1024);
    let options = StdioOptions {
        line_bytes: 1024 * 1024,
        grace: Duration::from_secs(30),
        shutdown: CancellationToken::new(),
        client_disconnected: CancellationToken::new(),
    };
    let handler = server.handler.clone();
    let served =
        tokio::spawn(
            async move { stdio::serve_on(handler, options, their_input, their_output).await },
        );
    let hello = [initialize(version), initialized()];
    for line in hello.iter().chain(lines) {
        let line = format!("{line}\n");
        input.write_all(line.as_bytes()).await.unwrap();
    }
    drop(input);
    let mut written = String::new();
    output.read_to_string(&mut written).await.unwrap();
    served.await.unwrap().unwrap();
    let mut messages = written
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let hello = messages.next().expect("a response to initialize");
    assert_eq!(hello["result"]["protocolVersion"], version);
    messages.collect()
}

/// The ids and error codes of the responses in an array, sorted.
fn summary(array: &Value) -> Vec<String> {
    let responses = array.as_array().unwrap_or_else(|| panic!("{array}"));
    let mut all: Vec<String> = responses
        .iter()
        .map(|it| format!("{} {}", it["id"], it["error"]["code"]))
        .collect();
    all.sort();
    all
}

#[tokio::test]
async fn a_batch_gets_its_responses_in_one_array() {
    let batch = json!([
        request(1, "tools/list"),
        { "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 99 } },
        request("b", "ping"),
        request(3, "no/such/method"),
        { "jsonrpc": "1.0", "id": 4, "method": "ping" },
    ]);
    let messages = stdio_exchange(BATCH_REVISION, &[batch, request(5, "ping")]).await;
    let (arrays, single): (Vec<Value>, Vec<Value>) =
        messages.into_iter().partition(Value::is_array);
    assert_eq!(arrays.len(), 1, "{arrays:?}");
    assert_eq!(
        summary(&arrays[0]),
        ["\"b\" null", "1 null", "3 -32601", "4 -32600"]
    );
    assert_eq!(single.len(), 1, "{single:?}");
    assert_eq!(single[0]["id"], 5);
}

#[tokio::test]
async fn a_batch_of_notifications_gets_nothing_and_what_is_none_gets_an_error() {
    let messages = stdio_exchange(
        BATCH_REVISION,
        &[json!([initialized(), initialized()]), request(1, "ping")],
    )
    .await;
    assert_eq!(messages.len(), 1, "{messages:?}");

    let many: Vec<Value> = (1..=65).map(|id| request(id, "ping")).collect();
    for (wrong, count) in [(json!([]), 1), (json!(many), 1), (json!([1, "x"]), 2)] {
        let messages = stdio_exchange(BATCH_REVISION, &[wrong]).await;
        assert_eq!(messages.len(), count, "{messages:?}");
        for message in messages {
            assert_eq!(message["error"]["code"], -32_600, "{message}");
        }
    }
}

#[tokio::test]
async fn clients_of_other_revisions_send_one_message_at_a_time() {
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let batch = json!([request(1, "ping"), request(2, "ping")]);
        let messages = stdio_exchange(version, &[batch]).await;
        let codes: Vec<&Value> = messages.iter().map(|it| &it["error"]["code"]).collect();
        assert_eq!(codes, [-32_600, -32_600], "{version}: {messages:?}");
    }
}

struct HttpClient {
    router: Router,
    session: Option<String>,
    _server: TestServer,
}

impl HttpClient {
    async fn connect(version: &str) -> Self {
        let server = TestServer::new();
        let options = McpOptions {
            http_sessions: true,
            ..McpOptions::default()
        };
        let handler = McpHandler::new(Arc::clone(&server.registry), options);
        let options = StreamableHttpOptions {
            body_bytes: 1024 * 1024,
            sessions: Some(SessionOptions {
                max_sessions: 4,
                idle_timeout: Duration::from_mins(1),
            }),
        };
        let never = CancellationToken::new();
        let make = move || handler.for_connection();
        let (router, _) = mcp_routes(make, &options, never.clone(), never);
        let mut client = Self {
            router,
            session: None,
            _server: server,
        };
        let (_, session, _) = client.post(&initialize(version)).await;
        client.session = session;
        client.post(&initialized()).await;
        client
    }

    /// Posts a body and returns the status, the session and the messages of the response.
    async fn post(&self, body: &Value) -> (StatusCode, Option<String>, Vec<Value>) {
        let mut request = Request::builder()
            .method("POST")
            .uri("/mcp")
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream");
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        let mut request = request.body(Body::from(body.to_string())).unwrap();
        request.extensions_mut().insert(Principal::default());
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let session = response.headers().get("mcp-session-id");
        let session = session.map(|it| it.to_str().unwrap().to_owned());
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let body = String::from_utf8(body.to_vec()).unwrap();
        let events = body.lines().filter_map(|line| line.strip_prefix("data: "));
        let mut messages: Vec<Value> = events
            .filter_map(|it| serde_json::from_str(it).ok())
            .collect();
        if messages.is_empty() && !body.trim().is_empty() {
            messages.push(serde_json::from_str(&body).unwrap());
        }
        (status, session, messages)
    }
}

#[tokio::test]
async fn a_batch_over_http_gets_every_response() {
    let client = HttpClient::connect(BATCH_REVISION).await;
    let batch = json!([
        request(1, "tools/list"),
        initialized(),
        request("b", "ping"),
        { "jsonrpc": "2.0", "id": 4, "method": 7 },
    ]);
    let (status, _, messages) = client.post(&batch).await;
    assert_eq!(status, StatusCode::OK);
    let responses: Vec<Value> = messages
        .into_iter()
        .flat_map(|it| match it {
            Value::Array(all) => all,
            one => vec![one],
        })
        .collect();
    assert_eq!(
        summary(&json!(responses)),
        ["\"b\" null", "1 null", "4 -32600"]
    );

    let (status, _, messages) = client.post(&json!([initialized()])).await;
    assert_eq!((status, messages), (StatusCode::ACCEPTED, vec![]));
    let (status, _, messages) = client.post(&json!([])).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(messages[0]["error"]["code"], -32_600);
}

#[tokio::test]
async fn a_batch_over_http_needs_its_revision_and_its_session() {
    let batch = json!([request(1, "ping"), request(2, "ping")]);
    let client = HttpClient::connect("2025-06-18").await;
    let (status, _, messages) = client.post(&batch).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(messages[0]["error"]["code"], -32_600);

    let mut client = HttpClient::connect(BATCH_REVISION).await;
    client.session = Some("another".to_owned());
    let (status, _, _) = client.post(&batch).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}
