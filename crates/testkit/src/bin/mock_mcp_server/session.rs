//! One client: its outgoing messages, pending requests and subscriptions.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, oneshot},
    task::AbortHandle,
};

/// The channel for messages to a client.
pub(crate) type MessageSender = mpsc::UnboundedSender<String>;

/// The state that lasts as long as a client.
#[derive(Debug, Default)]
pub(crate) struct ClientSession {
    pending: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
    next_id: AtomicU64,
    running: Mutex<HashMap<String, AbortHandle>>,
    /// The HTTP stream for messages that belong to no request.
    stream: Mutex<Option<MessageSender>>,
    /// The number of requests so far.
    pub(crate) requests: AtomicU64,
}

/// One exchange with a client.
#[derive(Debug, Clone)]
pub(crate) struct ClientExchange {
    pub(crate) session: Arc<ClientSession>,
    pub(crate) out: MessageSender,
}

impl ClientExchange {
    /// Creates an exchange and the channel of its outgoing messages.
    pub(crate) fn new(session: Arc<ClientSession>) -> (Self, mpsc::UnboundedReceiver<String>) {
        let (out, messages) = mpsc::unbounded_channel();
        (Self { session, out }, messages)
    }

    /// Sends a message; the client may be gone.
    pub(crate) fn send(&self, message: &Value) {
        let _ = self.out.send(message.to_string());
    }

    /// Sends a notification to the client.
    pub(crate) fn notify(&self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request to the client and returns its whole answer message.
    pub(crate) async fn request(&self, method: &str, params: &Value) -> Option<Value> {
        let id = self.session.next_id.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        lock(&self.session.pending).insert(id, answer);
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        answered.await.ok()
    }
}

impl ClientSession {
    /// Handles an answer of the client.
    pub(crate) fn resolve_response(&self, message: Value) {
        let asked = message["id"]
            .as_u64()
            .and_then(|id| lock(&self.pending).remove(&id));
        if let Some(asked) = asked {
            let _ = asked.send(message);
        }
    }

    /// Sets the stream for messages that belong to no request.
    pub(crate) fn set_stream(&self, out: MessageSender) {
        *lock(&self.stream) = Some(out);
    }

    /// Sends a message on that stream, if there is one.
    pub(crate) fn send_on_stream(&self, message: String) {
        if let Some(out) = lock(&self.stream).as_ref() {
            let _ = out.send(message);
        }
    }

    /// Records that a request is being handled.
    pub(crate) fn track_request(&self, id: &Value, work: AbortHandle) {
        let mut running = lock(&self.running);
        running.retain(|_, work| !work.is_finished());
        running.insert(id.to_string(), work);
    }

    /// Cancels a request.
    pub(crate) fn cancel(&self, id: &Value) {
        if let Some(work) = lock(&self.running).remove(&id.to_string()) {
            work.abort();
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
