//! Servers in the hands of a test: the stand-in over every transport, and one whose every word the
//! test writes itself, so that time can stand still.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use deliberate_adapter::{
    Client, Error, ServerConfig,
    client::{CallOptions, NoHandler},
    config::{HttpConfig, Reach},
    transport::{Agreed, Connector, Inbox, Incoming, Link, Outgoing, Sent, TransportError},
    wire::{self, RequestId},
};
use deliberate_testkit::upstream_program;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

pub(crate) use crate::transport_support::{PATIENCE, gone};

/// The stand-in as a program, with these arguments.
pub(crate) fn stdio(name: &str, arguments: &[&str]) -> ServerConfig {
    let program = upstream_program().to_string_lossy();
    patient(ServerConfig::stdio(
        name,
        program,
        arguments.iter().copied(),
    ))
}

/// A busy machine takes its time.
pub(crate) fn patient(mut config: ServerConfig) -> ServerConfig {
    config.limits.connect = PATIENCE;
    config.limits.answer = PATIENCE;
    config
}

/// The stand-in as a server on the network. It ends when dropped.
pub(crate) struct Served {
    child: Child,
    address: String,
}

impl Served {
    pub(crate) fn http(arguments: &[&str]) -> Self {
        Self::at("--http", "127.0.0.1:0", arguments)
    }

    pub(crate) fn ws(arguments: &[&str]) -> Self {
        Self::at("--ws", "127.0.0.1:0", arguments)
    }

    pub(crate) fn at(kind: &str, address: &str, arguments: &[&str]) -> Self {
        let mut child = Command::new(upstream_program())
            .args([kind, address])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        said.read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().to_owned();
        Self { child, address }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn config(&self, name: &str) -> ServerConfig {
        patient(ServerConfig::http(name, &format!("http://{}/mcp", self.address)).unwrap())
    }

    pub(crate) fn socket_config(&self, name: &str) -> ServerConfig {
        let http = HttpConfig {
            url: format!("ws://{}/", self.address).parse().unwrap(),
            headers: std::collections::BTreeMap::new(),
            auth: None,
        };
        patient(ServerConfig::of(name.to_owned(), Reach::WebSocket(http)))
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn client(config: ServerConfig) -> Client {
    Client::new(config, Arc::new(NoHandler)).unwrap()
}

/// Waits for something, but not for ever.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(PATIENCE, what).await.expect("it takes for ever")
}

/// Waits until something is so.
pub(crate) async fn until(what: impl Fn() -> bool) {
    soon(async {
        while !what() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

pub(crate) async fn call(client: &Client, tool: &str, arguments: Value) -> Result<Value, Error> {
    soon(client.call(tool, arguments, CallOptions::default())).await
}

/// The text that a tool answers with.
pub(crate) async fn said(client: &Client, tool: &str, arguments: Value) -> String {
    text(&call(client, tool, arguments).await.unwrap())
}

pub(crate) fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// What the server does with a message.
pub(crate) type Script = Arc<dyn Fn(&Stage, &Value) + Send + Sync>;

/// A server whose words the test writes.
pub(crate) struct Puppet {
    script: Script,
    opened: AtomicUsize,
    pub(crate) refuses: AtomicBool,
    heard: Arc<Mutex<Vec<Value>>>,
    stages: Mutex<Vec<Stage>>,
    left: Arc<AtomicUsize>,
}

/// One connection to it.
#[derive(Clone)]
pub(crate) struct Stage {
    /// Which connection it is, from 1.
    pub(crate) number: usize,
    inbox: Inbox,
    ended: Arc<OnceLock<()>>,
}

impl Drop for PuppetLink {
    fn drop(&mut self) {
        self.left.fetch_add(1, Ordering::SeqCst);
    }
}

struct PuppetLink {
    stage: Stage,
    script: Script,
    heard: Arc<Mutex<Vec<Value>>>,
    left: Arc<AtomicUsize>,
}

impl Puppet {
    pub(crate) fn new(script: impl Fn(&Stage, &Value) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            script: Arc::new(script),
            opened: AtomicUsize::new(0),
            refuses: AtomicBool::new(false),
            heard: Arc::default(),
            stages: Mutex::default(),
            left: Arc::default(),
        })
    }

    pub(crate) fn client(self: &Arc<Self>) -> Client {
        self.client_with(ServerConfig::stdio("puppet", "none", [""; 0]))
    }

    pub(crate) fn client_with(self: &Arc<Self>, config: ServerConfig) -> Client {
        Client::with_connector(config, self.clone(), Arc::new(NoHandler))
    }

    /// How often it was tried.
    pub(crate) fn opened(&self) -> usize {
        self.opened.load(Ordering::SeqCst)
    }

    /// How many connections were dropped.
    pub(crate) fn left(&self) -> usize {
        self.left.load(Ordering::SeqCst)
    }

    /// What it was told and asked of that method.
    pub(crate) fn heard(&self, method: &str) -> Vec<Value> {
        let heard = self.heard.lock().unwrap();
        let of = |message: &&Value| message["method"] == method;
        heard.iter().filter(of).cloned().collect()
    }

    /// What it was answered.
    pub(crate) fn answers(&self) -> Vec<Value> {
        let heard = self.heard.lock().unwrap();
        let of = |message: &&Value| message["method"].is_null();
        heard.iter().filter(of).cloned().collect()
    }

    /// The latest connection.
    pub(crate) fn stage(&self) -> Stage {
        self.stages.lock().unwrap().last().unwrap().clone()
    }
}

impl Connector for Puppet {
    fn open(
        &self,
        inbox: Inbox,
        _: Instant,
    ) -> BoxFuture<'_, Result<Arc<dyn Link>, TransportError>> {
        let number = self.opened.fetch_add(1, Ordering::SeqCst) + 1;
        let stage = Stage {
            number,
            inbox,
            ended: Arc::default(),
        };
        self.stages.lock().unwrap().push(stage.clone());
        let link = PuppetLink {
            stage,
            script: self.script.clone(),
            heard: self.heard.clone(),
            left: self.left.clone(),
        };
        let refuses = self.refuses.load(Ordering::SeqCst);
        Box::pin(async move {
            tokio::task::yield_now().await;
            if refuses {
                let reason = "refused".to_owned();
                return Err(TransportError::Unreachable { reason });
            }
            let link: Arc<dyn Link> = Arc::new(link);
            Ok(link)
        })
    }

    fn address(&self) -> String {
        "puppet".to_owned()
    }
}

impl Link for PuppetLink {
    fn send(&self, outgoing: Outgoing) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            if self.stage.ended.get().is_some() {
                return Err(TransportError::Closed {
                    reason: "it is over".to_owned(),
                    sent: Sent::No,
                });
            }
            let message: Value = serde_json::from_slice(&outgoing.body).unwrap();
            self.heard.lock().unwrap().push(message.clone());
            (self.script)(&self.stage, &message);
            Ok(())
        })
    }

    fn agreed(&self, _: &Agreed) {}

    fn abandon(&self, _: RequestId) -> bool {
        false
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async { self.stage.end("closed") })
    }
}

impl Stage {
    pub(crate) fn put(&self, message: &Value) {
        let bytes = message.to_string();
        for message in wire::read(bytes.as_bytes()).unwrap() {
            self.inbox.put(Incoming::Message {
                message,
                during: None,
            });
        }
    }

    pub(crate) fn answer(&self, to: &Value, result: &Value) {
        self.put(&json!({ "jsonrpc": "2.0", "id": to["id"], "result": result }));
    }

    pub(crate) fn refuse(&self, to: &Value, code: i64, message: &str) {
        let error = json!({ "code": code, "message": message });
        self.put(&json!({ "jsonrpc": "2.0", "id": to["id"], "error": error }));
    }

    pub(crate) fn say(&self, to: &Value, text: &str) {
        self.answer(
            to,
            &json!({ "content": [{ "type": "text", "text": text }] }),
        );
    }

    pub(crate) fn tell(&self, method: &str, params: &Value) {
        self.put(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    pub(crate) fn ask(&self, id: &Value, method: &str, params: &Value) {
        self.put(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    pub(crate) fn forget_session(&self) {
        let _ = self.ended.set(());
        self.inbox.put(Incoming::SessionLost);
    }

    /// The connection ends from the server's side.
    pub(crate) fn end(&self, reason: &str) {
        if self.ended.set(()).is_ok() {
            let reason = reason.to_owned();
            let sent = Sent::Maybe;
            let error = TransportError::Closed { reason, sent };
            self.inbox.put(Incoming::Closed(Some(error)));
        }
    }
}

/// Answers what every server of the handshake era answers. Whether that was it.
pub(crate) fn older(stage: &Stage, message: &Value) -> bool {
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

/// The same for the stateless era.
pub(crate) fn newer(stage: &Stage, message: &Value) -> bool {
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
