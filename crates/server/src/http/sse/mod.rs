//! MCP over HTTP with server-sent events, the transport of revision 2024-11-05, for clients that
//! support no other.
//!
//! `GET /sse` opens a session and a stream; its first event, `endpoint`, names the URL for posts.
//! `POST /messages?session_id=…` accepts one message and answers 202; the server's messages come on
//! the stream. Rejections by this transport (bad JSON, a batch, an id that is in use) are returned
//! in the response to that POST and nowhere else: a status of 4xx or 503 with the JSON-RPC error,
//! and the id wherever it can be read. So every message with an id is answered.
//!
//! A session ends with its stream; this revision has no way to resume one. Sessions, running
//! requests and pending events are all bounded.
//!
//! Host, Origin and authentication are checked, and bodies are read within limits, before a request
//! reaches this module; the result is the [`Principal`](deliberate_toolkit::Principal) among the
//! request's extensions.

mod routes;
mod session;
mod sessions;
mod transport;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    routing::{get, post},
};
use rmcp::ServerHandler;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use session::{Inbound, SseSession};
use sessions::SseSessions;

const STREAM_PATH: &str = "/sse";
const MESSAGES_PATH: &str = "/messages";

/// Limits and timeouts of sessions.
#[derive(Debug, Clone)]
pub struct SseOptions {
    /// How long a client may leave events unread before it is disconnected.
    pub stalled_timeout: Duration,
    /// The interval of keep-alive comments on a silent stream.
    pub keep_alive: Duration,
    /// The largest number of sessions.
    pub sessions: usize,
    /// The largest number of sessions per principal, or per address without a name.
    pub sessions_per_owner: usize,
    /// The queue length of a session before the protocol layer.
    pub inbox: usize,
    /// The largest number of running requests per session.
    pub running_calls: usize,
    /// The total message length of the running requests of a session.
    pub running_bytes: usize,
    /// The largest number of pending events.
    pub waiting_events: usize,
    /// The total size of pending events. A single one may be larger.
    pub waiting_bytes: usize,
}

impl Default for SseOptions {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self {
            stalled_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
            sessions: 256,
            sessions_per_owner: 64,
            inbox: 16,
            running_calls: 64,
            running_bytes: 16 * MIB,
            waiting_events: 256,
            waiting_bytes: 4 * MIB,
        }
    }
}

/// Closes a connection. The listener adds one to the extensions of each request and drops the
/// connection when it is cancelled: a client that does not read blocks the HTTP layer in a write
/// that never ends, and nothing else ends it.
#[derive(Debug, Clone, Default)]
pub struct ConnectionCloser(pub CancellationToken);

/// Counts and ends the sessions.
#[derive(Clone)]
pub struct SseControl {
    sessions: Arc<SseSessions>,
}

impl SseControl {
    /// The number of sessions.
    pub fn active(&self) -> usize {
        self.sessions.len()
    }

    /// Accepts no new sessions and requests, lets running requests finish within the grace period,
    /// and ends every session. Responses and notifications of clients are still accepted, because a
    /// running call may wait for one.
    pub async fn drain(&self, grace: Duration) {
        let sessions = self.sessions.drain();
        let idle =
            futures::future::join_all(sessions.iter().map(|session| session.wait_until_idle()));
        let idle = tokio::time::timeout(grace, idle).await.is_ok();
        if !idle {
            tracing::warn!("sessions were ended before all their calls finished");
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

/// The state of both routes.
#[derive(Clone)]
struct SseState {
    sessions: Arc<SseSessions>,
    options: Arc<SseOptions>,
    start_session: Arc<dyn Fn(Arc<SseSession>, mpsc::Receiver<Inbound>) + Send + Sync>,
}

/// The routes `/sse` and `/messages`; each session gets its own handler.
pub fn routes<H: ServerHandler>(
    handler: impl Fn() -> H + Clone + Send + Sync + 'static,
    options: SseOptions,
) -> (Router, SseControl) {
    let sessions = Arc::new(SseSessions::default());
    let table = sessions.clone();
    let start_session = move |session: Arc<SseSession>, inbox| {
        let table = table.clone();
        let id = session.id.clone();
        let gone = move || table.remove(&id);
        tokio::spawn(transport::serve(handler(), session, inbox, gone));
    };
    let state = SseState {
        sessions: sessions.clone(),
        options: Arc::new(options),
        start_session: Arc::new(start_session),
    };
    let router = Router::new()
        .route(STREAM_PATH, get(routes::open_stream))
        .route(MESSAGES_PATH, post(routes::post_message))
        .with_state(state);
    (router, SseControl { sessions })
}
