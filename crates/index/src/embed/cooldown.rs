//! A cooldown for an embedder that is too slow for queries, so that not every query waits for it.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

const COOLDOWN_TIME: Duration = Duration::from_secs(20);

/// The end of an embedder's cooldown, if one is active.
#[derive(Debug, Default)]
pub(crate) struct Cooldown(Mutex<Option<Instant>>);

impl Cooldown {
    pub(crate) fn is_active(&self) -> bool {
        let until = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Starts the cooldown after a slow response.
    pub(crate) fn start(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Instant::now() + COOLDOWN_TIME);
    }
}
