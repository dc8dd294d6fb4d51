//! One question asked by many at once is asked once.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared, WeakShared},
};

use super::{FetchResponse, HttpClientError};

type ResponseFuture = BoxFuture<'static, Result<FetchResponse, HttpClientError>>;

/// Questions that are being asked. Held weakly: one that nobody waits for any more ends.
#[derive(Default)]
pub(super) struct SingleFlight {
    by_key: Mutex<HashMap<String, WeakShared<ResponseFuture>>>,
}

impl SingleFlight {
    /// Joins those who ask the same, or is the first.
    pub(super) async fn join(
        &self,
        key: String,
        begin: impl FnOnce() -> ResponseFuture,
    ) -> Result<FetchResponse, HttpClientError> {
        self.get_or_start(key, begin).await
    }

    fn get_or_start(
        &self,
        key: String,
        begin: impl FnOnce() -> ResponseFuture,
    ) -> Shared<ResponseFuture> {
        let mut by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that are over are let go, so what is held is what is under way.
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
