//! A server that is played in this process: both eras, tools that can be changed, and faults.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use deliberate_adapter::{
    transport::{
        Agreed, Connector, Era, Inbox, Incoming, Link, Outgoing, Sending, Sent, TransportError,
    },
    wire::RequestId,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

/// What a played server is like.
pub(crate) struct Player {
    era: Era,
    tools: Mutex<Vec<Value>>,
    /// It takes everything and answers nothing.
    hangs: bool,
    /// It can't be reached.
    dead: bool,
    /// It answers every call with an error.
    refuses: bool,
    /// Says of its list that it is not to be kept.
    pub(crate) fleeting: bool,
    /// Calls that wait until [`Player::go_on`].
    later: Mutex<Vec<(Arc<Wire>, RequestId, Value)>>,
    pub(crate) opened: AtomicUsize,
    /// Every message it got.
    pub(crate) got: Mutex<Vec<Value>>,
    links: Mutex<Vec<Arc<Wire>>>,
    next: AtomicU64,
    /// Calls that wait for what was asked, by the id of the question.
    waiting: Mutex<HashMap<u64, RequestId>>,
}

/// One connection to it.
struct Wire {
    player: Arc<Player>,
    inbox: Inbox,
}

pub(crate) struct PlayerConnector(pub(crate) Arc<Player>);

impl Player {
    pub(crate) fn new(era: Era, tools: Vec<Value>) -> Self {
        Self {
            era,
            tools: Mutex::new(tools),
            hangs: false,
            dead: false,
            refuses: false,
            fleeting: false,
            later: Mutex::default(),
            opened: AtomicUsize::new(0),
            got: Mutex::default(),
            links: Mutex::default(),
            next: AtomicU64::new(1),
            waiting: Mutex::default(),
        }
    }

    /// One that takes everything and answers nothing.
    pub(crate) fn hanging() -> Self {
        Self {
            hangs: true,
            ..Self::new(Era::Handshake, Vec::new())
        }
    }

    /// One that can't be reached.
    pub(crate) fn dead() -> Self {
        Self {
            dead: true,
            ..Self::new(Era::Handshake, Vec::new())
        }
    }

    /// One that answers every call with an error.
    pub(crate) fn refusing(tools: Vec<Value>) -> Self {
        Self {
            refuses: true,
            ..Self::new(Era::Handshake, tools)
        }
    }

    /// Goes on with calls that wait: it asks.
    pub(crate) fn go_on(&self) {
        let later = std::mem::take(&mut *self.later.lock().unwrap());
        for (wire, id, params) in later {
            let asking = json!({ "message": "Who?", "requestedSchema": { "type": "object" } });
            wire.asks(id, &params, "elicitation/create", &asking);
        }
    }

    /// Has other tools from now on, and says so.
    pub(crate) fn set_tools(&self, tools: Vec<Value>) {
        *self.tools.lock().unwrap() = tools;
        for link in self.links.lock().unwrap().iter() {
            link.put(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
        }
    }

    /// The requests it got of that method, in order.
    pub(crate) fn requests(&self, method: &str) -> Vec<Value> {
        let got = self.got.lock().unwrap();
        got.iter()
            .filter(|it| it["method"] == method)
            .cloned()
            .collect()
    }
}

impl Connector for PlayerConnector {
    fn open(
        &self,
        inbox: Inbox,
        _: Instant,
    ) -> BoxFuture<'_, Result<Arc<dyn Link>, TransportError>> {
        Box::pin(async move {
            self.0.opened.fetch_add(1, Ordering::Relaxed);
            if self.0.dead {
                let reason = "nobody is there".to_owned();
                return Err(TransportError::Unreachable { reason });
            }
            let player = self.0.clone();
            let wire = Arc::new(Wire { player, inbox });
            self.0.links.lock().unwrap().push(wire.clone());
            let link: Arc<dyn Link> = wire;
            Ok(link)
        })
    }

    fn address(&self) -> String {
        "played".to_owned()
    }
}

impl Link for Wire {
    fn send(&self, outgoing: Outgoing) -> BoxFuture<'_, Result<(), TransportError>> {
        let message: Value = serde_json::from_slice(&outgoing.body).unwrap();
        self.player.got.lock().unwrap().push(message.clone());
        if !self.player.hangs {
            match outgoing.kind {
                Sending::Request(id) => self.asked(id, &message),
                Sending::Response => self.replied(&message),
                Sending::Notification => {}
            }
        }
        Box::pin(async { Ok(()) })
    }

    fn agreed(&self, _: &Agreed) {}

    fn abandon(&self, _: RequestId) -> bool {
        false
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.inbox
                .put(Incoming::Closed(Some(TransportError::Closed {
                    reason: "closed".to_owned(),
                    sent: Sent::Maybe,
                })));
        })
    }
}

impl Wire {
    fn put(&self, message: &Value) {
        self.inbox.put_bytes(message.to_string().as_bytes(), None);
    }

    fn result(&self, id: RequestId, result: &Value) {
        self.put(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    fn error(&self, id: RequestId, code: i64, message: &str) {
        self.put(
            &json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }),
        );
    }

    fn asked(&self, id: RequestId, message: &Value) {
        let capabilities = json!({ "tools": { "listChanged": true } });
        let stateless = self.player.era == Era::Stateless;
        match message["method"].as_str().unwrap() {
            "server/discover" if stateless => self.result(
                id,
                &json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"],
                         "capabilities": capabilities,
                         "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "played", "version": "1" } } }),
            ),
            "initialize" if !stateless => self.result(
                id,
                &json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities,
                         "serverInfo": { "name": "played", "version": "1" } }),
            ),
            "tools/list" => {
                let tools = self.player.tools.lock().unwrap().clone();
                let mut list = json!({ "tools": tools });
                if self.player.fleeting {
                    list["ttlMs"] = json!(0);
                }
                self.result(id, &list);
            }
            "tools/call" if self.player.refuses => self.error(id, -32_603, "out of order"),
            "tools/call" => self.called(id, &message["params"]),
            "ping" => self.result(id, &json!({})),
            "subscriptions/listen" => {}
            other => self.error(id, -32_601, &format!("no method {other}")),
        }
    }

    fn called(&self, id: RequestId, params: &Value) {
        let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
        match params["name"].as_str().unwrap() {
            // Everything a result may hold, with fields nobody knows, in an odd order.
            "odd" => self.put_raw(&format!(
                r#"{{"jsonrpc":"2.0","result":{{"zeta":1,"content":[{{"text":"hi","new":{{"b":2,"a":1}},"type":"text"}}],"alpha":[],"_meta":{{"z/y":1,"io.modelcontextprotocol/serverInfo":{{"name":"played"}}}}}},"id":{id}}}"#
            )),
            "fail" => {
                let mut result = text("it went wrong");
                result["isError"] = json!(true);
                self.result(id, &result);
            }
            "refuse" => self.error(id, -32_603, "out of order"),
            "slow" => {
                let token = &params["_meta"]["progressToken"];
                for step in [1, 2] {
                    let params = json!({ "progressToken": token, "progress": step, "total": 2, "message": format!("step {step}") });
                    self.put(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }));
                }
                self.result(id, &text("done"));
            }
            "never" => {}
            // Until it is sent again, if it is.
            "ask_later" if params.get("inputResponses").is_none() => {
                let links = self.player.links.lock().unwrap();
                let this = links.iter().find(|link| std::ptr::eq(&raw const ***link, self));
                let waits = (this.unwrap().clone(), id, params.clone());
                self.player.later.lock().unwrap().push(waits);
            }
            "ask_later" => self.asks(id, params, "elicitation/create", &json!({})),
            "ask" => self.asks(id, params, "elicitation/create", &json!({ "message": "Who?",
                "requestedSchema": { "type": "object", "properties": { "name": { "type": "string" } } } })),
            "think" => self.asks(id, params, "sampling/createMessage", &json!({ "messages": [], "maxTokens": 5 })),
            "where" => self.asks(id, params, "roots/list", &json!({})),
            _ => self.result(id, &text(&params["arguments"].to_string())),
        }
    }

    fn asks(&self, id: RequestId, params: &Value, method: &str, asking: &Value) {
        if self.player.era == Era::Handshake {
            let question = self.player.next.fetch_add(1, Ordering::Relaxed);
            self.player.waiting.lock().unwrap().insert(question, id);
            self.put(
                &json!({ "jsonrpc": "2.0", "id": question, "method": method, "params": asking }),
            );
            return;
        }
        match params.get("inputResponses") {
            Some(given) => {
                let state = &params["requestState"];
                let told = json!({ "resultType": "complete", "content": [{ "type": "text",
                    "text": json!({ "given": given, "state": state }).to_string() }] });
                self.result(id, &told);
            }
            None => self.result(
                id,
                &json!({ "resultType": "input_required", "requestState": "upstream state",
                         "inputRequests": { "q": { "method": method, "params": asking } } }),
            ),
        }
    }

    /// The client answered something that was asked.
    fn replied(&self, message: &Value) {
        let question = message["id"].as_u64().unwrap();
        let id = self.player.waiting.lock().unwrap().remove(&question);
        if let Some(id) = id {
            let told = message
                .get("result")
                .or_else(|| message.get("error"))
                .unwrap();
            self.result(
                id,
                &json!({ "content": [{ "type": "text", "text": told.to_string() }] }),
            );
        }
    }

    fn put_raw(&self, text: &str) {
        self.inbox.put_bytes(text.as_bytes(), None);
    }
}
