//! Servers for tests: the mock server over every transport, and a scripted server whose every
//! message the test writes, so that time can be paused.

use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use deliberate_mcp_client::{
    ClientError, McpClient, ServerConfig,
    client::{CallOptions, NoClientHandler},
    config::{HttpConfig, TransportConfig},
    jsonrpc::{self, RequestId},
    transport::{
        Connector, DeliveryStatus, IncomingEvent, IncomingSink, McpTransport, NegotiatedProtocol,
        OutgoingMessage, TransportError,
    },
};
pub(crate) use deliberate_testkit::wait_until;
use deliberate_testkit::{MockServerProcess, mock_mcp_server_program};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

pub(crate) use crate::transport_support::{TEST_TIMEOUT, wait_until_gone};

/// The configuration of the mock server as a program, with these arguments.
pub(crate) fn stdio(name: &str, arguments: &[&str]) -> ServerConfig {
    let program = mock_mcp_server_program().to_string_lossy();
    with_long_timeouts(ServerConfig::stdio(
        name,
        program,
        arguments.iter().copied(),
    ))
}

/// Raises the timeouts for a busy machine.
pub(crate) fn with_long_timeouts(mut config: ServerConfig) -> ServerConfig {
    config.limits.connect_timeout = TEST_TIMEOUT;
    config.limits.response_timeout = TEST_TIMEOUT;
    config
}

/// The mock server on the network. It is killed when dropped.
pub(crate) struct SpawnedServer(MockServerProcess);

impl SpawnedServer {
    pub(crate) fn http(arguments: &[&str]) -> Self {
        Self::spawn_at("--http", "127.0.0.1:0", arguments)
    }

    pub(crate) fn ws(arguments: &[&str]) -> Self {
        Self::spawn_at("--ws", "127.0.0.1:0", arguments)
    }

    pub(crate) fn spawn_at(kind: &str, address: &str, arguments: &[&str]) -> Self {
        Self(MockServerProcess::spawn(kind, address, arguments).unwrap())
    }

    pub(crate) fn url(&self) -> &str {
        self.0.address()
    }

    pub(crate) fn config(&self, name: &str) -> ServerConfig {
        with_long_timeouts(ServerConfig::http(name, &format!("http://{}/mcp", self.url())).unwrap())
    }

    pub(crate) fn socket_config(&self, name: &str) -> ServerConfig {
        let http = HttpConfig {
            url: format!("ws://{}/", self.url()).parse().unwrap(),
            headers: std::collections::BTreeMap::new(),
            auth: None,
        };
        with_long_timeouts(ServerConfig::with_transport(
            name.to_owned(),
            TransportConfig::WebSocket(http),
        ))
    }

    pub(crate) fn kill(&mut self) {
        self.0.kill();
    }
}

pub(crate) fn client(config: ServerConfig) -> McpClient {
    McpClient::new(config, Arc::new(NoClientHandler)).unwrap()
}

/// Waits for a future, with a time limit.
pub(crate) async fn with_deadline<T>(what: impl Future<Output = T>) -> T {
    timeout(TEST_TIMEOUT, what)
        .await
        .expect("it takes for ever")
}

pub(crate) async fn call(
    client: &McpClient,
    tool: &str,
    arguments: Value,
) -> Result<Value, ClientError> {
    with_deadline(client.call(tool, arguments, CallOptions::default())).await
}

/// Calls a tool and returns its text.
pub(crate) async fn call_text(client: &McpClient, tool: &str, arguments: Value) -> String {
    text(&call(client, tool, arguments).await.unwrap())
}

pub(crate) fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// Handles a message of the client.
pub(crate) type ServerScript = Arc<dyn Fn(&ServerConnection, &Value) + Send + Sync>;

/// A server whose messages the test writes.
pub(crate) struct ScriptedServer {
    script: ServerScript,
    open_count: AtomicUsize,
    pub(crate) refuses: AtomicBool,
    received: Arc<Mutex<Vec<Value>>>,
    connections: Mutex<Vec<ServerConnection>>,
    closed_count: Arc<AtomicUsize>,
}

/// A connection to the scripted server.
#[derive(Clone)]
pub(crate) struct ServerConnection {
    /// The number of the connection, from 1.
    pub(crate) number: usize,
    inbox: IncomingSink,
    ended: Arc<OnceLock<()>>,
}

impl Drop for ScriptedTransport {
    fn drop(&mut self) {
        self.closed_count.fetch_add(1, Ordering::SeqCst);
    }
}

struct ScriptedTransport {
    connection: ServerConnection,
    script: ServerScript,
    received: Arc<Mutex<Vec<Value>>>,
    closed_count: Arc<AtomicUsize>,
}

impl ScriptedServer {
    pub(crate) fn new(
        script: impl Fn(&ServerConnection, &Value) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            script: Arc::new(script),
            open_count: AtomicUsize::new(0),
            refuses: AtomicBool::new(false),
            received: Arc::default(),
            connections: Mutex::default(),
            closed_count: Arc::default(),
        })
    }

    pub(crate) fn client(self: &Arc<Self>) -> McpClient {
        self.client_with(ServerConfig::stdio("puppet", "none", [""; 0]))
    }

    pub(crate) fn client_with(self: &Arc<Self>, config: ServerConfig) -> McpClient {
        McpClient::with_connector(config, self.clone(), Arc::new(NoClientHandler))
    }

    /// Returns the number of connection attempts.
    pub(crate) fn open_count(&self) -> usize {
        self.open_count.load(Ordering::SeqCst)
    }

    /// Returns the number of closed connections.
    pub(crate) fn closed_count(&self) -> usize {
        self.closed_count.load(Ordering::SeqCst)
    }

    /// Returns the requests and notifications of this method.
    pub(crate) fn received_of(&self, method: &str) -> Vec<Value> {
        let heard = self.received.lock().unwrap();
        let of = |message: &&Value| message["method"] == method;
        heard.iter().filter(of).cloned().collect()
    }

    /// Returns the answers of the client.
    pub(crate) fn responses(&self) -> Vec<Value> {
        let heard = self.received.lock().unwrap();
        let of = |message: &&Value| message["method"].is_null();
        heard.iter().filter(of).cloned().collect()
    }

    pub(crate) fn last_connection(&self) -> ServerConnection {
        self.connections.lock().unwrap().last().unwrap().clone()
    }
}

impl Connector for ScriptedServer {
    fn open(
        &self,
        inbox: IncomingSink,
        _: Instant,
    ) -> BoxFuture<'_, Result<Arc<dyn McpTransport>, TransportError>> {
        let number = self.open_count.fetch_add(1, Ordering::SeqCst) + 1;
        let stage = ServerConnection {
            number,
            inbox,
            ended: Arc::default(),
        };
        self.connections.lock().unwrap().push(stage.clone());
        let link = ScriptedTransport {
            connection: stage,
            script: self.script.clone(),
            received: self.received.clone(),
            closed_count: self.closed_count.clone(),
        };
        let refuses = self.refuses.load(Ordering::SeqCst);
        Box::pin(async move {
            tokio::task::yield_now().await;
            if refuses {
                let reason = "refused".to_owned();
                return Err(TransportError::Unreachable { reason });
            }
            let link: Arc<dyn McpTransport> = Arc::new(link);
            Ok(link)
        })
    }

    fn display_address(&self) -> String {
        "puppet".to_owned()
    }
}

impl McpTransport for ScriptedTransport {
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            if self.connection.ended.get().is_some() {
                return Err(TransportError::Closed {
                    reason: "it is over".to_owned(),
                    sent: DeliveryStatus::No,
                });
            }
            let message: Value = serde_json::from_slice(&outgoing.body).unwrap();
            self.received.lock().unwrap().push(message.clone());
            (self.script)(&self.connection, &message);
            Ok(())
        })
    }

    fn set_protocol(&self, _: &NegotiatedProtocol) {}

    fn abandon(&self, _: RequestId) -> bool {
        false
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async { self.connection.end("closed") })
    }
}

impl ServerConnection {
    pub(crate) fn push(&self, message: &Value) {
        let bytes = message.to_string();
        for message in jsonrpc::parse_messages(bytes.as_bytes()).unwrap() {
            self.inbox.push(IncomingEvent::Message {
                message,
                request_id: None,
            });
        }
    }

    pub(crate) fn answer(&self, to: &Value, result: &Value) {
        self.push(&json!({ "jsonrpc": "2.0", "id": to["id"], "result": result }));
    }

    pub(crate) fn refuse(&self, to: &Value, code: i64, message: &str) {
        let error = json!({ "code": code, "message": message });
        self.push(&json!({ "jsonrpc": "2.0", "id": to["id"], "error": error }));
    }

    pub(crate) fn answer_text(&self, to: &Value, text: &str) {
        self.answer(
            to,
            &json!({ "content": [{ "type": "text", "text": text }] }),
        );
    }

    pub(crate) fn notify(&self, method: &str, params: &Value) {
        self.push(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    pub(crate) fn request(&self, id: &Value, method: &str, params: &Value) {
        self.push(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    pub(crate) fn forget_session(&self) {
        let _ = self.ended.set(());
        self.inbox.push(IncomingEvent::SessionLost);
    }

    /// Ends the connection from the server's side.
    pub(crate) fn end(&self, reason: &str) {
        if self.ended.set(()).is_ok() {
            let reason = reason.to_owned();
            let sent = DeliveryStatus::Maybe;
            let error = TransportError::Closed { reason, sent };
            self.inbox.push(IncomingEvent::Closed(Some(error)));
        }
    }
}

/// Answers the common requests of the handshake era. Returns true if the message was one.
pub(crate) fn answer_handshake(stage: &ServerConnection, message: &Value) -> bool {
    match message["method"].as_str().unwrap_or_default() {
        "server/discover" => stage.refuse(message, -32_601, "no such method"),
        "initialize" => stage.answer(
            message,
            &json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": { "tools": { "listChanged": true } },
                "serverInfo": { "name": "puppet", "version": "1" },
            }),
        ),
        "ping" => stage.answer(message, &json!({})),
        method => return method.starts_with("notifications/"),
    }
    true
}

/// Answers the common requests of the stateless era. Returns true if the message was one.
pub(crate) fn answer_stateless(stage: &ServerConnection, message: &Value) -> bool {
    match message["method"].as_str().unwrap_or_default() {
        "server/discover" => stage.answer(
            message,
            &json!({
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": { "tools": { "listChanged": true } },
            }),
        ),
        "initialize" => stage.refuse(message, -32_601, "no such method"),
        "subscriptions/listen" => {}
        method => return method.starts_with("notifications/"),
    }
    true
}
