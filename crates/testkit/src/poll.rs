//! Waiting for an effect that nothing announces.

use std::{
    panic::Location,
    time::{Duration, Instant},
};

/// Longer than anything takes on a busy machine; only a hang exceeds it.
const LIMIT: Duration = Duration::from_mins(1);
const INTERVAL: Duration = Duration::from_millis(5);

/// Waits until a condition holds.
#[track_caller]
pub fn wait_until(mut holds: impl FnMut() -> bool) -> impl Future<Output = ()> {
    let poll = Poll::start();
    async move {
        while !holds() {
            poll.pause().await;
        }
    }
}

/// Waits until a condition holds that takes time to find out.
#[track_caller]
pub fn wait_until_async(mut holds: impl AsyncFnMut() -> bool) -> impl Future<Output = ()> {
    let poll = Poll::start();
    async move {
        while !holds().await {
            poll.pause().await;
        }
    }
}

/// Waits for a value.
#[track_caller]
pub fn wait_for<T>(mut find: impl AsyncFnMut() -> Option<T>) -> impl Future<Output = T> {
    let poll = Poll::start();
    async move {
        loop {
            if let Some(value) = find().await {
                return value;
            }
            poll.pause().await;
        }
    }
}

/// A test that waits, and the line where it does.
struct Poll {
    caller: &'static Location<'static>,
    /// The machine's time, because a test may have paused the time of its runtime.
    start: Instant,
}

impl Poll {
    #[track_caller]
    fn start() -> Self {
        Self {
            caller: Location::caller(),
            start: Instant::now(),
        }
    }

    async fn pause(&self) {
        assert!(
            self.start.elapsed() < LIMIT,
            "{}: what the test waits for did not happen within {LIMIT:?}",
            self.caller
        );
        tokio::time::sleep(INTERVAL).await;
    }
}
