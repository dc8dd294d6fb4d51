//! A client on the other end of a pipe, in this process, and a registry that remembers.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use deliberate_core::{Change, Mode, Session, SystemClock, SystemIds, Timestamp};
use deliberate_reasoning::register;
use deliberate_server::{
    Face, FaceOptions, SubscriptionLimits, Subscriptions,
    stdio::{self, StdioOptions},
};
use deliberate_store::{
    Store,
    sqlite::{Durability, SqliteOptions, SqliteStore},
};
use deliberate_thinker::{Ask, Reply, ThinkError, Thinker};
use deliberate_toolkit::{Bounds, OneMind, Parts, Registry};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines},
    task::JoinHandle,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

/// Longer than anything takes on a busy machine; only a hang exceeds it.
const PATIENCE: Duration = Duration::from_mins(1);

/// Both eras of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// A model that always says the same.
struct Steady;

impl Thinker for Steady {
    fn name(&self) -> &'static str {
        "steady"
    }

    fn think<'a>(&'a self, ask: &'a Ask, _: Instant) -> BoxFuture<'a, Result<Reply, ThinkError>> {
        let mut said =
            json!({ "thought": "so be it", "confidence_percent": 70, "weakest_point": "-" });
        if ask.schema["properties"]["approaches"].is_object() {
            let approach = |name: &str| json!({ "name": name, "thought": name, "rationale": "-", "confidence_percent": 50 });
            said["approaches"] = json!([approach("one"), approach("two")]);
            said["recommended"] = json!(1);
            said["relations"] = json!([]);
        }
        let text = said.to_string();
        Box::pin(async move {
            Ok(Reply {
                text,
                ..Reply::default()
            })
        })
    }
}

/// A server that remembers, gone when the test ends.
pub(crate) struct House {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) face: Face,
    pub(crate) subscriptions: Arc<Subscriptions>,
    pub(crate) registry: Arc<Registry>,
    _folder: tempfile::TempDir,
}

impl House {
    pub(crate) fn new() -> Self {
        Self::with(SubscriptionLimits::default(), register)
    }

    /// With what is put into its registry.
    pub(crate) fn with(
        limits: SubscriptionLimits,
        furnish: impl FnOnce(Registry) -> Registry,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::new(SqliteOptions {
            path: folder.path().join("store.db"),
            readers: 2,
            durability: Durability::Relaxed,
        }));
        let subscriptions = Arc::new(Subscriptions::new(limits));
        let registry = Registry::new(Parts {
            store: store.clone(),
            minds: Arc::new(OneMind(Some(Arc::new(Steady)))),
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            bounds: Bounds::default(),
        });
        let registry = Arc::new(furnish(registry).heard_by(subscriptions.clone()));
        let face = Face::new(registry.clone(), FaceOptions::default())
            .with_subscriptions(subscriptions.clone());
        Self {
            store,
            face,
            subscriptions,
            registry,
            _folder: folder,
        }
    }

    pub(crate) async fn client(&self, era: Era) -> Client {
        Client::of(self.face.clone(), era).await
    }

    /// Sessions `s000`, `s001`, … of which the last is the newest.
    pub(crate) async fn has_sessions(&self, count: usize) {
        let changes = (0..count).map(|number| {
            let at = format!("2026-01-01T{:02}:{:02}:00Z", number / 60, number % 60);
            Change::AddSession(session(&format!("s{number:03}"), &at))
        });
        self.store.commit(changes.collect()).await.unwrap();
    }
}

pub(crate) fn session(id: &str, at: &str) -> Session {
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

/// A client that keeps what it did not wait for.
pub(crate) struct Client {
    era: Era,
    /// What it says it can do.
    offers: Value,
    input: Option<DuplexStream>,
    output: Lines<BufReader<DuplexStream>>,
    kept: VecDeque<Value>,
    next_id: u64,
    served: JoinHandle<()>,
    pub(crate) hello: Value,
}

impl Client {
    pub(crate) async fn of(face: Face, era: Era) -> Self {
        Self::offering(face, era, json!({})).await
    }

    pub(crate) async fn offering(face: Face, era: Era, offers: Value) -> Self {
        let (input, their_input) = tokio::io::duplex(64 * 1024);
        let (their_output, output) = tokio::io::duplex(64 * 1024);
        let options = StdioOptions {
            line_bytes: 4 * 1024 * 1024,
            grace: PATIENCE,
            shutdown: CancellationToken::new(),
            left: CancellationToken::new(),
        };
        let served = tokio::spawn(async move {
            stdio::serve_on(face, options, their_input, their_output)
                .await
                .unwrap();
        });
        let mut client = Self {
            era,
            offers,
            input: Some(input),
            output: BufReader::new(output).lines(),
            kept: VecDeque::new(),
            next_id: 0,
            served,
            hello: Value::Null,
        };
        client.hello = client.open().await;
        client
    }

    async fn open(&mut self) -> Value {
        if self.era == Era::Modern {
            return self.ask("server/discover", json!({})).await;
        }
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": self.offers,
            "clientInfo": { "name": "test", "version": "0" },
        });
        let hello = self.ask("initialize", hello).await;
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.send(&ready).await;
        // Answered after the notification was taken.
        self.ask("ping", json!({})).await;
        hello
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        let input = self.input.as_mut().unwrap();
        timeout(PATIENCE, input.write_all(line.as_bytes()))
            .await
            .unwrap()
            .unwrap();
    }

    /// Sends a request and does not wait; its id.
    pub(crate) async fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        if self.era == Era::Modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
                "io.modelcontextprotocol/clientCapabilities": self.offers,
            });
        }
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        id
    }

    async fn read(&mut self) -> Option<Value> {
        let line = timeout(PATIENCE, self.output.next_line()).await;
        let line = line.expect("something comes").unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// The whole answer to a request.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.read().await.expect("an answer");
            if message["id"] == id {
                return message;
            }
            self.kept.push_back(message);
        }
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.answer(id).await
    }

    /// A request that goes well.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.request(method, params).await;
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].take()
    }

    /// A request that goes wrong: code and message.
    pub(crate) async fn refused(&mut self, method: &str, params: Value) -> (i64, String) {
        let answer = self.request(method, params).await;
        let error = &answer["error"];
        let code = error["code"].as_i64();
        let code = code.unwrap_or_else(|| panic!("{method}: {answer}"));
        (code, error["message"].as_str().unwrap().to_owned())
    }

    /// Calls a tool, which goes well.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let mut result = self.ask("tools/call", params).await;
        assert_ne!(result["isError"], true, "{result}");
        result["structuredContent"].take()
    }

    pub(crate) async fn read_text(&mut self, uri: &str) -> String {
        let result = self.ask("resources/read", json!({ "uri": uri })).await;
        result["contents"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Every page of a list.
    pub(crate) async fn pages(&mut self, method: &str, items: &str) -> Vec<Vec<Value>> {
        let mut pages = Vec::new();
        let mut params = json!({});
        loop {
            let mut page = self.ask(method, params).await;
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
    pub(crate) async fn told(&mut self, method: &str) -> Value {
        if let Some(place) = self.kept.iter().position(|it| it["method"] == method) {
            return self.kept.remove(place).unwrap();
        }
        loop {
            let message = self.read().await.expect("a notification");
            if message["method"] == method {
                return message;
            }
            self.kept.push_back(message);
        }
    }

    /// Waits until the server has had time to tell, and gives all it told.
    pub(crate) async fn all_told(&mut self) -> Vec<Value> {
        tokio::time::sleep(Duration::from_millis(400)).await;
        self.request("tools/list", json!({})).await;
        let kept = self.kept.drain(..);
        kept.filter(|it| it["method"].is_string()).collect()
    }

    /// The client leaves; everything that still came.
    pub(crate) async fn leave(mut self) -> Vec<Value> {
        drop(self.input.take());
        while let Some(message) = self.read().await {
            self.kept.push_back(message);
        }
        timeout(PATIENCE, self.served).await.unwrap().unwrap();
        self.kept.into_iter().collect()
    }
}
