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

use super::{Handler, Progress, options::ProgressListener};
use crate::{
    transport::{Sent, TransportError},
    wire::{RequestId, RpcError},
};

/// How a request ended.
pub(super) type Outcome = Result<Box<RawValue>, Lost>;

/// Why there is no result.
#[derive(Debug, Clone)]
pub(super) enum Lost {
    /// The server answered with an error.
    Rpc(RpcError),
    /// The answer did not get through.
    Transport(TransportError),
    /// The server says that there will be none.
    TakenBack,
}

/// A request that waits.
pub(super) struct Waiting {
    pub(super) answer: oneshot::Sender<Outcome>,
    /// What begins the time limit anew.
    pub(super) moved: Arc<Moved>,
    pub(super) progress: Option<ProgressListener>,
    /// Who answers what the server asks meanwhile.
    pub(super) handler: Option<Arc<dyn Handler>>,
    /// Whether a server may ask something because of it.
    pub(super) leads_to_questions: bool,
    /// Whether it only listens, for as long as the connection lasts.
    pub(super) listens: bool,
}

/// What begins the time limit of a request anew.
#[derive(Default)]
pub(super) struct Moved {
    pub(super) news: Notify,
    /// Questions of the server that are not answered yet: it is we who are waited for.
    questions: AtomicUsize,
}

impl Moved {
    pub(super) fn waits_for_us(&self) -> bool {
        self.questions.load(Ordering::Acquire) > 0
    }
}

/// A question that is being answered.
pub(super) struct Answering(Vec<Arc<Moved>>);

impl Drop for Answering {
    fn drop(&mut self) {
        for moved in &self.0 {
            moved.questions.fetch_sub(1, Ordering::AcqRel);
            moved.news.notify_one();
        }
    }
}

/// All that wait.
#[derive(Default)]
pub(super) struct Pending {
    next: AtomicU64,
    waiting: Mutex<HashMap<RequestId, Waiting>>,
}

impl Pending {
    /// An id that no request of this connection had.
    pub(super) fn fresh_id(&self) -> RequestId {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn add(&self, id: RequestId, waiting: Waiting) {
        self.with(|all| all.insert(id, waiting));
    }

    /// Takes a request out. It is gone already if it was answered.
    pub(super) fn remove(&self, id: RequestId) -> Option<Waiting> {
        self.with(|all| all.remove(&id))
    }

    /// Ends a request. Whether there was one.
    pub(super) fn end(&self, id: RequestId, outcome: Outcome) -> bool {
        let waiting = self.remove(id);
        let known = waiting.is_some();
        if let Some(waiting) = waiting {
            // Nobody waits any more if the caller went away in this moment.
            drop(waiting.answer.send(outcome));
        }
        known
    }

    /// Ends all of them: the connection is gone, and what was sent may have arrived.
    pub(super) fn end_all(&self, reason: &str) {
        let all: Vec<_> = self.with(|all| all.drain().collect());
        for (_, waiting) in all {
            let error = TransportError::Closed {
                reason: reason.to_owned(),
                sent: Sent::Maybe,
            };
            drop(waiting.answer.send(Err(Lost::Transport(error))));
        }
    }

    /// Ends the only request that waits, if there is but one: then it is the one to blame.
    pub(super) fn end_only(&self, error: &TransportError) {
        let only = self.with(|all| {
            let mut ids = all
                .iter()
                .filter(|(_, one)| !one.listens)
                .map(|(id, _)| *id);
            ids.next().filter(|_| ids.next().is_none())
        });
        if let Some(id) = only {
            self.end(id, Err(Lost::Transport(error.clone())));
        }
    }

    pub(super) fn progressed(&self, id: RequestId, progress: Progress) {
        let listener = self.with(|all| {
            let waiting = all.get(&id)?;
            waiting.moved.news.notify_one();
            waiting.progress.clone()
        });
        if let Some(listener) = listener {
            listener(progress);
        }
    }

    /// Who answers a question that came on the stream of `during`; without that, who does for all
    /// the requests that wait. If that is not one and the same, it can't be told whose question it
    /// is, and nobody may be asked what was meant for another.
    pub(super) fn handler_for(&self, during: Option<RequestId>) -> Whose {
        self.with(|all| {
            if let Some(waiting) = during.and_then(|id| all.get(&id)) {
                return waiting.handler.clone().map_or(Whose::Clients, Whose::Calls);
            }
            let mut handlers = all
                .values()
                .filter(|waiting| waiting.leads_to_questions || waiting.handler.is_some())
                .map(|waiting| waiting.handler.as_ref());
            let Some(first) = handlers.next().flatten() else {
                return match handlers.flatten().next() {
                    None => Whose::Clients,
                    Some(_) => Whose::Unclear,
                };
            };
            if handlers.all(|other| other.is_some_and(|other| Arc::ptr_eq(first, other))) {
                Whose::Calls(first.clone())
            } else {
                Whose::Unclear
            }
        })
    }

    /// The time of who may have led to a question stands still while it is answered.
    pub(super) fn answering(&self, during: Option<RequestId>) -> Answering {
        let held: Vec<_> = self.with(|all| match during.and_then(|id| all.get(&id)) {
            Some(waiting) => vec![waiting.moved.clone()],
            None => (all.values())
                .filter(|waiting| waiting.leads_to_questions)
                .map(|waiting| waiting.moved.clone())
                .collect(),
        });
        for moved in &held {
            moved.questions.fetch_add(1, Ordering::AcqRel);
        }
        Answering(held)
    }

    /// How many wait for an answer.
    pub(super) fn len(&self) -> usize {
        self.with(|all| all.values().filter(|waiting| !waiting.listens).count())
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashMap<RequestId, Waiting>) -> T) -> T {
        act(&mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whose question it is.
pub(super) enum Whose {
    /// That of a call that brought a handler of its own.
    Calls(Arc<dyn Handler>),
    /// That of the client.
    Clients,
    /// One of several calls'.
    Unclear,
}
