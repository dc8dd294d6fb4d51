//! All sessions: who may open one, and whose is whose.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use deliberate_toolkit::Principal;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{
    SseOptions,
    session::{Inbound, Owner, Session},
};

/// The sessions there are.
#[derive(Default)]
pub(super) struct Table(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    sessions: HashMap<Arc<str>, Arc<Session>>,
    draining: bool,
}

/// Why no session is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    Stopping,
    Everyone,
    Owner,
}

impl Table {
    /// Opens a session, if there is room. A client that comes back without saying who it was may
    /// have left sessions behind: the oldest of those makes room.
    pub(super) fn open(
        &self,
        owner: Owner,
        options: &SseOptions,
    ) -> Result<(Arc<Session>, mpsc::Receiver<Inbound>), Full> {
        let mut inner = self.inner();
        if inner.draining {
            return Err(Full::Stopping);
        }
        let own = inner.sessions.values();
        let own = own.filter(|session| session.owner.counts_with(&owner));
        let full = if own.count() >= options.sessions_each {
            Some(Full::Owner)
        } else if inner.sessions.len() >= options.sessions {
            Some(Full::Everyone)
        } else {
            None
        };
        if let Some(full) = full {
            let left = inner.left_behind(&owner).ok_or(full)?;
            inner.sessions.remove(&left.id);
            left.close();
        }
        let id: Arc<str> = Uuid::new_v4().simple().to_string().into();
        let (session, inbox) = Session::new(id.clone(), owner, options);
        inner.sessions.insert(id, session.clone());
        Ok((session, inbox))
    }

    /// The session of that id, if it is theirs.
    pub(super) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        let inner = self.inner();
        let session = inner.sessions.get(id)?;
        (session.owner.name == principal.name).then(|| session.clone())
    }

    pub(super) fn remove(&self, id: &str) {
        self.inner().sessions.remove(id);
    }

    pub(super) fn len(&self) -> usize {
        self.inner().sessions.len()
    }

    /// Opens no more sessions; gives those that are open.
    pub(super) fn drain(&self) -> Vec<Arc<Session>> {
        let mut inner = self.inner();
        inner.draining = true;
        let sessions: Vec<_> = inner.sessions.values().cloned().collect();
        for session in &sessions {
            session.begin_draining();
        }
        sessions
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Of that owner's sessions, the one whose client has been gone longest.
    fn left_behind(&self, owner: &Owner) -> Option<Arc<Session>> {
        let own = self.sessions.values();
        own.filter(|session| session.owner.counts_with(owner))
            .filter_map(|session| Some((session.lost_since()?, session)))
            .min_by_key(|(since, _)| *since)
            .map(|(_, session)| session.clone())
    }
}
