//! Turns: each source is asked no faster than its terms allow, and left alone for a while when it
//! says so. Requests at a time are counted in this process; their distance in time and cooldowns
//! are shared by all processes on this machine.

mod headers;
mod keep;
mod state;

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

pub(super) use headers::{rate_of, retry_after};
use keep::Keep;

use super::request::Pace;

/// Gives turns.
pub(super) struct Pacer {
    clock: Arc<dyn Clock>,
    keep: Keep,
    doors: Mutex<HashMap<(String, usize), Arc<Semaphore>>>,
}

/// A turn; the next may begin when it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) waited: Duration,
    in_trouble: bool,
    _place: Option<OwnedSemaphorePermit>,
}

/// The least that is worth waiting when nobody knows how long.
const LEAST_WAIT: Duration = Duration::from_secs(1);

impl Pacer {
    pub(super) fn new(folder: Option<&Path>, clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            keep: Keep::new(folder),
            doors: Mutex::default(),
        }
    }

    /// Waits for a turn, or says how long it would be to wait.
    pub(super) async fn turn(&self, pace: &Pace, patience: Duration) -> Result<Turn, Duration> {
        let began = Instant::now();
        let place = timeout(patience, self.door(pace).acquire_owned())
            .await
            .map_err(|_| pace.every.max(LEAST_WAIT))?;
        loop {
            let left = patience.saturating_sub(began.elapsed());
            let now = self.now();
            let every = pace.every;
            let taking = self
                .keep
                .change(&pace.name, now, move |it| it.take(now, every, left));
            let slot = taking.await?;
            sleep(slot.wait).await;
            // While this one waited, another may have been told to slow down.
            if slot.wait.is_zero() || self.cooling(&pace.name).await.is_zero() {
                return Ok(Turn {
                    waited: began.elapsed(),
                    in_trouble: slot.in_trouble,
                    _place: place.ok(),
                });
            }
        }
    }

    /// The source said "slower"; gives the wait.
    pub(super) async fn throttled(&self, pace: &Pace, asked: Option<Duration>) -> Duration {
        let now = self.now();
        let cooling = self
            .keep
            .change(&pace.name, now, move |it| it.throttled(now, asked));
        let wait = cooling.await;
        tracing::debug!(source = pace.name, ?wait, "asked too often");
        wait
    }

    /// A request went well: the next trouble is a first one again.
    pub(super) async fn went_well(&self, pace: &Pace, turn: &Turn) {
        if turn.in_trouble {
            let now = self.now();
            self.keep
                .change(&pace.name, now, move |it| it.went_well(now))
                .await;
        }
    }

    /// Takes up the distance that the source asks for, if it is wider than ours.
    pub(super) async fn learn(&self, pace: &Pace, every: Duration) {
        let wider = if every > pace.every {
            u64::try_from(every.as_micros()).unwrap_or(u64::MAX)
        } else {
            0
        };
        self.keep
            .change(&pace.name, self.now(), move |it| it.slower = wider)
            .await;
    }

    /// How long a source is still left alone; zero if it is not.
    pub(super) async fn cooling(&self, name: &str) -> Duration {
        let now = self.now();
        self.keep.change(name, now, move |it| it.cooling(now)).await
    }

    fn now(&self) -> i64 {
        self.clock.now().as_micros()
    }

    fn door(&self, pace: &Pace) -> Arc<Semaphore> {
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        doors.retain(|_, it| Arc::strong_count(it) > 1);
        let places = pace.at_once.clamp(1, Semaphore::MAX_PERMITS);
        let door = doors.entry((pace.name.clone(), places));
        Arc::clone(door.or_insert_with(|| Arc::new(Semaphore::new(places))))
    }
}
