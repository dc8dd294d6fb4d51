//! The background calls of this process: lets others wait for them and stop them. The module knows
//! neither the store nor the tools.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use deliberate_core::SuspensionId;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::context::progress::SharedProgress;

/// How long to wait before looking again at what can't be waited for.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The most background calls of one owner.
const MAX_PER_OWNER: usize = 64;

/// The background calls that this process started or took over.
#[derive(Default)]
pub(crate) struct BackgroundCalls(Arc<Mutex<HashMap<SuspensionId, RunningBackgroundCall>>>);

#[derive(Clone)]
struct RunningBackgroundCall {
    owner: Option<String>,
    stop: CancellationToken,
    finished: watch::Receiver<()>,
    progress: SharedProgress,
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

impl BackgroundCalls {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SuspensionId, RunningBackgroundCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, id: &SuspensionId) -> Option<RunningBackgroundCall> {
        self.lock().get(id).cloned()
    }

    /// Returns the progress of the call, if it runs here.
    pub(super) fn progress(&self, id: &SuspensionId) -> Option<SharedProgress> {
        self.get(id).map(|call| call.progress)
    }

    /// Tells whether the call runs here.
    pub(super) fn contains(&self, id: &SuspensionId) -> bool {
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
        owner: Option<String>,
        stop: CancellationToken,
        progress: SharedProgress,
    ) -> Option<RunningGuard> {
        let (sender, finished) = watch::channel(());
        match self.lock().entry(id.clone()) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(vacant) => vacant.insert(RunningBackgroundCall {
                owner,
                stop,
                finished,
                progress,
            }),
        };
        Some(RunningGuard {
            id: id.clone(),
            calls: self.0.clone(),
            _finished: sender,
        })
    }

    /// Stops the call; returns false if it does not run here.
    pub(super) fn stop(&self, id: &SuspensionId) -> bool {
        self.get(id).map(|call| call.stop.cancel()).is_some()
    }

    /// Waits until the call may have ended.
    pub(super) async fn wait_for(&self, id: &SuspensionId) {
        match self.get(id) {
            // An error means that the call has ended.
            Some(mut call) => drop(call.finished.changed().await),
            // The call runs in another process, which can't notify this one.
            None => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }

    /// Waits until no call is left.
    pub(super) async fn wait_for_all(&self) {
        loop {
            let Some(mut call) = self.lock().values().next().cloned() else {
                return;
            };
            drop(call.finished.changed().await);
            tokio::task::yield_now().await;
        }
    }
}
