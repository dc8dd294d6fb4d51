//! One client's session: what it is sent, what it has running, and when it is over. Knows nothing
//! of HTTP.

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
    HangUp, SseOptions,
    outbox::{Gone, Outbox},
};
use crate::message::{Rejection, begins};

/// A message on its way to the SDK.
pub(super) type Inbound = RxJsonRpcMessage<RoleServer>;

/// Whose session it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    /// The name they were let in by. The session answers to no other.
    pub(super) name: Option<Arc<str>>,
    /// Where they came from. Only tells those apart who have no name, and only to count them.
    pub(super) peer: Option<IpAddr>,
}

impl Owner {
    pub(super) fn counts_with(&self, other: &Self) -> bool {
        self.name == other.name && (self.name.is_some() || self.peer == other.peer)
    }
}

/// A session. It lives until it is closed, whether its client is there or not.
pub(super) struct Session {
    pub(super) id: Arc<str>,
    pub(super) owner: Owner,
    /// Cancelled when the session is over, and with it all that runs in it.
    pub(super) over: CancellationToken,
    inbox: mpsc::Sender<Inbound>,
    state: Mutex<State>,
    /// Told of every change of the state.
    changed: Notify,
    running_bytes: usize,
    running_calls: usize,
}

struct State {
    outbox: Outbox,
    /// Whether the SDK has seen the beginning of a conversation. Until then it takes requests only
    /// and ends the session if anything else comes, so anything else is dropped.
    begun: bool,
    running: HashMap<RequestId, Running>,
    reader: Reader,
    /// Counts the streams there have been; only the newest is served.
    stream: u64,
    /// Cuts the connection of that stream.
    hang_up: Option<HangUp>,
    draining: bool,
    closed: bool,
}

/// A request that has not been answered.
struct Running {
    bytes: usize,
    /// It ends when its client wants, so nobody waits for its end.
    endless: bool,
}

/// Whether the client has a stream open.
enum Reader {
    /// It has; `stuck` since then, if events wait and it takes none.
    There { stuck: Option<Instant> },
    /// It has not, since then.
    Lost { since: Instant },
}

/// Why a message is not taken.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The session is over.
    Over,
    /// The server is stopping.
    Stopping(Rejection),
    /// Too much is going on; later it may be taken.
    Busy(Rejection),
    /// It is wrong.
    Wrong(Rejection),
}

impl Session {
    /// A session whose stream is about to be attached.
    pub(super) fn new(
        id: Arc<str>,
        owner: Owner,
        options: &SseOptions,
    ) -> (Arc<Self>, mpsc::Receiver<Inbound>) {
        let (inbox, receiver) = mpsc::channel(options.inbox.max(1));
        let session = Self {
            id,
            owner,
            over: CancellationToken::new(),
            inbox,
            state: Mutex::new(State {
                outbox: Outbox::new(options),
                begun: false,
                running: HashMap::new(),
                reader: Reader::There { stuck: None },
                stream: 0,
                hang_up: None,
                draining: false,
                closed: false,
            }),
            changed: Notify::new(),
            running_bytes: options.running_bytes,
            running_calls: options.running_calls,
        };
        (Arc::new(session), receiver)
    }

    /// A new stream takes the place of the one before. With `after`, it begins after that event.
    /// Gives the number of the stream, and that of the last event its reader has.
    pub(super) fn attach(
        &self,
        after: Option<u64>,
        hang_up: Option<HangUp>,
    ) -> Result<(u64, u64), Gone> {
        let mut state = self.state();
        if state.closed {
            return Err(Gone);
        }
        if let Some(after) = after {
            state.outbox.rewind(after)?;
        }
        state.hang_up();
        state.hang_up = hang_up;
        state.stream += 1;
        let stuck = (state.outbox.waiting() > 0).then(Instant::now);
        state.reader = Reader::There { stuck };
        let attached = (state.stream, state.outbox.last_sent());
        drop(state);
        self.changed.notify_waiters();
        Ok(attached)
    }

    /// That stream has ended.
    pub(super) fn detach(&self, stream: u64) {
        let mut state = self.state();
        if state.stream == stream {
            let since = Instant::now();
            state.reader = Reader::Lost { since };
            state.hang_up = None;
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Since when its client has been gone.
    pub(super) fn lost_since(&self) -> Option<Instant> {
        match self.state().reader {
            Reader::Lost { since } => Some(since),
            Reader::There { .. } => None,
        }
    }

    /// The next event for that stream; `None` when it ends.
    pub(super) async fn next_event(&self, stream: u64) -> Option<Bytes> {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.state();
                if state.stream != stream {
                    return None;
                }
                if let Some(event) = state.outbox.take() {
                    let stuck = (state.outbox.waiting() > 0).then(Instant::now);
                    state.reader = Reader::There { stuck };
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

    /// Puts a message where its client will read it, as soon as there is room. `answers` is the
    /// request it answers. False if the session is over.
    pub(super) async fn send(&self, message: &str, answers: Option<&RequestId>) -> bool {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.state();
                if state.closed {
                    return false;
                }
                if state.outbox.has_room(message.len()) {
                    if let Some(id) = answers {
                        state.running.remove(id);
                    }
                    state.outbox.push(&self.id, message);
                    if let Reader::There { stuck } = &mut state.reader {
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

    /// Hands a message to the SDK. A client that does not read what it is sent waits here.
    pub(super) async fn receive(&self, message: Inbound, bytes: usize) -> Result<(), Refusal> {
        self.room_for_answers().await?;
        let place = self.inbox.reserve();
        let place = tokio::select! {
            biased;
            () = self.over.cancelled() => return Err(Refusal::Over),
            place = place => place.map_err(|_| Refusal::Over)?,
        };
        // Under one lock, so that messages reach the SDK in the order they were judged in.
        let mut state = self.state();
        if self.admit(&mut state, &message, bytes)? {
            place.send(message);
        }
        Ok(())
    }

    async fn room_for_answers(&self) -> Result<(), Refusal> {
        loop {
            let changed = self.changed.notified();
            {
                let state = self.state();
                if state.closed {
                    return Err(Refusal::Over);
                }
                if state.outbox.has_room(0) {
                    return Ok(());
                }
            }
            changed.await;
        }
    }

    /// Keeps account of requests; false for what the SDK can't bear.
    fn admit(&self, state: &mut State, message: &Inbound, bytes: usize) -> Result<bool, Refusal> {
        if state.closed {
            return Err(Refusal::Over);
        }
        match message {
            JsonRpcMessage::Request(request) => {
                let id = || request.id.clone().into_json_value().to_string();
                if state.draining {
                    let message = "the server is stopping; send this again later";
                    return Err(Refusal::Stopping(Rejection::busy(Some(id()), message)));
                }
                if state.running.contains_key(&request.id) {
                    return Err(Refusal::Wrong(Rejection::same_id(id())));
                }
                let held: usize = state.running.values().map(|running| running.bytes).sum();
                if !state.running.is_empty() && held + bytes > self.running_bytes {
                    return Err(Refusal::Busy(Rejection::too_much(id())));
                }
                if state.running.len() >= self.running_calls {
                    let message = "too many requests are running; send this again later";
                    return Err(Refusal::Busy(Rejection::busy(Some(id()), message)));
                }
                let endless = matches!(
                    request.request,
                    ClientRequest::SubscriptionsListenRequest(_)
                );
                let running = Running { bytes, endless };
                state.running.insert(request.id.clone(), running);
                state.begun |= begins(&request.request);
            }
            _ if !state.begun => return Ok(false),
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // The SDK gives no answer to a cancelled request.
                    state.running.remove(id);
                    self.changed.notify_waiters();
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Ok(true)
    }

    /// Ends when the session should: its client has been away, or has not read, for too long.
    pub(super) async fn expired(&self, away: Duration, stuck_for: Duration) {
        loop {
            let changed = self.changed.notified();
            let until = match self.state().reader {
                Reader::There { stuck } => stuck.map(|since| since + stuck_for),
                Reader::Lost { since } => Some(since + away),
            };
            match until {
                None => changed.await,
                Some(until) if until <= Instant::now() => return,
                Some(until) => drop(tokio::time::timeout_at(until, changed).await),
            }
        }
    }

    /// Takes no more requests.
    pub(super) fn begin_draining(&self) {
        self.state().draining = true;
    }

    /// Ends when all that runs has been answered and the answers are sent, to a client that is
    /// there.
    pub(super) async fn idle(&self) {
        loop {
            let changed = self.changed.notified();
            {
                let state = self.state();
                let reads = matches!(state.reader, Reader::There { .. });
                let done = state.running.values().all(|running| running.endless);
                if state.closed || done && (!reads || state.outbox.waiting() == 0) {
                    return;
                }
            }
            changed.await;
        }
    }

    /// Ends the session, its stream, and all that runs in it.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.over.cancel();
        self.changed.notify_waiters();
    }

    /// Ends the session of a client that does not read, which would never see its stream end.
    pub(super) fn cut_off(&self) {
        self.close();
        self.state().hang_up();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn hang_up(&mut self) {
        if let Some(HangUp(connection)) = self.hang_up.take() {
            connection.cancel();
        }
    }
}
