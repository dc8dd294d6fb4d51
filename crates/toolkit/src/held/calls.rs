//! The calls of this process that run on: who asks for one waits for it here, and can stop it.
//! Knows neither the store nor what the calls do.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, PoisonError},
};

use deliberate_core::SuspensionId;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::NOT_YET;

/// How many calls of one owner may run on without anyone waiting for them.
const MOST_EACH: usize = 64;

/// The calls of this process that run on, or were taken over.
#[derive(Default)]
pub(crate) struct HeldCalls(Arc<Mutex<HashMap<SuspensionId, Held>>>);

#[derive(Clone)]
pub(super) struct Held {
    pub(super) owner: Option<String>,
    pub(super) stop: CancellationToken,
    pub(super) over: watch::Receiver<()>,
    pub(super) doing: Doing,
}

/// That a call runs here. Dropped when it is over, however it came to an end.
pub(crate) struct Presence {
    id: SuspensionId,
    calls: Arc<Mutex<HashMap<SuspensionId, Held>>>,
    _tell: watch::Sender<()>,
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.remove(&self.id);
    }
}

/// What a call was doing last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Doing(Arc<Mutex<String>>);

impl Doing {
    pub(crate) fn say(&self, message: &str) {
        message.clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) fn said(&self) -> String {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl HeldCalls {
    fn map(&self) -> std::sync::MutexGuard<'_, HashMap<SuspensionId, Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, id: &SuspensionId) -> Option<Held> {
        self.map().get(id).cloned()
    }

    /// What the call of that id was doing last, if it runs here.
    pub(crate) fn doing(&self, id: &SuspensionId) -> String {
        self.get(id)
            .map(|held| held.doing.said())
            .unwrap_or_default()
    }

    /// Whether the call of that id runs here.
    pub(crate) fn has(&self, id: &SuspensionId) -> bool {
        self.map().contains_key(id)
    }

    /// Whether an owner may leave one more call to run on.
    pub(super) fn has_room_for(&self, owner: Option<&String>) -> bool {
        let theirs = |held: &&Held| held.owner.as_ref() == owner;
        self.map().values().filter(theirs).count() < MOST_EACH
    }

    /// Enters a call; `None` if it is there already.
    pub(super) fn enter(
        &self,
        id: &SuspensionId,
        held: impl FnOnce(watch::Receiver<()>) -> Held,
    ) -> Option<Presence> {
        let (tell, over) = watch::channel(());
        match self.map().entry(id.clone()) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(place) => place.insert(held(over)),
        };
        Some(Presence {
            id: id.clone(),
            calls: self.0.clone(),
            _tell: tell,
        })
    }

    /// Stops the call of that id; false if it does not run here.
    pub(crate) fn stop(&self, id: &SuspensionId) -> bool {
        self.get(id).map(|held| held.stop.cancel()).is_some()
    }

    /// Waits until the call of that id may be over.
    pub(crate) async fn wait_for(&self, id: &SuspensionId) {
        match self.get(id) {
            // An error says that it is over.
            Some(mut held) => drop(held.over.changed().await),
            // It runs in another process, which does not tell us.
            None => tokio::time::sleep(NOT_YET).await,
        }
    }

    /// Waits until none is left.
    pub(super) async fn wait_for_all(&self) {
        loop {
            let Some(mut held) = self.map().values().next().cloned() else {
                return;
            };
            drop(held.over.changed().await);
            tokio::task::yield_now().await;
        }
    }
}
