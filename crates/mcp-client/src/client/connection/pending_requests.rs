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

/// The outcome of a request.
pub(crate) type PendingOutcome = Result<Box<RawValue>, LostResponse>;

/// The reason why a request has no result.
#[derive(Debug, Clone)]
pub(crate) enum LostResponse {
    /// The server answered with an error.
    Rpc(RpcError),
    /// The answer was lost in the transport.
    Transport(TransportError),
    /// The server announced that it will not answer.
    Cancelled,
}

pub(crate) struct PendingRequest {
    pub(crate) response: oneshot::Sender<PendingOutcome>,
    /// Restarts the time limit of the request.
    pub(crate) deadline_extension: Arc<DeadlineExtension>,
    pub(crate) progress: Option<ProgressListener>,
    /// The handler for requests that the server sends meanwhile.
    pub(crate) handler: Option<Arc<dyn ClientHandler>>,
    /// Whether the server may send a request because of this one.
    pub(crate) may_cause_requests: bool,
    /// Whether the request is a subscription that lasts as long as the connection.
    pub(crate) is_subscription: bool,
}

/// Restarts or suspends the time limit of a request.
#[derive(Default)]
pub(crate) struct DeadlineExtension {
    pub(crate) activity: Notify,
    /// The server requests that are not answered yet. While there are any, the server waits for us,
    /// so the time limit is suspended.
    open_requests: AtomicUsize,
}

impl DeadlineExtension {
    pub(crate) fn waits_for_client(&self) -> bool {
        self.open_requests.load(Ordering::Acquire) > 0
    }
}

/// Suspends the time limits of the affected requests while a server request is answered.
pub(crate) struct ServerRequestGuard(Vec<Arc<DeadlineExtension>>);

impl Drop for ServerRequestGuard {
    fn drop(&mut self) {
        for moved in &self.0 {
            moved.open_requests.fetch_sub(1, Ordering::AcqRel);
            moved.activity.notify_one();
        }
    }
}

#[derive(Default)]
pub(crate) struct PendingRequests {
    next_id: AtomicU64,
    requests: Mutex<HashMap<RequestId, PendingRequest>>,
}

impl PendingRequests {
    /// Returns an id that no request of this connection has used.
    pub(crate) fn new_id(&self) -> RequestId {
        self.next_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn add(&self, id: RequestId, waiting: PendingRequest) {
        self.with_requests(|all| all.insert(id, waiting));
    }

    /// Removes a request; returns none if it was answered already.
    pub(crate) fn remove(&self, id: RequestId) -> Option<PendingRequest> {
        self.with_requests(|all| all.remove(&id))
    }

    /// Completes a request. Returns false if it does not exist.
    pub(crate) fn complete(&self, id: RequestId, outcome: PendingOutcome) -> bool {
        let waiting = self.remove(id);
        let known = waiting.is_some();
        if let Some(waiting) = waiting {
            // Sending fails only if the caller has just stopped waiting.
            drop(waiting.response.send(outcome));
        }
        known
    }

    /// Fails all requests because the connection is lost. Whatever was sent may have arrived.
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

    /// Fails the pending request if there is exactly one, because the error must then belong to it.
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

    /// Finds the handler for a server request that arrived on the stream of `during`, or, without a
    /// stream, the handler that all pending requests share, or the newest if all belong to one user.
    /// Otherwise the owner is unknown and no handler may be asked: the request could be meant for
    /// another user.
    pub(crate) fn handler_for(&self, during: Option<RequestId>) -> RequestOwner {
        self.with_requests(|all| {
            if let Some(waiting) = during.and_then(|id| all.get(&id)) {
                return waiting
                    .handler
                    .clone()
                    .map_or(RequestOwner::Client, RequestOwner::Call);
            }
            let mut calls: Vec<_> = all
                .iter()
                .filter(|(_, waiting)| waiting.may_cause_requests || waiting.handler.is_some())
                .map(|(id, waiting)| (*id, waiting.handler.as_ref()))
                .collect();
            calls.sort_unstable_by_key(|(id, _)| *id);
            let handlers: Option<Vec<_>> = calls.iter().map(|(_, handler)| *handler).collect();
            let Some(handlers) = handlers else {
                return match calls.iter().find_map(|(_, handler)| *handler) {
                    None => RequestOwner::Client,
                    Some(_) => RequestOwner::Ambiguous,
                };
            };
            let Some(newest) = handlers.last() else {
                return RequestOwner::Client;
            };
            let same = |other: &&Arc<dyn ClientHandler>| {
                let user = newest.audience();
                Arc::ptr_eq(newest, other) || (user.is_some() && user == other.audience())
            };
            if handlers.iter().all(same) {
                RequestOwner::Call((*newest).clone())
            } else {
                RequestOwner::Ambiguous
            }
        })
    }

    /// Suspends the time limits of all requests that may have caused a server request, until the
    /// guard is dropped.
    pub(crate) fn suspend_deadlines(&self, during: Option<RequestId>) -> ServerRequestGuard {
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

    /// Returns the number of requests that wait for an answer.
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

/// The call or client that a server request belongs to.
pub(crate) enum RequestOwner {
    /// A call with its own handler.
    Call(Arc<dyn ClientHandler>),
    /// The client.
    Client,
    /// One of several calls; it is unknown which.
    Ambiguous,
}
