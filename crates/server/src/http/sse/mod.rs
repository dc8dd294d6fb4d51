//! MCP over HTTP with server-sent events, the transport of revision 2024-11-05, for clients that
//! know no other.
//!
//! `GET /sse` opens a session and a stream; its first event, `endpoint`, says where to post.
//! `POST /messages?session_id=…` takes one message and answers 202; what the server has to say
//! comes on the stream. What this transport itself refuses (bad JSON, a batch, an id that is in
//! use) is answered in the answer to that POST and nowhere else: a status of 4xx or 503 with the
//! JSON-RPC error, and the id wherever it can be read. So nothing that has an id stays unanswered.
//!
//! A client that loses its stream finds its session again with `Last-Event-ID`, for a while.
//! Everything is bounded: sessions, what runs in one, what waits to be read, what is kept.
//!
//! Host, Origin and who someone is are judged before a request comes here; the judgement is the
//! [`Principal`](deliberate_toolkit::Principal) among the request's extensions.

mod error;
mod event_buffer;
mod post;
mod session;
mod sessions;
mod stream;
mod transport;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    routing::{get, post as posting},
};
use rmcp::ServerHandler;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use session::{Inbound, SseSession};
use sessions::SseSessions;
use transport::SseSessionTimeouts;

const STREAM_PATH: &str = "/sse";
const MESSAGES_PATH: &str = "/messages";

/// How sessions are kept.
#[derive(Debug, Clone)]
pub struct SseOptions {
    /// The longest message that is taken.
    pub body_bytes: usize,
    /// How long a message may take to arrive.
    pub body_time: Duration,
    /// How long a session waits for a client that has lost its stream.
    pub resume_timeout: Duration,
    /// How long a client may leave events unread before it is cut off.
    pub stalled_timeout: Duration,
    /// How often a silent stream shows that it is alive.
    pub keep_alive: Duration,
    /// Sessions in all.
    pub sessions: usize,
    /// Sessions of one principal; of those without a name, of one address.
    pub sessions_per_owner: usize,
    /// Messages of one session that wait for the protocol layer.
    pub inbox: usize,
    /// Requests of one session that may run at once.
    pub running_calls: usize,
    /// What they may hold together, by the length of their messages.
    pub running_bytes: usize,
    /// Events that may wait to be read.
    pub waiting_events: usize,
    /// Their size together. One alone may be larger.
    pub waiting_bytes: usize,
    /// Events that are kept after they were sent, for a client that comes back.
    pub replay_events: usize,
    /// Their size together.
    pub replay_bytes: usize,
}

impl Default for SseOptions {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self {
            body_bytes: 4 * MIB,
            body_time: Duration::from_secs(30),
            resume_timeout: Duration::from_secs(30),
            stalled_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
            sessions: 256,
            sessions_per_owner: 64,
            inbox: 16,
            running_calls: 64,
            running_bytes: 16 * MIB,
            waiting_events: 256,
            waiting_bytes: 4 * MIB,
            replay_events: 256,
            replay_bytes: MIB,
        }
    }
}

/// Cuts a connection. Whoever accepts connections puts one among the extensions of each request,
/// and drops the connection when it is cancelled: a client that does not read keeps the HTTP layer
/// in a write that never ends, and nothing short of this ends it.
#[derive(Debug, Clone, Default)]
pub struct ConnectionCloser(pub CancellationToken);

/// Watches over the sessions and ends them.
#[derive(Clone)]
pub struct SseControl {
    sessions: Arc<SseSessions>,
}

impl SseControl {
    /// How many sessions there are, those that wait for their client included.
    pub fn active(&self) -> usize {
        self.sessions.len()
    }

    /// Takes no new sessions and requests, lets what runs finish within the grace, and ends every
    /// session. Answers and notifications of clients are still taken meanwhile, since a running
    /// call may wait for one.
    pub async fn drain(&self, grace: Duration) {
        let sessions = self.sessions.drain();
        let idle =
            futures::future::join_all(sessions.iter().map(|session| session.wait_until_idle()));
        let idle = tokio::time::timeout(grace, idle).await.is_ok();
        if !idle {
            tracing::warn!("sessions were ended before all their calls had");
        }
        for session in sessions {
            if idle {
                session.close();
            } else {
                session.abort();
            }
            self.sessions.remove(&session.id);
        }
    }
}

/// What the two routes share.
#[derive(Clone)]
struct SseState {
    sessions: Arc<SseSessions>,
    options: Arc<SseOptions>,
    start_session: Arc<dyn Fn(Arc<SseSession>, mpsc::Receiver<Inbound>) + Send + Sync>,
}

/// The two routes; each session gets a handler of its own.
pub fn routes<H: ServerHandler>(
    handler: impl Fn() -> H + Clone + Send + Sync + 'static,
    options: SseOptions,
) -> (Router, SseControl) {
    let table = Arc::new(SseSessions::default());
    let patience = SseSessionTimeouts {
        disconnected: options.resume_timeout,
        stalled: options.stalled_timeout,
    };
    let sessions = table.clone();
    let start = move |session: Arc<SseSession>, inbox| {
        let sessions = sessions.clone();
        let id = session.id.clone();
        let gone = move || sessions.remove(&id);
        tokio::spawn(transport::serve(handler(), session, inbox, patience, gone));
    };
    let hall = SseState {
        sessions: table.clone(),
        options: Arc::new(options),
        start_session: Arc::new(start),
    };
    let router = Router::new()
        .route(STREAM_PATH, get(stream::open_stream))
        .route(MESSAGES_PATH, posting(post::post_message))
        .with_state(hall);
    (router, SseControl { sessions: table })
}
