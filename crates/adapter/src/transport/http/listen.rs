//! The stream for what a server of the handshake era says unasked. Not every server has one.

use std::{sync::Arc, time::Duration};

use tokio::{sync::oneshot, time::Instant};

use super::{
    events::Events,
    pause::pause,
    shared::{Ended, Shared, Stream},
};
use crate::transport::Incoming;

/// The longest wait between two tries, unless the server asks for more.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// A stream that lived so long was none that failed.
const LIVED: Duration = Duration::from_secs(30);

/// Listens for as long as the server lets us. `tried` is dropped once that has begun, or can't.
pub(super) async fn run(shared: Arc<Shared>, tried: oneshot::Sender<()>) {
    let mut tried = Some(tried);
    let mut events = Events::new(shared.exchange.limits.message_bytes);
    let mut failures = 0;
    loop {
        let stream = shared.open_stream(events.last_id()).await;
        drop(tried.take());
        match stream {
            Stream::None(reason) => {
                tracing::debug!(reason, "the server has no stream of its own");
                return;
            }
            Stream::Later => failures += 1,
            Stream::Open(mut response) => {
                let since = Instant::now();
                let ended = (shared.read_stream(&mut response, &mut events, None)).await;
                let heard = matches!(ended, Ended::Over { heard: true, .. });
                if matches!(ended, Ended::TooLarge) {
                    let said = "an event on the server's own stream was larger than allowed";
                    shared.inbox.put(Incoming::Garbage(said.to_owned()));
                    events.forget_place();
                }
                failures = if heard || since.elapsed() > LIVED {
                    0
                } else {
                    failures + 1
                };
                events.restart();
            }
        }
        tokio::time::sleep(pause(events.retry(), failures, LONGEST_PAUSE)).await;
    }
}
