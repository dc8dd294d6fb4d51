//! The GET stream, on which a server of the handshake era sends messages of its own. Not every
//! server has one.

use std::{sync::Arc, time::Duration};

use deliberate_http_client::{SseParser, reconnect_delay};
use tokio::{sync::oneshot, time::Instant};

use super::session::{HttpSession, StreamAttempt, StreamEnd};
use crate::transport::IncomingEvent;

/// The longest delay between two attempts, unless the server asks for more.
const MAX_BACKOFF: Duration = Duration::from_mins(1);

/// A stream that lasted this long does not count as a failure.
const MIN_STABLE_STREAM: Duration = Duration::from_secs(30);

/// Reads the stream for as long as the server provides it. `tried` is dropped once the stream is
/// open or has been rejected.
pub(super) async fn run(shared: Arc<HttpSession>, tried: oneshot::Sender<()>) {
    let mut tried = Some(tried);
    let mut events = SseParser::new(shared.sender.limits.message_bytes);
    let mut failures = 0;
    loop {
        let stream = shared.open_stream(events.last_id()).await;
        drop(tried.take());
        match stream {
            StreamAttempt::Unavailable(reason) => {
                tracing::debug!(reason, "the server provides no GET stream");
                return;
            }
            StreamAttempt::RetryLater => failures += 1,
            StreamAttempt::Open(mut response) => {
                let since = Instant::now();
                let ended = (shared.read_stream(&mut response, &mut events, None)).await;
                let heard = matches!(ended, StreamEnd::Interrupted { heard: true, .. });
                if matches!(ended, StreamEnd::TooLarge) {
                    let text = "an event on the GET stream exceeds the size limit";
                    shared
                        .incoming
                        .push(IncomingEvent::Garbage(text.to_owned()));
                    events.clear_last_id();
                }
                failures = if heard || since.elapsed() > MIN_STABLE_STREAM {
                    0
                } else {
                    failures + 1
                };
                events.restart();
            }
        }
        tokio::time::sleep(reconnect_delay(events.retry(), failures, MAX_BACKOFF)).await;
    }
}
