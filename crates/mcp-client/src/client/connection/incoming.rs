//! What a server says on a connection, answers or not, and where that goes.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{
    outgoing_message,
    pending_requests::{LostResponse, PendingRequests, RequestOwner},
};
use crate::{
    client::{ClientHandler, McpProgress, ServerEvent},
    jsonrpc::{self, RequestId, RpcError, RpcMessage, code},
    transport::{IncomingEvent, IncomingSink, McpTransport, MessageKind, TransportError},
};

/// Questions of a server that are answered at once; more are refused.
const MAX_CONCURRENT_REQUESTS: usize = 32;
/// Questions whose answers are being made or sent. Beyond that a server asks without listening,
/// and what it asks is left.
const MAX_OPEN_REQUESTS: usize = 1_000;

/// What the link's reader works on.
pub(crate) struct ConnectionState {
    server: String,
    pub(crate) pending: PendingRequests,
    pub(crate) transport: OnceLock<Weak<dyn McpTransport>>,
    handler: Arc<dyn ClientHandler>,
    /// Told of what concerns the client as a whole.
    on_event: Box<dyn Fn(ConnectionEvent) + Send + Sync>,
    handler_slots: Semaphore,
    request_slots: Arc<Semaphore>,
    server_requests: Mutex<HashMap<String, CancellationToken>>,
    /// Cancelled when nothing more will come, or nothing more should be sent.
    pub(crate) ended: CancellationToken,
    pub(crate) end_reason: OnceLock<String>,
    pub(crate) garbage: AtomicU64,
    /// Whether it speaks the era in which servers ask nothing.
    pub(crate) is_stateless: AtomicBool,
}

/// What concerns the client as a whole.
#[derive(Debug)]
pub(crate) enum ConnectionEvent {
    Server(ServerEvent),
    Closed,
    /// The server has forgotten the session.
    SessionLost,
    /// Changes are told from now on. What changed before was not.
    Subscribed,
}

impl ConnectionState {
    pub(crate) fn new(
        server: String,
        handler: Arc<dyn ClientHandler>,
        hears: impl Fn(ConnectionEvent) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            server,
            pending: PendingRequests::default(),
            transport: OnceLock::new(),
            handler,
            on_event: Box::new(hears),
            handler_slots: Semaphore::new(MAX_CONCURRENT_REQUESTS),
            request_slots: Arc::new(Semaphore::new(MAX_OPEN_REQUESTS)),
            server_requests: Mutex::default(),
            ended: CancellationToken::new(),
            end_reason: OnceLock::new(),
            garbage: AtomicU64::new(0),
            is_stateless: AtomicBool::new(false),
        })
    }

    /// Where the link puts what comes.
    pub(crate) fn incoming_sink(self: &Arc<Self>) -> IncomingSink {
        let shared = self.clone();
        IncomingSink::new(move |incoming| shared.handle_incoming(incoming))
    }

    fn handle_incoming(self: &Arc<Self>, incoming: IncomingEvent) {
        match incoming {
            IncomingEvent::Message {
                message,
                request_id: during,
            } => self.handle_message(message, during),
            IncomingEvent::Failed { id, error } => {
                self.pending
                    .complete(id, Err(LostResponse::Transport(error)));
            }
            IncomingEvent::Garbage(what) => {
                self.garbage.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(target: "deliberate::upstream", server = self.server, what, "not a message");
            }
            IncomingEvent::SessionLost => self.end("the server has forgotten the session", false),
            IncomingEvent::Closed(error) => {
                if let Some(error @ TransportError::TooLarge { .. }) = &error {
                    self.pending.fail_only(error);
                }
                let reason = error.map_or_else(
                    || "the server ended it".to_owned(),
                    |error| match error {
                        TransportError::Closed { reason, .. } => reason,
                        other => other.to_string(),
                    },
                );
                self.end(&reason, true);
            }
        }
    }

    /// Nothing more is sent on this connection. What waits may still be answered, unless nothing
    /// more comes either.
    pub(crate) fn end(&self, reason: &str, for_good: bool) {
        if self.end_reason.set(reason.to_owned()).is_ok() {
            self.ended.cancel();
            let news = if for_good {
                ConnectionEvent::Closed
            } else {
                ConnectionEvent::SessionLost
            };
            (self.on_event)(news);
        }
        if for_good {
            self.pending.fail_all(reason);
        }
    }

    fn handle_message(self: &Arc<Self>, message: RpcMessage, during: Option<RequestId>) {
        match message {
            RpcMessage::Response { id, outcome } => {
                if !self
                    .pending
                    .complete(id, outcome.map_err(LostResponse::Rpc))
                {
                    tracing::debug!(target: "deliberate::upstream", server = self.server, id, "an answer that nobody waits for");
                }
            }
            RpcMessage::Notification { method, params } => {
                self.handle_notification(&method, &params)
            }
            RpcMessage::Request { id, method, params } => {
                let Ok(open) = self.request_slots.clone().try_acquire_owned() else {
                    self.garbage.fetch_add(1, Ordering::Relaxed);
                    return;
                };
                let answer = self.clone().answer_request(id, method, params, during);
                // An answer is due even while the question is not understood.
                tokio::spawn(async move {
                    answer.await;
                    drop(open);
                });
            }
        }
    }

    fn handle_notification(&self, method: &str, params: &Value) {
        let changed = match method {
            "notifications/progress" => return self.handle_progress(params),
            "notifications/message" => return self.handler.log(&self.server, params),
            "notifications/cancelled" => {
                let id = params.get("requestId").map(Value::to_string);
                let asked = self
                    .server_requests
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                if let Some(question) = id.and_then(|id| asked.get(&id)) {
                    question.cancel();
                }
                drop(asked);
                return self.handle_cancelled(params);
            }
            "notifications/subscriptions/acknowledged" => {
                return (self.on_event)(ConnectionEvent::Subscribed);
            }
            "notifications/tools/list_changed" => ServerEvent::ToolsChanged,
            "notifications/prompts/list_changed" => ServerEvent::PromptsChanged,
            "notifications/resources/list_changed" => ServerEvent::ResourcesChanged,
            "notifications/resources/updated" => match params.get("uri").and_then(Value::as_str) {
                Some(uri) => ServerEvent::ResourceUpdated(uri.to_owned()),
                None => return,
            },
            _ => return,
        };
        (self.on_event)(ConnectionEvent::Server(changed));
    }

    /// Servers of 2026-07-28 ask nothing; what they take back is the answer to a request of ours.
    fn handle_cancelled(&self, params: &Value) {
        let id = params.get("requestId").and_then(Value::as_u64);
        if let (Some(id), true) = (id, self.is_stateless.load(Ordering::Relaxed)) {
            self.pending.complete(id, Err(LostResponse::Cancelled));
        }
    }

    fn handle_progress(&self, params: &Value) {
        let id = match params.get("progressToken") {
            Some(Value::Number(number)) => number.as_u64(),
            Some(Value::String(text)) => text.parse().ok(),
            _ => None,
        };
        let (Some(id), Some(done)) = (id, params.get("progress").and_then(Value::as_f64)) else {
            return;
        };
        let progress = McpProgress {
            done,
            total: params.get("total").and_then(Value::as_f64),
            message: (params.get("message").and_then(Value::as_str)).map(str::to_owned),
        };
        self.pending.on_progress(id, progress);
    }

    /// Answers what the server asks.
    async fn answer_request(
        self: Arc<Self>,
        id: Value,
        method: String,
        params: Value,
        during: Option<RequestId>,
    ) {
        let taken_back = CancellationToken::new();
        let key = id.to_string();
        self.with_server_requests(|asked| asked.insert(key.clone(), taken_back.clone()));
        let outcome = tokio::select! {
            biased;
            () = taken_back.cancelled() => None,
            () = self.ended.cancelled() => None,
            outcome = self.handle_request(&method, params, during) => Some(outcome),
        };
        self.with_server_requests(|asked| asked.remove(&key));
        let link = self.transport.get().and_then(Weak::upgrade);
        if let (Some(outcome), Some(link)) = (outcome, link) {
            let body = jsonrpc::encode_response(&id, &outcome);
            let answer = outgoing_message(body, MessageKind::Response, None);
            if let Err(error) = link.send(answer).await {
                tracing::debug!(target: "deliberate::upstream", server = self.server, %error, "an answer could not be sent");
            }
        }
    }

    async fn handle_request(
        &self,
        method: &str,
        params: Value,
        during: Option<RequestId>,
    ) -> Result<Value, RpcError> {
        if method == "ping" {
            return Ok(json!({}));
        }
        let Ok(_place) = self.handler_slots.try_acquire() else {
            return Err(RpcError::new(code::INTERNAL, "too many questions at once"));
        };
        let handler = match self.pending.handler_for(during) {
            RequestOwner::Call(handler) => handler,
            RequestOwner::Client => self.handler.clone(),
            RequestOwner::Ambiguous => {
                let why = "several calls run, and it can't be told which of them asks";
                return Err(RpcError::new(code::INTERNAL, why));
            }
        };
        let _answering = self.pending.hold_deadlines(during);
        self.call_handler(handler.as_ref(), method, params).await
    }

    /// Asks a handler what the server asks.
    pub(crate) async fn call_handler(
        &self,
        handler: &dyn ClientHandler,
        method: &str,
        params: Value,
    ) -> Result<Value, RpcError> {
        match method {
            "sampling/createMessage" => handler.sample(&self.server, params).await,
            "elicitation/create" => handler.elicit(&self.server, params).await,
            "roots/list" => Ok(json!({ "roots": handler.list_roots(&self.server).await })),
            other => Err(RpcError::new(
                code::METHOD_NOT_FOUND,
                format!("there is no method {other:?}"),
            )),
        }
    }

    fn with_server_requests<T>(
        &self,
        act: impl FnOnce(&mut HashMap<String, CancellationToken>) -> T,
    ) -> T {
        act(&mut self
            .server_requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner))
    }
}
