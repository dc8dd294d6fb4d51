//! The sessions of `/mcp` for clients of the handshake revisions: limited in number, bound to their
//! owner, and closed when idle. The SDK holds the messages of a session; this module holds its
//! owner and knows that a session with a running request or an open stream is not idle.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rmcp::transport::streamable_http_server::{
    SessionManager,
    session::local::{LocalSessionManager, SessionConfig},
};
use tokio::time::Instant;

use super::raw_session_manager::RawSessionManager;

/// A named owner may have one part in this many of the sessions.
const MAX_OWNER_SHARE: usize = 4;

/// How long the SDK waits for the first message of a new session.
const INIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The number of idle checks within one idle timeout.
const SWEEPS_PER_IDLE_TIME: u32 = 4;

/// Limits of sessions.
#[derive(Debug, Clone, Copy)]
pub struct SessionOptions {
    pub max_sessions: usize,
    pub idle_timeout: Duration,
}

/// The principal that opened a session; `None` without authentication.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct McpSessionOwner(pub(super) Option<Arc<str>>);

pub(super) struct McpSessions {
    manager: Arc<RawSessionManager>,
    options: Option<SessionOptions>,
    open: Mutex<HashMap<String, McpSession>>,
    /// The number of reservations for sessions that are being opened.
    reserved: AtomicUsize,
}

/// A reservation for a session that is being opened.
pub(super) struct SessionReservation(Arc<McpSessions>);

impl Drop for SessionReservation {
    fn drop(&mut self) {
        self.0.reserved.fetch_sub(1, Ordering::Relaxed);
    }
}

struct McpSession {
    owner: McpSessionOwner,
    /// Whether the client's revision has batches.
    accepts_batches: bool,
    /// The number of running requests and open streams.
    uses: usize,
    /// The ids of the running requests.
    request_ids: HashSet<String>,
    last_used: Instant,
}

/// The reason why a session cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum McpSessionError {
    /// No session has this id, or it belongs to another owner.
    Unknown,
    /// A request with the same id is running; the SDK would answer only one of them.
    DuplicateRequestId,
}

/// A running request or an open stream of a session.
pub(super) struct SessionUse {
    sessions: Weak<McpSessions>,
    session_id: String,
    request_id: Option<String>,
}

impl McpSessions {
    pub(super) fn new(options: Option<SessionOptions>) -> Arc<Self> {
        let mut config = SessionConfig::default();
        // A session without messages need not be idle: a model may still be working.
        config.keep_alive = None;
        config.init_timeout = Some(INIT_TIMEOUT);
        let mut manager = LocalSessionManager::default();
        manager.session_config = config;
        Arc::new(Self {
            manager: Arc::new(RawSessionManager(manager)),
            options,
            open: Mutex::default(),
            reserved: AtomicUsize::new(0),
        })
    }

    pub(super) fn manager(&self) -> Arc<RawSessionManager> {
        self.manager.clone()
    }

    /// Tells whether sessions are allowed.
    pub(super) const fn are_enabled(&self) -> bool {
        self.options.is_some()
    }

    pub(super) fn count(&self) -> usize {
        self.lock_sessions().len()
    }

    /// Reserves a session for the owner until it is opened or dropped; `None` if there is no room.
    /// A named owner may not exceed its share.
    pub(super) fn reserve(self: &Arc<Self>, owner: &McpSessionOwner) -> Option<SessionReservation> {
        let most = self
            .options
            .map_or(usize::MAX, |options| options.max_sessions);
        let open = self.lock_sessions();
        let theirs = open.values().filter(|it| it.owner == *owner).count();
        let taken = open.len() + self.reserved.load(Ordering::Relaxed);
        if taken >= most || (owner.0.is_some() && theirs >= most.div_ceil(MAX_OWNER_SHARE)) {
            return None;
        }
        self.reserved.fetch_add(1, Ordering::Relaxed);
        Some(SessionReservation(self.clone()))
    }

    /// Adds an open session; `accepts_batches` tells whether its revision has batches.
    pub(super) fn add(&self, id: &str, owner: McpSessionOwner, accepts_batches: bool) {
        let session = McpSession {
            owner,
            accepts_batches,
            uses: 0,
            request_ids: HashSet::new(),
            last_used: Instant::now(),
        };
        self.lock_sessions().insert(id.to_owned(), session);
    }

    /// Tells whether the revision of a session has batches.
    pub(super) fn accepts_batches(&self, id: &str) -> bool {
        let open = self.lock_sessions();
        open.get(id).is_some_and(|session| session.accepts_batches)
    }

    pub(super) fn remove(&self, id: &str) {
        self.lock_sessions().remove(id);
    }

    /// Registers a request with that id, or a stream, in a session.
    pub(super) fn begin_use(
        self: &Arc<Self>,
        session: &str,
        owner: &McpSessionOwner,
        id: Option<&str>,
    ) -> Result<SessionUse, McpSessionError> {
        let mut open = self.lock_sessions();
        let found = open.get_mut(session).filter(|it| it.owner == *owner);
        let found = found.ok_or(McpSessionError::Unknown)?;
        if id.is_some_and(|id| !found.request_ids.insert(id.to_owned())) {
            return Err(McpSessionError::DuplicateRequestId);
        }
        found.uses += 1;
        Ok(SessionUse {
            sessions: Arc::downgrade(self),
            session_id: session.to_owned(),
            request_id: id.map(str::to_owned),
        })
    }

    /// Closes idle sessions periodically until the sessions are dropped.
    pub(super) async fn run_idle_sweep(sessions: Weak<Self>, idle: Duration) {
        loop {
            tokio::time::sleep(idle / SWEEPS_PER_IDLE_TIME).await;
            let Some(sessions) = sessions.upgrade() else {
                return;
            };
            for id in sessions.remove_idle(idle) {
                // The session may already be closed.
                drop(sessions.manager.close_session(&id.into()).await);
            }
        }
    }

    fn remove_idle(&self, idle: Duration) -> Vec<String> {
        let mut open = self.lock_sessions();
        let is_idle = |it: &McpSession| it.uses == 0 && it.last_used.elapsed() >= idle;
        let ids: Vec<String> = open
            .iter()
            .filter(|(_, it)| is_idle(it))
            .map(|(id, _)| id.clone())
            .collect();
        for id in &ids {
            open.remove(id);
        }
        ids
    }

    fn lock_sessions(&self) -> MutexGuard<'_, HashMap<String, McpSession>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SessionUse {
    fn drop(&mut self) {
        let Some(sessions) = self.sessions.upgrade() else {
            return;
        };
        let mut open = sessions.lock_sessions();
        if let Some(session) = open.get_mut(&self.session_id) {
            session.uses = session.uses.saturating_sub(1);
            session.last_used = Instant::now();
            if let Some(id) = &self.request_id {
                session.request_ids.remove(id);
            }
        }
    }
}
