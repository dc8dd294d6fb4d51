//! Turns: each source is asked no faster than its terms allow, and left alone for a while when it
//! says so. Requests at a time are counted in this process; their distance in time and cooldowns
//! are shared by all processes on this machine.

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

pub(super) use headers::{rate_limit_interval, retry_after};
use state_store::RateStateStore;

use super::request::SourceRateLimit;

/// Gives turns.
pub(super) struct SourceRateLimiter {
    clock: Arc<dyn Clock>,
    states: RateStateStore,
    semaphores: Mutex<HashMap<(String, usize), Arc<Semaphore>>>,
}

/// A turn; the next may begin when it is dropped.
#[derive(Debug)]
pub(super) struct RatePermit {
    pub(super) waited: Duration,
    was_throttled: bool,
    _permit: Option<OwnedSemaphorePermit>,
}

/// The least that is worth waiting when nobody knows how long.
const MIN_WAIT: Duration = Duration::from_secs(1);

impl SourceRateLimiter {
    pub(super) fn new(folder: Option<&Path>, clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            states: RateStateStore::new(folder),
            semaphores: Mutex::default(),
        }
    }

    /// Waits for a turn, or says how long it would be to wait.
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
            // While this one waited, another may have been told to slow down.
            if slot.wait.is_zero() || self.cooldown(&pace.name).await.is_zero() {
                return Ok(RatePermit {
                    waited: began.elapsed(),
                    was_throttled: slot.was_throttled,
                    _permit: place.ok(),
                });
            }
        }
    }

    /// The source said "slower"; gives the wait.
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
        tracing::debug!(source = pace.name, ?wait, "asked too often");
        wait
    }

    /// A request went well: the next trouble is a first one again.
    pub(super) async fn record_success(&self, pace: &SourceRateLimit, turn: &RatePermit) {
        if turn.was_throttled {
            let now = self.now();
            self.states
                .update(&pace.name, now, move |it| it.record_success(now))
                .await;
        }
    }

    /// Takes up the distance that the source asks for, if it is wider than ours.
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

    /// How long a source is still left alone; zero if it is not.
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
