//! All sessions with their owners and limits.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use deliberate_toolkit::Principal;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{
    SseOptions,
    session::{Inbound, SseSession, SseSessionOwner},
};

/// The open sessions.
#[derive(Default)]
pub(super) struct SseSessions(Mutex<SseSessionMap>);

#[derive(Default)]
struct SseSessionMap {
    sessions: HashMap<Arc<str>, Arc<SseSession>>,
    draining: bool,
}

/// The reason why a session cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SseOpenError {
    Stopping,
    ServerFull,
    OwnerFull,
}

impl SseSessions {
    /// Opens a session if there is room. A client that reconnects without resuming may have left
    /// sessions behind: the oldest of those makes room.
    pub(super) fn open(
        &self,
        owner: SseSessionOwner,
        options: &SseOptions,
    ) -> Result<(Arc<SseSession>, mpsc::Receiver<Inbound>), SseOpenError> {
        let mut inner = self.lock();
        if inner.draining {
            return Err(SseOpenError::Stopping);
        }
        let own = inner.sessions.values();
        let own = own.filter(|session| session.owner.shares_quota_with(&owner));
        let full = if own.count() >= options.sessions_per_owner {
            Some(SseOpenError::OwnerFull)
        } else if inner.sessions.len() >= options.sessions {
            Some(SseOpenError::ServerFull)
        } else {
            None
        };
        if let Some(full) = full {
            let left = inner.longest_disconnected(&owner).ok_or(full)?;
            inner.sessions.remove(&left.id);
            left.close();
        }
        let id: Arc<str> = Uuid::new_v4().simple().to_string().into();
        let (session, inbox) = SseSession::new(id.clone(), owner, options);
        inner.sessions.insert(id, session.clone());
        Ok((session, inbox))
    }

    /// Finds a session that belongs to the principal.
    pub(super) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<SseSession>> {
        let inner = self.lock();
        let session = inner.sessions.get(id)?;
        (session.owner.name == principal.name).then(|| session.clone())
    }

    pub(super) fn remove(&self, id: &str) {
        self.lock().sessions.remove(id);
    }

    pub(super) fn len(&self) -> usize {
        self.lock().sessions.len()
    }

    /// Stops opening sessions and returns the open ones.
    pub(super) fn drain(&self) -> Vec<Arc<SseSession>> {
        let mut inner = self.lock();
        inner.draining = true;
        let sessions: Vec<_> = inner.sessions.values().cloned().collect();
        for session in &sessions {
            session.begin_draining();
        }
        sessions
    }

    fn lock(&self) -> MutexGuard<'_, SseSessionMap> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SseSessionMap {
    /// The owner's session whose client has been disconnected longest.
    fn longest_disconnected(&self, owner: &SseSessionOwner) -> Option<Arc<SseSession>> {
        let own = self.sessions.values();
        own.filter(|session| session.owner.shares_quota_with(owner))
            .filter_map(|session| Some((session.disconnected_since()?, session)))
            .min_by_key(|(since, _)| *since)
            .map(|(_, session)| session.clone())
    }
}
