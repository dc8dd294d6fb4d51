//! The rate limiter. It keeps the request rate of each source within the source's terms and pauses
//! after a throttled request. Concurrency is counted per process; the interval between requests and
//! the cooldowns are shared by all processes on this machine.

mod headers;
mod state;
mod state_store;

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use deliberate_core::Clock;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep, timeout},
};

pub(super) use headers::{MAX_WAIT, rate_limit_interval};
use state_store::RateStateStore;

use super::request::SourceRateLimit;

/// Grants permits for requests to sources.
pub(super) struct SourceRateLimiter {
    clock: Arc<dyn Clock>,
    states: RateStateStore,
    semaphores: Mutex<HashMap<(String, usize), Arc<Semaphore>>>,
}

/// The permit to send one request. Dropping it lets the next request start.
#[derive(Debug)]
pub(super) struct RatePermit {
    pub(super) waited: Duration,
    was_throttled: bool,
    _permit: Option<OwnedSemaphorePermit>,
}

/// The shortest wait that is reported when the actual one is unknown.
const MIN_WAIT: Duration = Duration::from_secs(1);

impl SourceRateLimiter {
    pub(super) fn new(folder: Option<&Path>, clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            states: RateStateStore::new(folder),
            semaphores: Mutex::default(),
        }
    }

    /// Waits for a permit; an error with the wait if it would take too long.
    pub(super) async fn acquire(
        &self,
        pace: &SourceRateLimit,
        patience: Duration,
    ) -> Result<RatePermit, Duration> {
        let began = Instant::now();
        let place = timeout(patience, self.semaphore(pace).acquire_owned())
            .await
            .map_err(|_| pace.interval.max(MIN_WAIT))?;
        loop {
            let left = patience.saturating_sub(began.elapsed());
            let now = self.now();
            let every = pace.interval;
            let taking = self
                .states
                .update(&pace.name, now, move |it| it.reserve(now, every, left));
            let slot = taking.await?;
            sleep(slot.wait).await;
            // While this request waited, another one may have been throttled.
            if slot.wait.is_zero() || self.cooldown(&pace.name).await.is_zero() {
                return Ok(RatePermit {
                    waited: began.elapsed(),
                    was_throttled: slot.was_throttled,
                    _permit: place.ok(),
                });
            }
        }
    }

    /// Records that the source throttled a request; returns the wait.
    pub(super) async fn record_throttle(
        &self,
        pace: &SourceRateLimit,
        asked: Option<Duration>,
    ) -> Duration {
        let now = self.now();
        let cooling = self
            .states
            .update(&pace.name, now, move |it| it.record_throttle(now, asked));
        let wait = cooling.await;
        tracing::debug!(source = pace.name, ?wait, "rate limited by the source");
        wait
    }

    /// Records a successful request, which resets the growing cooldown.
    pub(super) async fn record_success(&self, pace: &SourceRateLimit, turn: &RatePermit) {
        if turn.was_throttled {
            let now = self.now();
            self.states
                .update(&pace.name, now, move |it| it.record_success(now))
                .await;
        }
    }

    /// Adopts the interval that the source requests if it is longer than ours.
    pub(super) async fn apply_rate_limit(&self, pace: &SourceRateLimit, every: Duration) {
        let wider = if every > pace.interval {
            u64::try_from(every.as_micros()).unwrap_or(u64::MAX)
        } else {
            0
        };
        self.states
            .update(&pace.name, self.now(), move |it| it.slower = wider)
            .await;
    }

    /// The rest of a source's cooldown; zero if there is none.
    pub(super) async fn cooldown(&self, name: &str) -> Duration {
        let now = self.now();
        self.states
            .update(name, now, move |it| it.cooldown(now))
            .await
    }

    fn now(&self) -> i64 {
        self.clock.now().as_micros()
    }

    fn semaphore(&self, pace: &SourceRateLimit) -> Arc<Semaphore> {
        let mut doors = self
            .semaphores
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        doors.retain(|_, it| Arc::strong_count(it) > 1);
        let places = pace.max_concurrent.clamp(1, Semaphore::MAX_PERMITS);
        let door = doors.entry((pace.name.clone(), places));
        Arc::clone(door.or_insert_with(|| Arc::new(Semaphore::new(places))))
    }
}
