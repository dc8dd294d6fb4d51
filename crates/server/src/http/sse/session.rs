//! The session of one client: its events, its running requests and its end. It knows nothing of
//! HTTP.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use rmcp::{
    RoleServer,
    model::{ClientNotification, ClientRequest, JsonRpcMessage, RequestId},
    service::RxJsonRpcMessage,
};
use tokio::{
    sync::{Notify, mpsc},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    ConnectionCloser, SseOptions,
    event_buffer::{EventBuffer, EventsExpired},
};
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

/// A session. It lives until it is closed, whether or not its client is connected.
pub(super) struct SseSession {
    pub(super) id: Arc<str>,
    pub(super) owner: SseSessionOwner,
    /// Cancelled when the session ends, which also cancels its running requests.
    pub(super) cancellation: CancellationToken,
    inbox: mpsc::Sender<Inbound>,
    state: Mutex<SseSessionState>,
    /// Notified of every change of the state.
    changed: Notify,
    running_bytes: usize,
    running_calls: usize,
}

struct SseSessionState {
    events: EventBuffer,
    /// Whether the SDK has seen the start of a conversation. Until then it accepts only requests
    /// and ends the session on anything else, so anything else is dropped.
    is_initialized: bool,
    running: HashMap<RequestId, SseRunningRequest>,
    reader: SseReaderState,
    /// The number of the current stream; only the newest one is served.
    stream: u64,
    /// Closes the connection of the current stream.
    closer: Option<ConnectionCloser>,
    draining: bool,
    closed: bool,
}

/// An unanswered request.
struct SseRunningRequest {
    bytes: usize,
    /// The client ends it, so draining does not wait for it.
    is_open_ended: bool,
}

/// Whether the client has an open stream.
enum SseReaderState {
    /// Connected; `stalled` is the time since which it leaves pending events unread.
    Connected {
        stalled: Option<Instant>,
    },
    Disconnected {
        since: Instant,
    },
}

/// The reason why a message is rejected.
#[derive(Debug)]
pub(super) enum SseReceiveError {
    Closed,
    Stopping(RpcRejection),
    /// A limit is reached; the message may be accepted later.
    Busy(RpcRejection),
    Invalid(RpcRejection),
}

impl SseSession {
    /// Creates a session without a stream.
    pub(super) fn new(
        id: Arc<str>,
        owner: SseSessionOwner,
        options: &SseOptions,
    ) -> (Arc<Self>, mpsc::Receiver<Inbound>) {
        let (inbox, receiver) = mpsc::channel(options.inbox.max(1));
        let session = Self {
            id,
            owner,
            cancellation: CancellationToken::new(),
            inbox,
            state: Mutex::new(SseSessionState {
                events: EventBuffer::new(options),
                is_initialized: false,
                running: HashMap::new(),
                reader: SseReaderState::Connected { stalled: None },
                stream: 0,
                closer: None,
                draining: false,
                closed: false,
            }),
            changed: Notify::new(),
            running_bytes: options.running_bytes,
            running_calls: options.running_calls,
        };
        (Arc::new(session), receiver)
    }

    /// Attaches a new stream in place of the previous one. With `after`, it begins after that
    /// event. Returns the number of the stream and of the last event that its reader has.
    pub(super) fn attach(
        &self,
        after: Option<u64>,
        hang_up: Option<ConnectionCloser>,
    ) -> Result<(u64, u64), EventsExpired> {
        let mut state = self.lock_state();
        if state.closed {
            return Err(EventsExpired);
        }
        if let Some(after) = after {
            state.events.rewind(after)?;
        }
        state.close_connection();
        state.closer = hang_up;
        state.stream += 1;
        let stuck = (state.events.pending_count() > 0).then(Instant::now);
        state.reader = SseReaderState::Connected { stalled: stuck };
        let attached = (state.stream, state.events.last_sent());
        drop(state);
        self.changed.notify_waiters();
        Ok(attached)
    }

    /// Detaches the stream if it is the current one.
    pub(super) fn detach(&self, stream: u64) {
        let mut state = self.lock_state();
        if state.stream == stream {
            let since = Instant::now();
            state.reader = SseReaderState::Disconnected { since };
            state.closer = None;
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// The time since which the client has no stream.
    pub(super) fn disconnected_since(&self) -> Option<Instant> {
        match self.lock_state().reader {
            SseReaderState::Disconnected { since } => Some(since),
            SseReaderState::Connected { .. } => None,
        }
    }

    /// The next event for the stream; `None` when the stream ends.
    pub(super) async fn next_event(&self, stream: u64) -> Option<Bytes> {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.lock_state();
                if state.stream != stream {
                    return None;
                }
                if let Some(event) = state.events.next_event() {
                    let stuck = (state.events.pending_count() > 0).then(Instant::now);
                    state.reader = SseReaderState::Connected { stalled: stuck };
                    drop(state);
                    self.changed.notify_waiters();
                    return Some(event);
                }
                if state.closed {
                    return None;
                }
            }
            changed.await;
        }
    }

    /// Adds a message to the events as soon as there is room. `answers` is the id of the request
    /// that it answers. Returns false if the session has ended.
    pub(super) async fn send(&self, message: &str, answers: Option<&RequestId>) -> bool {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.lock_state();
                if state.closed {
                    return false;
                }
                if state.events.has_room(message.len()) {
                    if let Some(id) = answers {
                        state.running.remove(id);
                    }
                    state.events.push(&self.id, message);
                    if let SseReaderState::Connected { stalled: stuck } = &mut state.reader {
                        stuck.get_or_insert_with(Instant::now);
                    }
                    drop(state);
                    self.changed.notify_waiters();
                    return true;
                }
            }
            changed.await;
        }
    }

    /// Passes a message to the SDK. A client that does not read its events waits here.
    pub(super) async fn receive(
        &self,
        message: Inbound,
        bytes: usize,
    ) -> Result<(), SseReceiveError> {
        self.wait_for_room().await?;
        let place = self.inbox.reserve();
        let place = tokio::select! {
            biased;
            () = self.cancellation.cancelled() => return Err(SseReceiveError::Closed),
            place = place => place.map_err(|_| SseReceiveError::Closed)?,
        };
        // One lock for both steps, so that messages reach the SDK in the order of admission.
        let mut state = self.lock_state();
        if self.admit(&mut state, &message, bytes)? {
            place.send(message);
        }
        Ok(())
    }

    async fn wait_for_room(&self) -> Result<(), SseReceiveError> {
        loop {
            let changed = self.changed.notified();
            {
                let state = self.lock_state();
                if state.closed {
                    return Err(SseReceiveError::Closed);
                }
                if state.events.has_room(0) {
                    return Ok(());
                }
            }
            changed.await;
        }
    }

    /// Tracks requests; returns false for a message that the SDK cannot handle.
    fn admit(
        &self,
        state: &mut SseSessionState,
        message: &Inbound,
        bytes: usize,
    ) -> Result<bool, SseReceiveError> {
        if state.closed {
            return Err(SseReceiveError::Closed);
        }
        match message {
            JsonRpcMessage::Request(request) => {
                let id = || request.id.clone().into_json_value().to_string();
                if state.draining {
                    let message = "the server is stopping; send this again later";
                    return Err(SseReceiveError::Stopping(RpcRejection::busy(
                        Some(id()),
                        message,
                    )));
                }
                if state.running.contains_key(&request.id) {
                    return Err(SseReceiveError::Invalid(RpcRejection::duplicate_id(id())));
                }
                let held: usize = state.running.values().map(|running| running.bytes).sum();
                if !state.running.is_empty() && held + bytes > self.running_bytes {
                    return Err(SseReceiveError::Busy(RpcRejection::too_much_data(id())));
                }
                if state.running.len() >= self.running_calls {
                    let message = "too many requests are running; send this again later";
                    return Err(SseReceiveError::Busy(RpcRejection::busy(
                        Some(id()),
                        message,
                    )));
                }
                let endless = matches!(
                    request.request,
                    ClientRequest::SubscriptionsListenRequest(_)
                );
                let running = SseRunningRequest {
                    bytes,
                    is_open_ended: endless,
                };
                state.running.insert(request.id.clone(), running);
                state.is_initialized |= starts_session(&request.request);
            }
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

    /// Waits until the session expires: its client was disconnected or did not read for too long.
    pub(super) async fn wait_until_expired(&self, away: Duration, stuck_for: Duration) {
        loop {
            let changed = self.changed.notified();
            let until = match self.lock_state().reader {
                SseReaderState::Connected { stalled: stuck } => {
                    stuck.map(|since| since + stuck_for)
                }
                SseReaderState::Disconnected { since } => Some(since + away),
            };
            match until {
                None => changed.await,
                Some(until) if until <= Instant::now() => return,
                Some(until) => drop(tokio::time::timeout_at(until, changed).await),
            }
        }
    }

    pub(super) fn begin_draining(&self) {
        self.lock_state().draining = true;
    }

    /// Waits until all running requests are answered and, if the client is connected, the answers
    /// are sent.
    pub(super) async fn wait_until_idle(&self) {
        loop {
            let changed = self.changed.notified();
            {
                let state = self.lock_state();
                let reads = matches!(state.reader, SseReaderState::Connected { .. });
                let done = state.running.values().all(|running| running.is_open_ended);
                if state.closed || done && (!reads || state.events.pending_count() == 0) {
                    return;
                }
            }
            changed.await;
        }
    }

    /// Ends the session, its stream and its running requests.
    pub(super) fn close(&self) {
        self.lock_state().closed = true;
        self.cancellation.cancel();
        self.changed.notify_waiters();
    }

    /// Ends the session and closes the connection, for a client that does not read.
    pub(super) fn abort(&self) {
        self.close();
        self.lock_state().close_connection();
    }

    fn lock_state(&self) -> MutexGuard<'_, SseSessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SseSessionState {
    fn close_connection(&mut self) {
        if let Some(ConnectionCloser(connection)) = self.closer.take() {
            connection.cancel();
        }
    }
}
