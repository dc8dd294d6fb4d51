//! One live connection: what is sent on it, and waited for. What comes is heard elsewhere.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use serde_json::{Map, Value, json, value::RawValue};
use tokio::{sync::oneshot, time::Instant};

use super::{
    Handler, ServerSide,
    hearing::Shared,
    options::ProgressListener,
    pending::{Lost, Moved, Outcome, Waiting},
};
use crate::{
    transport::{Agreed, Era, Link, Outgoing, Sending, Sent, TransportError},
    wire::{self, RequestId},
};

/// How long is waited to hear whether a message was sent, once its connection has ended.
const LAST_WORD: Duration = Duration::from_secs(1);

/// A live connection and what was agreed on it.
pub(super) struct Connection {
    pub(super) link: Arc<dyn Link>,
    pub(super) shared: Arc<Shared>,
    side: OnceLock<Arc<ServerSide>>,
    pub(super) since: Instant,
    /// Whether its end was taken note of.
    pub(super) mourned: AtomicBool,
}

/// A request that is to be made.
pub(super) struct Asking {
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
    pub(super) name: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) answer: Option<Duration>,
    pub(super) longest: Option<Duration>,
    pub(super) progress: Option<ProgressListener>,
    pub(super) wants_progress: bool,
    pub(super) handler: Option<Arc<dyn Handler>>,
    /// Whether the server is told when nobody waits any more.
    pub(super) cancellable: bool,
}

/// Why a request has no answer.
pub(super) enum Unanswered {
    Lost(Lost),
    Timeout { after: Duration, sent: Sent },
}

impl Connection {
    pub(super) fn new(link: Arc<dyn Link>, shared: Arc<Shared>) -> Self {
        // Set once, here.
        drop(shared.link.set(Arc::downgrade(&link)));
        Self {
            link,
            shared,
            side: OnceLock::new(),
            since: Instant::now(),
            mourned: AtomicBool::new(false),
        }
    }

    pub(super) fn agree(&self, side: ServerSide) {
        self.link.agreed(&Agreed {
            version: side.version.clone(),
            era: side.era,
        });
        let asks_nothing = side.era == Era::Stateless;
        (self.shared.asks_nothing).store(asks_nothing, Ordering::Relaxed);
        drop(self.side.set(Arc::new(side)));
    }

    /// What the server said of itself; there from the end of the handshake.
    pub(super) fn side(&self) -> Option<&Arc<ServerSide>> {
        self.side.get()
    }

    pub(super) fn is_stateless(&self) -> bool {
        self.side().is_some_and(|side| side.era == Era::Stateless)
    }

    pub(super) fn is_live(&self) -> bool {
        !self.shared.ended.is_cancelled()
    }

    pub(super) async fn notify(&self, method: &str, params: &Value) -> Result<(), TransportError> {
        let body = wire::notification(method, params);
        let message = outgoing(body, Sending::Notification, Some(method));
        self.link.send(message).await
    }

    /// Makes a request and waits for its answer.
    pub(super) async fn request(&self, mut asking: Asking) -> Result<Box<RawValue>, Unanswered> {
        let id = self.shared.pending.fresh_id();
        if asking.wants_progress {
            let meta = asking.params.entry("_meta").or_insert_with(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                meta.insert("progressToken".to_owned(), id.into());
            }
        }
        let (answer, answered) = oneshot::channel();
        let moved = Arc::new(Moved::default());
        self.shared.pending.add(
            id,
            Waiting {
                answer,
                moved: moved.clone(),
                progress: asking.progress.take(),
                handler: asking.handler.take(),
                leads_to_questions: asking.wants_progress,
                listens: asking.answer.is_none(),
            },
        );
        let body = wire::request(id, &asking.method, &Value::Object(asking.params));
        let mut message = outgoing(body, Sending::Request(id), Some(&asking.method));
        message.name = asking.name;
        message.params = asking.headers;
        let mut given_up = GivenUp {
            connection: self,
            id,
            sent: false,
            cancellable: asking.cancellable,
            reason: "no longer wanted",
        };
        let limits = (asking.answer, asking.longest);
        let outcome = self
            .exchange(message, answered, &moved, limits, &mut given_up)
            .await;
        if matches!(outcome, Err(Unanswered::Timeout { .. })) {
            given_up.reason = "timeout";
        }
        outcome
    }

    async fn exchange(
        &self,
        message: Outgoing,
        mut answered: oneshot::Receiver<Outcome>,
        moved: &Moved,
        (answer, longest): (Option<Duration>, Option<Duration>),
        given_up: &mut GivenUp<'_>,
    ) -> Result<Box<RawValue>, Unanswered> {
        let begun = Instant::now();
        let far = begun + Duration::from_hours(24 * 365);
        let last = longest.map_or(far, |longest| begun + longest);
        let mut limit = answer.map_or(last, |answer| (begun + answer).min(last));
        {
            let send = self.link.send(message);
            tokio::pin!(send);
            // An answer may be there before the sending is known to have ended.
            tokio::select! {
                biased;
                outcome = &mut answered => {
                    let outcome = ended(outcome);
                    if !matches!(&outcome, Err(Unanswered::Lost(Lost::Transport(_)))) {
                        return outcome;
                    }
                    // Who sends knows best whether anything was sent.
                    return match tokio::time::timeout(LAST_WORD, send).await {
                        Ok(Err(error)) => Err(self.unsent(error)),
                        _ => outcome,
                    };
                }
                sent = &mut send => sent.map_err(|error| self.unsent(error))?,
                () = tokio::time::sleep_until(limit) => {
                    return Err(Unanswered::Timeout { after: limit.duration_since(begun), sent: Sent::Maybe });
                }
            }
        }
        given_up.sent = true;
        loop {
            tokio::select! {
                biased;
                outcome = &mut answered => return ended(outcome),
                () = moved.news.notified() => {
                    if let Some(answer) = answer {
                        limit = (Instant::now() + answer).min(last);
                    }
                }
                () = tokio::time::sleep_until(limit) => {
                    if let (Some(answer), true) = (answer, limit < last && moved.waits_for_us()) {
                        limit = (Instant::now() + answer).min(last);
                        continue;
                    }
                    return Err(Unanswered::Timeout { after: limit.duration_since(begun), sent: Sent::Maybe });
                }
            }
        }
    }

    /// A server that takes no more messages is of no more use, though the link may still be open.
    fn unsent(&self, error: TransportError) -> Unanswered {
        if let TransportError::Closed { reason, .. } = &error {
            self.shared.end(reason, true);
            let link = self.link.clone();
            tokio::spawn(async move { link.close().await });
        }
        Unanswered::Lost(Lost::Transport(error))
    }
}

fn ended(outcome: Result<Outcome, oneshot::error::RecvError>) -> Result<Box<RawValue>, Unanswered> {
    match outcome {
        Ok(outcome) => outcome.map_err(Unanswered::Lost),
        Err(_) => Err(Unanswered::Lost(Lost::Transport(TransportError::Closed {
            reason: "the connection was given up".to_owned(),
            sent: Sent::Maybe,
        }))),
    }
}

/// Tells the server when a request is dropped before its answer came.
struct GivenUp<'a> {
    connection: &'a Connection,
    id: RequestId,
    sent: bool,
    cancellable: bool,
    reason: &'static str,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        let shared = &self.connection.shared;
        if shared.pending.remove(self.id).is_none() {
            return;
        }
        let knows = self.connection.link.abandon(self.id);
        if knows || !self.cancellable || !self.sent || !self.connection.is_live() {
            return;
        }
        let link = self.connection.link.clone();
        let params = json!({ "requestId": self.id, "reason": self.reason });
        let body = wire::notification("notifications/cancelled", &params);
        let message = outgoing(body, Sending::Notification, Some("notifications/cancelled"));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // A server that no longer reads must not hold this up for ever.
            runtime.spawn(tokio::time::timeout(Duration::from_secs(5), async move {
                drop(link.send(message).await);
            }));
        }
    }
}

pub(super) fn outgoing(body: Vec<u8>, kind: Sending, method: Option<&str>) -> Outgoing {
    Outgoing {
        body: Bytes::from(body),
        kind,
        method: method.map(str::to_owned),
        name: None,
        params: Vec::new(),
    }
}
