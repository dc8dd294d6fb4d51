//! All sessions with their owners and limits.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use deliberate_toolkit::Principal;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{
    ConnectionCloser, SseOptions,
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

impl SseSessions {
    /// Opens a session if there is room; the error says why not.
    pub(super) fn open(
        &self,
        owner: SseSessionOwner,
        closer: Option<ConnectionCloser>,
        options: &Arc<SseOptions>,
    ) -> Result<(Arc<SseSession>, mpsc::Receiver<Inbound>), &'static str> {
        let mut inner = self.lock();
        if inner.draining {
            return Err("the server is stopping; try again later");
        }
        let own = inner.sessions.values();
        let own = own.filter(|session| session.owner.shares_quota_with(&owner));
        if own.count() >= options.sessions_per_owner {
            return Err("you have reached your limit of sessions; close one, or try again later");
        }
        if inner.sessions.len() >= options.sessions {
            return Err("the server has reached its limit of sessions; try again later");
        }
        let id: Arc<str> = Uuid::new_v4().simple().to_string().into();
        let (session, inbox) = SseSession::new(id.clone(), owner, closer, options);
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
