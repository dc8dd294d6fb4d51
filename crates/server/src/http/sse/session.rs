//! The session of one client: its pending events, its running requests and its end. It knows
//! nothing of HTTP.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use rmcp::{
    RoleServer,
    model::{ClientNotification, ClientRequest, JsonRpcMessage, JsonRpcRequest, RequestId},
    service::RxJsonRpcMessage,
};
use tokio::{
    sync::{Notify, mpsc},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{ConnectionCloser, SseOptions};
use crate::message::{RpcRejection, starts_session};

/// A message to the SDK.
pub(super) type Inbound = RxJsonRpcMessage<RoleServer>;

/// The owner of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SseSessionOwner {
    /// The name of the principal. The session accepts no other.
    pub(super) name: Option<Arc<str>>,
    /// The client's address. It distinguishes owners without a name, for counting only.
    pub(super) peer: Option<IpAddr>,
}

impl SseSessionOwner {
    pub(super) fn shares_quota_with(&self, other: &Self) -> bool {
        self.name == other.name && (self.name.is_some() || self.peer == other.peer)
    }
}

/// A session. It ends with its stream.
pub(super) struct SseSession {
    pub(super) id: Arc<str>,
    pub(super) owner: SseSessionOwner,
    /// Cancelled when the session ends, which also cancels its running requests.
    pub(super) cancellation: CancellationToken,
    options: Arc<SseOptions>,
    closer: Option<ConnectionCloser>,
    inbox: mpsc::Sender<Inbound>,
    state: Mutex<SseSessionState>,
    /// Notified of every change of the state, and of the end.
    changed: Notify,
}

#[derive(Default)]
struct SseSessionState {
    pending: VecDeque<Bytes>,
    pending_bytes: usize,
    /// The time since which the client leaves pending events unread.
    unread_since: Option<Instant>,
    /// Whether the SDK has seen the start of a conversation. Until then it accepts only requests
    /// and ends the session on anything else, so anything else is dropped.
    is_initialized: bool,
    running: HashMap<RequestId, SseRunningRequest>,
    draining: bool,
}

/// An unanswered request.
struct SseRunningRequest {
    bytes: usize,
    /// The client ends it, so draining does not wait for it.
    is_open_ended: bool,
}

/// The reason why a message is rejected.
#[derive(Debug)]
pub(super) enum SseReceiveError {
    Closed,
    /// The message may be accepted later.
    Busy(RpcRejection),
    Invalid(RpcRejection),
}

impl SseSession {
    pub(super) fn new(
        id: Arc<str>,
        owner: SseSessionOwner,
        closer: Option<ConnectionCloser>,
        options: &Arc<SseOptions>,
    ) -> (Arc<Self>, mpsc::Receiver<Inbound>) {
        let (inbox, receiver) = mpsc::channel(options.inbox.max(1));
        let session = Self {
            id,
            owner,
            cancellation: CancellationToken::new(),
            options: options.clone(),
            closer,
            inbox,
            state: Mutex::default(),
            changed: Notify::new(),
        };
        (Arc::new(session), receiver)
    }

    /// The next event for the stream; `None` when the session has ended and everything was sent.
    pub(super) async fn next_event(&self) -> Option<Bytes> {
        let event = self.wait_for(|state| match state.take_event() {
            None => self.cancellation.is_cancelled().then_some(None),
            event => Some(event),
        });
        let event = event.await;
        self.changed.notify_waiters();
        event
    }

    /// Adds a message to the events as soon as there is room. `answers` is the id of the request
    /// that it answers. Returns false if the session has ended.
    pub(super) async fn send(&self, message: &str, answers: Option<&RequestId>) -> bool {
        let event = format_event("message", message);
        let sent = self.wait_for(|state| {
            if self.cancellation.is_cancelled() {
                return Some(false);
            }
            if !self.has_room(state, event.len()) {
                return None;
            }
            if let Some(id) = answers {
                state.running.remove(id);
            }
            state.add_event(event.clone());
            Some(true)
        });
        let sent = sent.await;
        self.changed.notify_waiters();
        sent
    }

    /// Passes a message to the SDK. A client that does not read its events waits here.
    pub(super) async fn receive(
        &self,
        message: Inbound,
        bytes: usize,
    ) -> Result<(), SseReceiveError> {
        self.wait_for(|state| {
            let ready = self.cancellation.is_cancelled() || self.has_room(state, 0);
            ready.then_some(())
        })
        .await;
        let place = tokio::select! {
            biased;
            () = self.cancellation.cancelled() => return Err(SseReceiveError::Closed),
            place = self.inbox.reserve() => place.map_err(|_| SseReceiveError::Closed)?,
        };
        // One lock for both steps, so that messages reach the SDK in the order of admission.
        let mut state = self.lock_state();
        if self.admit(&mut state, &message, bytes)? {
            place.send(message);
        }
        Ok(())
    }

    /// Tracks requests; returns false for a message that the SDK cannot handle.
    fn admit(
        &self,
        state: &mut SseSessionState,
        message: &Inbound,
        bytes: usize,
    ) -> Result<bool, SseReceiveError> {
        match message {
            JsonRpcMessage::Request(request) => self.admit_request(state, request, bytes)?,
            _ if !state.is_initialized => return Ok(false),
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // The SDK does not answer a cancelled request.
                    state.running.remove(id);
                    self.changed.notify_waiters();
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Ok(true)
    }

    fn admit_request(
        &self,
        state: &mut SseSessionState,
        request: &JsonRpcRequest<ClientRequest>,
        bytes: usize,
    ) -> Result<(), SseReceiveError> {
        let id = request.id.clone().into_json_value().to_string();
        let busy = |id, message| Err(SseReceiveError::Busy(RpcRejection::busy(Some(id), message)));
        if state.draining {
            return busy(id, "the server is stopping; send this again later");
        }
        if state.running.contains_key(&request.id) {
            return Err(SseReceiveError::Invalid(RpcRejection::duplicate_id(id)));
        }
        let held: usize = state.running.values().map(|running| running.bytes).sum();
        if held > 0 && held + bytes > self.options.running_bytes {
            return Err(SseReceiveError::Busy(RpcRejection::too_much_data(id)));
        }
        if state.running.len() >= self.options.running_calls {
            return busy(id, "too many requests are running; send this again later");
        }
        let request_kind = &request.request;
        let is_open_ended = matches!(request_kind, ClientRequest::SubscriptionsListenRequest(_));
        let running = SseRunningRequest {
            bytes,
            is_open_ended,
        };
        state.running.insert(request.id.clone(), running);
        state.is_initialized |= starts_session(request_kind);
        Ok(())
    }

    /// Waits until the client has left an event unread for too long.
    pub(super) async fn wait_until_stalled(&self) {
        loop {
            let changed = self.changed.notified();
            let since = self.lock_state().unread_since;
            match since.map(|since| since + self.options.stalled_timeout) {
                None => changed.await,
                Some(until) if until <= Instant::now() => return,
                Some(until) => drop(tokio::time::timeout_at(until, changed).await),
            }
        }
    }

    pub(super) fn begin_draining(&self) {
        self.lock_state().draining = true;
    }

    /// Waits until all running requests are answered and the answers are sent.
    pub(super) async fn wait_until_idle(&self) {
        self.wait_for(|state| {
            let answered = state.running.values().all(|running| running.is_open_ended);
            let idle = answered && state.pending.is_empty();
            (idle || self.cancellation.is_cancelled()).then_some(())
        })
        .await;
    }

    /// Ends the session, its stream and its running requests.
    pub(super) fn close(&self) {
        self.cancellation.cancel();
        self.changed.notify_waiters();
    }

    /// Ends the session and closes the connection, for a client that does not read.
    pub(super) fn abort(&self) {
        self.close();
        if let Some(ConnectionCloser(connection)) = &self.closer {
            connection.cancel();
        }
    }

    /// Tells whether an event of that size may be added. A single event always may.
    fn has_room(&self, state: &SseSessionState, bytes: usize) -> bool {
        state.pending.is_empty()
            || state.pending.len() < self.options.waiting_events
                && state.pending_bytes.saturating_add(bytes) <= self.options.waiting_bytes
    }

    /// Waits until `check` finds what it looks for in the state.
    async fn wait_for<T>(&self, mut check: impl FnMut(&mut SseSessionState) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            let found = check(&mut self.lock_state());
            match found {
                Some(found) => return found,
                None => changed.await,
            }
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, SseSessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SseSessionState {
    fn add_event(&mut self, event: Bytes) {
        self.pending_bytes += event.len();
        self.pending.push_back(event);
        self.unread_since.get_or_insert_with(Instant::now);
    }

    fn take_event(&mut self) -> Option<Bytes> {
        let event = self.pending.pop_front()?;
        self.pending_bytes -= event.len();
        self.unread_since = (!self.pending.is_empty()).then(Instant::now);
        Some(event)
    }
}

/// Formats an event. `data` is one line.
pub(super) fn format_event(name: &str, data: &str) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}
