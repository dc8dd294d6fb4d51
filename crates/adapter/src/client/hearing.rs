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
    Changed, Handler, Progress,
    connection::outgoing,
    pending::{Lost, Pending, Whose},
};
use crate::{
    transport::{Inbox, Incoming, Link, Sending, TransportError},
    wire::{self, Message, RequestId, RpcError, code},
};

/// Questions of a server that are answered at once; more are refused.
const QUESTIONS_AT_ONCE: usize = 32;
/// Questions whose answers are being made or sent. Beyond that a server asks without listening,
/// and what it asks is left.
const QUESTIONS_OPEN: usize = 1_000;

/// What the link's reader works on.
pub(super) struct Shared {
    server: String,
    pub(super) pending: Pending,
    pub(super) link: OnceLock<Weak<dyn Link>>,
    handler: Arc<dyn Handler>,
    /// Told of what concerns the client as a whole.
    hears: Box<dyn Fn(News) + Send + Sync>,
    questions: Semaphore,
    open: Arc<Semaphore>,
    asked: Mutex<HashMap<String, CancellationToken>>,
    /// Cancelled when nothing more will come, or nothing more should be sent.
    pub(super) ended: CancellationToken,
    pub(super) why_ended: OnceLock<String>,
    pub(super) garbage: AtomicU64,
    /// Whether it speaks the era in which servers ask nothing.
    pub(super) asks_nothing: AtomicBool,
}

/// What concerns the client as a whole.
#[derive(Debug)]
pub(super) enum News {
    Changed(Changed),
    Ended,
    /// The server has forgotten the session.
    Forgotten,
    /// Changes are told from now on. What changed before was not.
    Listening,
}

impl Shared {
    pub(super) fn new(
        server: String,
        handler: Arc<dyn Handler>,
        hears: impl Fn(News) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            server,
            pending: Pending::default(),
            link: OnceLock::new(),
            handler,
            hears: Box::new(hears),
            questions: Semaphore::new(QUESTIONS_AT_ONCE),
            open: Arc::new(Semaphore::new(QUESTIONS_OPEN)),
            asked: Mutex::default(),
            ended: CancellationToken::new(),
            why_ended: OnceLock::new(),
            garbage: AtomicU64::new(0),
            asks_nothing: AtomicBool::new(false),
        })
    }

    /// Where the link puts what comes.
    pub(super) fn inbox(self: &Arc<Self>) -> Inbox {
        let shared = self.clone();
        Inbox::new(move |incoming| shared.take(incoming))
    }

    fn take(self: &Arc<Self>, incoming: Incoming) {
        match incoming {
            Incoming::Message { message, during } => self.take_message(message, during),
            Incoming::Failed { id, error } => {
                self.pending.end(id, Err(Lost::Transport(error)));
            }
            Incoming::Garbage(what) => {
                self.garbage.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(target: "deliberate::upstream", server = self.server, what, "not a message");
            }
            Incoming::SessionLost => self.end("the server has forgotten the session", false),
            Incoming::Closed(error) => {
                if let Some(error @ TransportError::TooLarge { .. }) = &error {
                    self.pending.end_only(error);
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
    pub(super) fn end(&self, reason: &str, for_good: bool) {
        if self.why_ended.set(reason.to_owned()).is_ok() {
            self.ended.cancel();
            let news = if for_good {
                News::Ended
            } else {
                News::Forgotten
            };
            (self.hears)(news);
        }
        if for_good {
            self.pending.end_all(reason);
        }
    }

    fn take_message(self: &Arc<Self>, message: Message, during: Option<RequestId>) {
        match message {
            Message::Response { id, outcome } => {
                if !self.pending.end(id, outcome.map_err(Lost::Rpc)) {
                    tracing::debug!(target: "deliberate::upstream", server = self.server, id, "an answer that nobody waits for");
                }
            }
            Message::Notification { method, params } => self.told(&method, &params),
            Message::Request { id, method, params } => {
                let Ok(open) = self.open.clone().try_acquire_owned() else {
                    self.garbage.fetch_add(1, Ordering::Relaxed);
                    return;
                };
                let answer = self.clone().answer(id, method, params, during);
                // An answer is due even while the question is not understood.
                tokio::spawn(async move {
                    answer.await;
                    drop(open);
                });
            }
        }
    }

    fn told(&self, method: &str, params: &Value) {
        let changed = match method {
            "notifications/progress" => return self.told_progress(params),
            "notifications/message" => return self.handler.log(&self.server, params),
            "notifications/cancelled" => {
                let id = params.get("requestId").map(Value::to_string);
                let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(question) = id.and_then(|id| asked.get(&id)) {
                    question.cancel();
                }
                drop(asked);
                return self.taken_back(params);
            }
            "notifications/subscriptions/acknowledged" => return (self.hears)(News::Listening),
            "notifications/tools/list_changed" => Changed::Tools,
            "notifications/prompts/list_changed" => Changed::Prompts,
            "notifications/resources/list_changed" => Changed::Resources,
            "notifications/resources/updated" => match params.get("uri").and_then(Value::as_str) {
                Some(uri) => Changed::Resource(uri.to_owned()),
                None => return,
            },
            _ => return,
        };
        (self.hears)(News::Changed(changed));
    }

    /// Servers of 2026-07-28 ask nothing; what they take back is the answer to a request of ours.
    fn taken_back(&self, params: &Value) {
        let id = params.get("requestId").and_then(Value::as_u64);
        if let (Some(id), true) = (id, self.asks_nothing.load(Ordering::Relaxed)) {
            self.pending.end(id, Err(Lost::TakenBack));
        }
    }

    fn told_progress(&self, params: &Value) {
        let id = match params.get("progressToken") {
            Some(Value::Number(number)) => number.as_u64(),
            Some(Value::String(text)) => text.parse().ok(),
            _ => None,
        };
        let (Some(id), Some(done)) = (id, params.get("progress").and_then(Value::as_f64)) else {
            return;
        };
        let progress = Progress {
            done,
            total: params.get("total").and_then(Value::as_f64),
            message: (params.get("message").and_then(Value::as_str)).map(str::to_owned),
        };
        self.pending.progressed(id, progress);
    }

    /// Answers what the server asks.
    async fn answer(
        self: Arc<Self>,
        id: Value,
        method: String,
        params: Value,
        during: Option<RequestId>,
    ) {
        let taken_back = CancellationToken::new();
        let key = id.to_string();
        self.with_asked(|asked| asked.insert(key.clone(), taken_back.clone()));
        let outcome = tokio::select! {
            biased;
            () = taken_back.cancelled() => None,
            () = self.ended.cancelled() => None,
            outcome = self.outcome(&method, params, during) => Some(outcome),
        };
        self.with_asked(|asked| asked.remove(&key));
        let link = self.link.get().and_then(Weak::upgrade);
        if let (Some(outcome), Some(link)) = (outcome, link) {
            let body = wire::response(&id, &outcome);
            let answer = outgoing(body, Sending::Response, None);
            if let Err(error) = link.send(answer).await {
                tracing::debug!(target: "deliberate::upstream", server = self.server, %error, "an answer could not be sent");
            }
        }
    }

    async fn outcome(
        &self,
        method: &str,
        params: Value,
        during: Option<RequestId>,
    ) -> Result<Value, RpcError> {
        if method == "ping" {
            return Ok(json!({}));
        }
        let Ok(_place) = self.questions.try_acquire() else {
            return Err(RpcError::new(code::INTERNAL, "too many questions at once"));
        };
        let handler = match self.pending.handler_for(during) {
            Whose::Calls(handler) => handler,
            Whose::Clients => self.handler.clone(),
            Whose::Unclear => {
                let why = "several calls run, and it can't be told which of them asks";
                return Err(RpcError::new(code::INTERNAL, why));
            }
        };
        let _answering = self.pending.answering(during);
        self.ask_handler(handler.as_ref(), method, params).await
    }

    /// Asks a handler what the server asks.
    pub(super) async fn ask_handler(
        &self,
        handler: &dyn Handler,
        method: &str,
        params: Value,
    ) -> Result<Value, RpcError> {
        match method {
            "sampling/createMessage" => handler.sample(&self.server, params).await,
            "elicitation/create" => handler.elicit(&self.server, params).await,
            "roots/list" => Ok(json!({ "roots": handler.roots(&self.server).await })),
            other => Err(RpcError::new(
                code::METHOD_NOT_FOUND,
                format!("there is no method {other:?}"),
            )),
        }
    }

    fn with_asked<T>(&self, act: impl FnOnce(&mut HashMap<String, CancellationToken>) -> T) -> T {
        act(&mut self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
