//! The background calls of this process: lets others wait for them and stop them. The module knows
//! neither the store nor the tools.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, PoisonError},
};

use deliberate_core::SuspensionId;
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use super::POLL_INTERVAL;

/// The most background calls of one owner.
const MAX_PER_OWNER: usize = 64;

/// The background calls that this process started or took over.
#[derive(Default)]
pub(crate) struct BackgroundCalls(Arc<Mutex<HashMap<SuspensionId, RunningBackgroundCall>>>);

#[derive(Clone)]
pub(super) struct RunningBackgroundCall {
    pub(super) owner: Option<String>,
    pub(super) stop: CancellationToken,
    pub(super) finished: watch::Receiver<()>,
    pub(super) status: StatusText,
}

/// Registers a running call until it is dropped, however the call ends.
pub(crate) struct RunningGuard {
    id: SuspensionId,
    calls: Arc<Mutex<HashMap<SuspensionId, RunningBackgroundCall>>>,
    _finished: watch::Sender<()>,
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.remove(&self.id);
    }
}

/// The latest progress message of a call.
#[derive(Debug, Clone, Default)]
pub(crate) struct StatusText(Arc<Mutex<(String, Option<Instant>)>>);

impl StatusText {
    pub(crate) fn set(&self, message: &str) {
        let (text, at) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        message.clone_into(text);
        *at = Some(Instant::now());
    }

    pub(super) fn get(&self) -> String {
        let status = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        status.0.clone()
    }

    /// Returns the time of the latest progress.
    pub(super) fn updated_at(&self) -> Option<Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}

impl BackgroundCalls {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SuspensionId, RunningBackgroundCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, id: &SuspensionId) -> Option<RunningBackgroundCall> {
        self.lock().get(id).cloned()
    }

    /// Returns the latest progress message of the call, if it runs here.
    pub(crate) fn status(&self, id: &SuspensionId) -> String {
        self.get(id)
            .map(|held| held.status.get())
            .unwrap_or_default()
    }

    /// Tells whether the call runs here.
    pub(crate) fn contains(&self, id: &SuspensionId) -> bool {
        self.lock().contains_key(id)
    }

    /// Tells whether an owner may have one more background call.
    pub(super) fn has_room_for(&self, owner: Option<&String>) -> bool {
        let theirs = |call: &&RunningBackgroundCall| call.owner.as_ref() == owner;
        self.lock().values().filter(theirs).count() < MAX_PER_OWNER
    }

    /// Registers a call; returns `None` if it is already registered.
    pub(super) fn register(
        &self,
        id: &SuspensionId,
        held: impl FnOnce(watch::Receiver<()>) -> RunningBackgroundCall,
    ) -> Option<RunningGuard> {
        let (tell, over) = watch::channel(());
        match self.lock().entry(id.clone()) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(place) => place.insert(held(over)),
        };
        Some(RunningGuard {
            id: id.clone(),
            calls: self.0.clone(),
            _finished: tell,
        })
    }

    /// Stops the call; returns false if it does not run here.
    pub(crate) fn stop(&self, id: &SuspensionId) -> bool {
        self.get(id).map(|held| held.stop.cancel()).is_some()
    }

    /// Waits until the call may have ended.
    pub(crate) async fn wait_for(&self, id: &SuspensionId) {
        match self.get(id) {
            // An error means that the call has ended.
            Some(mut held) => drop(held.finished.changed().await),
            // The call runs in another process, which can't notify this one.
            None => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }

    /// Waits until no call is left.
    pub(super) async fn wait_for_all(&self) {
        loop {
            let Some(mut held) = self.lock().values().next().cloned() else {
                return;
            };
            drop(held.finished.changed().await);
            tokio::task::yield_now().await;
        }
    }
}
