//! An embedder that is too slow for questions is left alone for a while: not everyone who asks has to
//! wait for it.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How long it is left alone.
const COOLDOWN_TIME: Duration = Duration::from_secs(20);

/// Until when an embedder is left alone.
#[derive(Debug, Default)]
pub(crate) struct Cooldown(Mutex<Option<Instant>>);

impl Cooldown {
    /// Whether it is left alone now.
    pub(crate) fn is_active(&self) -> bool {
        let until = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    /// It was too slow just now.
    pub(crate) fn start(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Instant::now() + COOLDOWN_TIME);
    }
}
