//! `/ws/progress`: the progress of calls over a WebSocket. The module `progress` decides what a
//! watcher sees; this one only handles the socket.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{
        Query, Request, State,
        ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code},
    },
    response::{IntoResponse, Response},
    routing::any,
};
use bytes::Bytes;
use deliberate_toolkit::Principal;
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::{
    guard::AccessLease,
    progress::{ProgressHub, WatcherGuard},
};

const PATH: &str = "/ws/progress";
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("5");
/// The write buffer of the socket, in addition to the queue.
const WRITE_BUFFER: usize = 64 * 1024;

#[derive(Deserialize)]
struct ProgressQuery {
    /// Restricts the messages to the calls of one tool.
    tool: Option<String>,
}

/// The route. The listener must allow upgrades.
pub fn routes(hub: Arc<ProgressHub>) -> Router {
    Router::new()
        .route(PATH, any(upgrade_watcher))
        .with_state(hub)
}

async fn upgrade_watcher(
    State(hub): State<Arc<ProgressHub>>,
    Query(wish): Query<ProgressQuery>,
    upgrade: WebSocketUpgrade,
    request: Request,
) -> Response {
    let principal = request.extensions().get::<Principal>().cloned();
    let principal = principal.unwrap_or_default();
    let lease = request.extensions().get::<AccessLease>().cloned();
    let Some(place) = hub.watch(&principal, wish.tool) else {
        let sentence = "the server has reached its limit of watchers; try again later";
        let retry = [(header::RETRY_AFTER, RETRY_AFTER)];
        return (StatusCode::SERVICE_UNAVAILABLE, retry, sentence).into_response();
    };
    let ping_every = hub.options.ping_every;
    let closed = hub.closed.clone();
    upgrade
        .max_message_size(hub.options.message_bytes)
        .max_frame_size(hub.options.message_bytes)
        .write_buffer_size(0)
        .max_write_buffer_size(WRITE_BUFFER)
        .on_upgrade(move |socket| run_watcher(socket, place, ping_every, closed, lease))
}

/// Sends messages to a watcher until it disconnects, stays silent or does not read.
async fn run_watcher(
    mut socket: WebSocket,
    guard: WatcherGuard,
    ping_every: Duration,
    closed: CancellationToken,
    lease: Option<AccessLease>,
) {
    let revoked = async {
        match lease {
            Some(lease) => lease.ended().await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(revoked);
    let mut ping = tokio::time::interval(ping_every);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ping.reset();
    let mut heard = Instant::now();
    loop {
        let message = tokio::select! {
            biased;
            () = closed.cancelled() => Message::Close(Some(CloseFrame {
                code: close_code::AWAY,
                reason: "the server is stopping".into(),
            })),
            () = &mut revoked => Message::Close(Some(CloseFrame {
                code: close_code::POLICY,
                reason: "the token is no longer accepted".into(),
            })),
            received = socket.recv() => match received {
                // Every message shows that the watcher is alive; the socket answers pings itself.
                Some(Ok(message)) if !matches!(message, Message::Close(_)) => {
                    heard = Instant::now();
                    continue;
                }
                _ => return,
            },
            _ = ping.tick() => {
                if heard.elapsed() > ping_every * 2 {
                    return;
                }
                Message::Ping(Bytes::new())
            }
            text = guard.watcher.next_message() => Message::Text(text),
        };
        let last = matches!(message, Message::Close(_));
        let sent = tokio::time::timeout(ping_every, socket.send(message)).await;
        if last || !matches!(sent, Ok(Ok(()))) {
            return;
        }
    }
}
