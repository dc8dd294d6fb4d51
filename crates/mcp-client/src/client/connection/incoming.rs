//! Routes the messages that a server sends on a connection: answers, requests and notifications.

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

/// The server requests that are answered at the same time; further ones are rejected.
const MAX_CONCURRENT_REQUESTS: usize = 32;
/// The server requests whose answers are being prepared or sent. A server that exceeds this does
/// not read its answers, and its further requests are ignored.
const MAX_OPEN_REQUESTS: usize = 1_000;

/// The state that the transport's reader updates.
pub(crate) struct ConnectionState {
    server: String,
    pub(crate) pending: PendingRequests,
    pub(crate) transport: OnceLock<Weak<dyn McpTransport>>,
    handler: Arc<dyn ClientHandler>,
    /// Receives the events that concern the client as a whole.
    on_event: Box<dyn Fn(ConnectionEvent) + Send + Sync>,
    handler_slots: Semaphore,
    request_slots: Arc<Semaphore>,
    server_requests: Mutex<HashMap<String, CancellationToken>>,
    /// Cancelled when no further message will arrive, or none should be sent.
    pub(crate) ended: CancellationToken,
    pub(crate) end_reason: OnceLock<String>,
    pub(crate) garbage: AtomicU64,
    /// Whether the connection uses the stateless era, in which servers send no requests.
    pub(crate) is_stateless: AtomicBool,
}

/// An event that concerns the client as a whole.
#[derive(Debug)]
pub(crate) enum ConnectionEvent {
    Server(ServerEvent),
    Closed,
    /// The server no longer knows the session.
    SessionLost,
    /// The server reports changes from now on. Earlier changes were not reported.
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

    /// Creates the sink that the transport delivers incoming messages to.
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
            IncomingEvent::SessionLost => self.end("the server no longer knows the session", false),
            IncomingEvent::Closed(error) => {
                if let Some(error @ TransportError::TooLarge { .. }) = &error {
                    self.pending.fail_only(error);
                }
                let reason = error.map_or_else(
                    || "the server closed the connection".to_owned(),
                    |error| match error {
                        TransportError::Closed { reason, .. } => reason,
                        other => other.to_string(),
                    },
                );
                self.end(&reason, true);
            }
        }
    }

    /// Stops sending on this connection. Pending requests may still be answered, unless `for_good`
    /// says that nothing more will arrive.
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
                    tracing::debug!(target: "deliberate::upstream", server = self.server, id, "answer to an unknown request");
                }
            }
            RpcMessage::Notification { method, params } => {
                self.handle_notification(&method, &params, during);
            }
            RpcMessage::Request { id, method, params } => {
                let Ok(open) = self.request_slots.clone().try_acquire_owned() else {
                    self.garbage.fetch_add(1, Ordering::Relaxed);
                    return;
                };
                let answer = self.clone().answer_request(id, method, params, during);
                // The server is owed an answer even if the request is not understood.
                tokio::spawn(async move {
                    answer.await;
                    drop(open);
                });
            }
        }
    }

    fn handle_notification(&self, method: &str, params: &Value, during: Option<RequestId>) {
        let changed = match method {
            "notifications/progress" => return self.handle_progress(params),
            "notifications/message" => {
                return match self.pending.handler_for(during) {
                    RequestOwner::Call(handler) => handler.log(&self.server, params),
                    RequestOwner::Client | RequestOwner::Ambiguous => {
                        self.handler.log(&self.server, params);
                    }
                };
            }
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

    /// Handles `notifications/cancelled`. Servers of 2026-07-28 send no requests; with this
    /// notification they cancel the answer to a request of ours.
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

    /// Answers a request of the server.
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
                tracing::debug!(target: "deliberate::upstream", server = self.server, %error, "could not send an answer");
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
            return Err(RpcError::new(code::INTERNAL, "too many requests at once"));
        };
        let handler = match self.pending.handler_for(during) {
            RequestOwner::Call(handler) => handler,
            RequestOwner::Client => self.handler.clone(),
            RequestOwner::Ambiguous => {
                let why = "several calls are running, and the request does not say which of them it belongs to";
                return Err(RpcError::new(code::INTERNAL, why));
            }
        };
        let _answering = self.pending.suspend_deadlines(during);
        self.call_handler(handler.as_ref(), method, params).await
    }

    /// Passes a request of the server to a handler.
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
                format!("unknown method {other:?}"),
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
