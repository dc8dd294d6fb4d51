//! The requests of one connection that wait for their answers.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot};

use crate::{
    client::{ClientHandler, McpProgress, call_options::ProgressListener},
    jsonrpc::{RequestId, RpcError},
    transport::{DeliveryStatus, TransportError},
};

/// How a request ended.
pub(crate) type PendingOutcome = Result<Box<RawValue>, LostResponse>;

/// Why there is no result.
#[derive(Debug, Clone)]
pub(crate) enum LostResponse {
    /// The server answered with an error.
    Rpc(RpcError),
    /// The answer did not get through.
    Transport(TransportError),
    /// The server says that there will be none.
    Cancelled,
}

/// A request that waits.
pub(crate) struct PendingRequest {
    pub(crate) response: oneshot::Sender<PendingOutcome>,
    /// What begins the time limit anew.
    pub(crate) deadline_extension: Arc<DeadlineExtension>,
    pub(crate) progress: Option<ProgressListener>,
    /// Who answers what the server asks meanwhile.
    pub(crate) handler: Option<Arc<dyn ClientHandler>>,
    /// Whether a server may ask something because of it.
    pub(crate) may_cause_requests: bool,
    /// Whether it only listens, for as long as the connection lasts.
    pub(crate) is_subscription: bool,
}

/// What begins the time limit of a request anew.
#[derive(Default)]
pub(crate) struct DeadlineExtension {
    pub(crate) activity: Notify,
    /// Questions of the server that are not answered yet: it is we who are waited for.
    open_requests: AtomicUsize,
}

impl DeadlineExtension {
    pub(crate) fn waits_for_client(&self) -> bool {
        self.open_requests.load(Ordering::Acquire) > 0
    }
}

/// A question that is being answered.
pub(crate) struct ServerRequestGuard(Vec<Arc<DeadlineExtension>>);

impl Drop for ServerRequestGuard {
    fn drop(&mut self) {
        for moved in &self.0 {
            moved.open_requests.fetch_sub(1, Ordering::AcqRel);
            moved.activity.notify_one();
        }
    }
}

/// All that wait.
#[derive(Default)]
pub(crate) struct PendingRequests {
    next_id: AtomicU64,
    requests: Mutex<HashMap<RequestId, PendingRequest>>,
}

impl PendingRequests {
    /// An id that no request of this connection had.
    pub(crate) fn new_id(&self) -> RequestId {
        self.next_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn add(&self, id: RequestId, waiting: PendingRequest) {
        self.with_requests(|all| all.insert(id, waiting));
    }

    /// Takes a request out. It is gone already if it was answered.
    pub(crate) fn remove(&self, id: RequestId) -> Option<PendingRequest> {
        self.with_requests(|all| all.remove(&id))
    }

    /// Ends a request. Whether there was one.
    pub(crate) fn complete(&self, id: RequestId, outcome: PendingOutcome) -> bool {
        let waiting = self.remove(id);
        let known = waiting.is_some();
        if let Some(waiting) = waiting {
            // Nobody waits any more if the caller went away in this moment.
            drop(waiting.response.send(outcome));
        }
        known
    }

    /// Ends all of them: the connection is gone, and what was sent may have arrived.
    pub(crate) fn fail_all(&self, reason: &str) {
        let all: Vec<_> = self.with_requests(|all| all.drain().collect());
        for (_, waiting) in all {
            let error = TransportError::Closed {
                reason: reason.to_owned(),
                sent: DeliveryStatus::Maybe,
            };
            drop(waiting.response.send(Err(LostResponse::Transport(error))));
        }
    }

    /// Ends the only request that waits, if there is but one: then it is the one to blame.
    pub(crate) fn fail_only(&self, error: &TransportError) {
        let only = self.with_requests(|all| {
            let mut ids = all
                .iter()
                .filter(|(_, one)| !one.is_subscription)
                .map(|(id, _)| *id);
            ids.next().filter(|_| ids.next().is_none())
        });
        if let Some(id) = only {
            self.complete(id, Err(LostResponse::Transport(error.clone())));
        }
    }

    pub(crate) fn on_progress(&self, id: RequestId, progress: McpProgress) {
        let listener = self.with_requests(|all| {
            let waiting = all.get(&id)?;
            waiting.deadline_extension.activity.notify_one();
            waiting.progress.clone()
        });
        if let Some(listener) = listener {
            listener(progress);
        }
    }

    /// Who answers a question that came on the stream of `during`; without that, who does for all
    /// the requests that wait. If that is not one and the same, it can't be told whose question it
    /// is, and nobody may be asked what was meant for another.
    pub(crate) fn handler_for(&self, during: Option<RequestId>) -> RequestOwner {
        self.with_requests(|all| {
            if let Some(waiting) = during.and_then(|id| all.get(&id)) {
                return waiting
                    .handler
                    .clone()
                    .map_or(RequestOwner::Client, RequestOwner::Call);
            }
            let mut handlers = all
                .values()
                .filter(|waiting| waiting.may_cause_requests || waiting.handler.is_some())
                .map(|waiting| waiting.handler.as_ref());
            let Some(first) = handlers.next().flatten() else {
                return match handlers.flatten().next() {
                    None => RequestOwner::Client,
                    Some(_) => RequestOwner::Ambiguous,
                };
            };
            if handlers.all(|other| other.is_some_and(|other| Arc::ptr_eq(first, other))) {
                RequestOwner::Call(first.clone())
            } else {
                RequestOwner::Ambiguous
            }
        })
    }

    /// The time of who may have led to a question stands still while it is answered.
    pub(crate) fn hold_deadlines(&self, during: Option<RequestId>) -> ServerRequestGuard {
        let held: Vec<_> = self.with_requests(|all| match during.and_then(|id| all.get(&id)) {
            Some(waiting) => vec![waiting.deadline_extension.clone()],
            None => (all.values())
                .filter(|waiting| waiting.may_cause_requests)
                .map(|waiting| waiting.deadline_extension.clone())
                .collect(),
        });
        for moved in &held {
            moved.open_requests.fetch_add(1, Ordering::AcqRel);
        }
        ServerRequestGuard(held)
    }

    /// How many wait for an answer.
    pub(crate) fn len(&self) -> usize {
        self.with_requests(|all| {
            all.values()
                .filter(|waiting| !waiting.is_subscription)
                .count()
        })
    }

    fn with_requests<T>(
        &self,
        act: impl FnOnce(&mut HashMap<RequestId, PendingRequest>) -> T,
    ) -> T {
        act(&mut self.requests.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whose question it is.
pub(crate) enum RequestOwner {
    /// That of a call that brought a handler of its own.
    Call(Arc<dyn ClientHandler>),
    /// That of the client.
    Client,
    /// One of several calls'.
    Ambiguous,
}
