//! A client in this process on the other end of a pipe, and a registry with a store.

use std::{collections::VecDeque, ops::Deref, sync::Arc, time::Duration};

use deliberate_core::{Change, Mode, Session, Timestamp};
use deliberate_reasoning::register;
use deliberate_server::{
    McpHandler, McpOptions, SubscriptionLimits, Subscriptions,
    stdio::{self, StdioOptions},
};
use deliberate_testkit::fixtures::{RegistryBuilder, RegistryFixture, ScriptedModel, reply};
use deliberate_toolkit::Registry;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// Longer than any step takes on a busy machine; only a hang exceeds it.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// Both eras of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestEra {
    Legacy,
    Modern,
}

pub(crate) const ERAS: [TestEra; 2] = [TestEra::Legacy, TestEra::Modern];

/// A model whose reply depends on nothing but what is asked for.
fn steady_model() -> Arc<ScriptedModel> {
    ScriptedModel::from_fn(|ask, _| {
        let mut said =
            json!({ "thought": "so be it", "confidence_percent": 70, "weakest_point": "-" });
        if ask.schema["properties"]["approaches"].is_object() {
            let approach = |name: &str| json!({ "name": name, "thought": name, "rationale": "-", "confidence_percent": 50 });
            said["approaches"] = json!([approach("one"), approach("two")]);
            said["recommended"] = json!(1);
            said["relations"] = json!([]);
        }
        Ok(reply(&said.to_string()))
    })
}

/// A server with a temporary store.
pub(crate) struct TestServer {
    pub(crate) handler: McpHandler,
    pub(crate) subscriptions: Arc<Subscriptions>,
    fixture: RegistryFixture,
}

impl Deref for TestServer {
    type Target = RegistryFixture;

    fn deref(&self) -> &RegistryFixture {
        &self.fixture
    }
}

impl TestServer {
    pub(crate) fn new() -> Self {
        Self::with_registry(SubscriptionLimits::default(), register)
    }

    /// Starts a server with additions to its registry.
    pub(crate) fn with_registry(
        limits: SubscriptionLimits,
        furnish: impl FnOnce(Registry) -> Registry,
    ) -> Self {
        let subscriptions = Arc::new(Subscriptions::new(limits));
        let fixture = RegistryBuilder::new()
            .system_time()
            .scripted_model(steady_model())
            .build(|registry| furnish(registry).with_listener(subscriptions.clone()));
        let handler = McpHandler::new(fixture.registry.clone(), McpOptions::default())
            .with_subscriptions(subscriptions.clone());
        Self {
            handler,
            subscriptions,
            fixture,
        }
    }

    pub(crate) async fn client(&self, era: TestEra) -> TestClient {
        TestClient::connect(self.handler.clone(), era).await
    }

    /// Adds sessions `s000`, `s001`, … of which the last is the newest.
    pub(crate) async fn add_sessions(&self, count: usize) {
        let changes = (0..count).map(|number| {
            let at = format!("2026-01-01T{:02}:{:02}:00Z", number / 60, number % 60);
            Change::AddSession(sample_session(&format!("s{number:03}"), &at))
        });
        self.store.commit(changes.collect()).await.unwrap();
    }
}

pub(crate) fn sample_session(id: &str, at: &str) -> Session {
    let at = Timestamp::parse(at).unwrap();
    Session {
        id: id.into(),
        mode: Mode::Linear,
        title: Some(format!("About {id}")),
        created_at: at,
        updated_at: at,
        active_branch_id: None,
        metadata: None,
    }
}

/// A client that keeps messages it did not wait for.
pub(crate) struct TestClient {
    era: TestEra,
    capabilities: Value,
    input: Option<DuplexStream>,
    output: Lines<BufReader<DuplexStream>>,
    buffered: VecDeque<Value>,
    next_id: u64,
    server_task: JoinHandle<()>,
    pub(crate) initialize_result: Value,
}

impl TestClient {
    pub(crate) async fn connect(face: McpHandler, era: TestEra) -> Self {
        Self::connect_with_capabilities(face, era, json!({})).await
    }

    pub(crate) async fn connect_with_capabilities(
        handler: McpHandler,
        era: TestEra,
        offers: Value,
    ) -> Self {
        let (input, their_input) = tokio::io::duplex(64 * 1024);
        let (their_output, output) = tokio::io::duplex(64 * 1024);
        let options = StdioOptions {
            line_bytes: 4 * 1024 * 1024,
            grace: TEST_TIMEOUT,
            shutdown: CancellationToken::new(),
            client_disconnected: CancellationToken::new(),
        };
        let served = tokio::spawn(async move {
            stdio::serve_on(handler, options, their_input, their_output)
                .await
                .unwrap();
        });
        let mut client = Self {
            era,
            capabilities: offers,
            input: Some(input),
            output: BufReader::new(output).lines(),
            buffered: VecDeque::new(),
            next_id: 0,
            server_task: served,
            initialize_result: Value::Null,
        };
        client.initialize_result = client.initialize().await;
        client
    }

    async fn initialize(&mut self) -> Value {
        if self.era == TestEra::Modern {
            return self.request_ok("server/discover", json!({})).await;
        }
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": self.capabilities,
            "clientInfo": { "name": "test", "version": "0" },
        });
        let hello = self.request_ok("initialize", hello).await;
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.send(&ready).await;
        // The answer shows that the notification was processed.
        self.request_ok("ping", json!({})).await;
        hello
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        let input = self.input.as_mut().unwrap();
        timeout(TEST_TIMEOUT, input.write_all(line.as_bytes()))
            .await
            .unwrap()
            .unwrap();
    }

    /// Sends a request without waiting and returns its id.
    pub(crate) async fn send_request(&mut self, method: &str, mut params: Value) -> u64 {
        if self.era == TestEra::Modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            });
        }
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        id
    }

    async fn read_message(&mut self) -> Option<Value> {
        let line = timeout(TEST_TIMEOUT, self.output.next_line()).await;
        let line = line.expect("something comes").unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// The complete response to a request.
    pub(crate) async fn read_response(&mut self, id: u64) -> Value {
        loop {
            let message = self.read_message().await.expect("an answer");
            if message["id"] == id {
                return message;
            }
            self.buffered.push_back(message);
        }
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params).await;
        self.read_response(id).await
    }

    /// A request that must succeed.
    pub(crate) async fn request_ok(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.request(method, params).await;
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].take()
    }

    /// A request that must fail; returns code and message.
    pub(crate) async fn request_err(&mut self, method: &str, params: Value) -> (i64, String) {
        let answer = self.request(method, params).await;
        let error = &answer["error"];
        let code = error["code"].as_i64();
        let code = code.unwrap_or_else(|| panic!("{method}: {answer}"));
        (code, error["message"].as_str().unwrap().to_owned())
    }

    /// Calls a tool that must succeed.
    pub(crate) async fn call_tool(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let mut result = self.request_ok("tools/call", params).await;
        assert_ne!(result["isError"], true, "{result}");
        result["structuredContent"].take()
    }

    pub(crate) async fn read_text(&mut self, uri: &str) -> String {
        let result = self
            .request_ok("resources/read", json!({ "uri": uri }))
            .await;
        result["contents"][0]["text"].as_str().unwrap().to_owned()
    }

    /// All pages of a list.
    pub(crate) async fn list_pages(&mut self, method: &str, items: &str) -> Vec<Vec<Value>> {
        let mut pages = Vec::new();
        let mut params = json!({});
        loop {
            let mut page = self.request_ok(method, params).await;
            let Value::Array(shown) = page[items].take() else {
                panic!("{page}");
            };
            pages.push(shown);
            if page["nextCursor"].is_null() {
                return pages;
            }
            params = json!({ "cursor": page["nextCursor"] });
        }
    }

    /// The next notification of that method.
    pub(crate) async fn next_notification(&mut self, method: &str) -> Value {
        if let Some(place) = self.buffered.iter().position(|it| it["method"] == method) {
            return self.buffered.remove(place).unwrap();
        }
        loop {
            let message = self.read_message().await.expect("a notification");
            if message["method"] == method {
                return message;
            }
            self.buffered.push_back(message);
        }
    }

    /// Waits until notifications had time to arrive, and returns them.
    pub(crate) async fn drain_notifications(&mut self) -> Vec<Value> {
        tokio::time::sleep(Duration::from_millis(400)).await;
        self.request("tools/list", json!({})).await;
        let kept = self.buffered.drain(..);
        kept.filter(|it| it["method"].is_string()).collect()
    }

    /// Disconnects the client and returns all remaining messages.
    pub(crate) async fn disconnect(mut self) -> Vec<Value> {
        drop(self.input.take());
        while let Some(message) = self.read_message().await {
            self.buffered.push_back(message);
        }
        timeout(TEST_TIMEOUT, self.server_task)
            .await
            .unwrap()
            .unwrap();
        self.buffered.into_iter().collect()
    }
}
