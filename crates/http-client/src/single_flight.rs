//! Combines concurrent identical requests into one.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared, WeakShared},
};

/// The requests in flight, referenced weakly: a request that nobody awaits is cancelled.
pub struct SingleFlight<T> {
    by_key: Mutex<HashMap<String, WeakShared<BoxFuture<'static, T>>>>,
}

impl<T> Default for SingleFlight<T> {
    fn default() -> Self {
        Self {
            by_key: Mutex::default(),
        }
    }
}

impl<T: Clone> SingleFlight<T> {
    /// Joins an identical request in flight or starts a new one.
    pub async fn join(&self, key: String, begin: impl FnOnce() -> BoxFuture<'static, T>) -> T {
        self.get_or_start(key, begin).await
    }

    fn get_or_start(
        &self,
        key: String,
        begin: impl FnOnce() -> BoxFuture<'static, T>,
    ) -> Shared<BoxFuture<'static, T>> {
        let mut by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        // Finished requests are removed, so the map holds only those in flight.
        by_key.retain(|_, it| it.upgrade().is_some_and(|it| it.peek().is_none()));
        if let Some(flight) = by_key.get(&key).and_then(WeakShared::upgrade) {
            return flight;
        }
        let flight = begin().shared();
        if let Some(weak) = flight.downgrade() {
            by_key.insert(key, weak);
        }
        flight
    }
}
