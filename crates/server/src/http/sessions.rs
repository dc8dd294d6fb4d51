//! The sessions of `/mcp`, for clients of the handshake revisions that need them: few, each for who
//! opened it, and forgotten when it is idle. The SDK keeps what is said in them; this keeps who may
//! speak, and knows that a session in which something runs or listens is not idle, however silent.

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

use super::session_manager::HandingOn;

/// One who has a name may have this part of the sessions.
const SHARE: usize = 4;

/// How long the SDK waits for the first message of a session it has made room for.
const BEGINS_WITHIN: Duration = Duration::from_secs(10);

/// How often idle sessions are looked for: that part of the time they may be idle.
const LOOKS: u32 = 4;

/// How many sessions there may be, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct SessionOptions {
    /// At once.
    pub most: usize,
    /// How long an idle one is kept.
    pub idle: Duration,
}

/// Who opened a session; nobody in particular where all are nameless.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Owner(pub(super) Option<Arc<str>>);

pub(super) struct Sessions {
    manager: Arc<HandingOn>,
    options: Option<SessionOptions>,
    open: Mutex<HashMap<String, Session>>,
    /// Rooms for sessions that are about to be opened.
    promised: AtomicUsize,
}

/// Room for a session that is about to be opened.
pub(super) struct Room(Arc<Sessions>);

impl Drop for Room {
    fn drop(&mut self) {
        self.0.promised.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Session {
    owner: Owner,
    /// Requests and streams that are not over.
    visits: usize,
    /// The ids of those requests.
    ids: HashSet<String>,
    last_visit: Instant,
}

/// Why a session can't be entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoEntry {
    /// There is none of that id, or it is another's.
    Unknown,
    /// A request of the same id runs in it; the SDK would answer only one of them.
    SameId,
}

/// Something under way in a session.
pub(super) struct Visit {
    sessions: Weak<Sessions>,
    session: String,
    id: Option<String>,
}

impl Sessions {
    pub(super) fn new(options: Option<SessionOptions>) -> Arc<Self> {
        let mut config = SessionConfig::default();
        // Silence is not idleness: a model may take its time.
        config.keep_alive = None;
        config.init_timeout = Some(BEGINS_WITHIN);
        let mut manager = LocalSessionManager::default();
        manager.session_config = config;
        Arc::new(Self {
            manager: Arc::new(HandingOn(manager)),
            options,
            open: Mutex::default(),
            promised: AtomicUsize::new(0),
        })
    }

    pub(super) fn manager(&self) -> Arc<HandingOn> {
        self.manager.clone()
    }

    /// Whether there may be any.
    pub(super) const fn are_on(&self) -> bool {
        self.options.is_some()
    }

    pub(super) fn count(&self) -> usize {
        self.open().len()
    }

    /// Room for one more of that owner's, kept until it is opened or given up; `None` if there is
    /// none. Nobody who has a name may take more than their share.
    pub(super) fn room_for(self: &Arc<Self>, owner: &Owner) -> Option<Room> {
        let most = self.options.map_or(usize::MAX, |options| options.most);
        let open = self.open();
        let theirs = open.values().filter(|it| it.owner == *owner).count();
        let taken = open.len() + self.promised.load(Ordering::Relaxed);
        if taken >= most || (owner.0.is_some() && theirs >= most.div_ceil(SHARE)) {
            return None;
        }
        self.promised.fetch_add(1, Ordering::Relaxed);
        Some(Room(self.clone()))
    }

    pub(super) fn opened(&self, id: &str, owner: Owner) {
        let session = Session {
            owner,
            visits: 0,
            ids: HashSet::new(),
            last_visit: Instant::now(),
        };
        self.open().insert(id.to_owned(), session);
    }

    pub(super) fn closed(&self, id: &str) {
        self.open().remove(id);
    }

    /// Enters a session with a request of that id, or with a stream.
    pub(super) fn enter(
        self: &Arc<Self>,
        session: &str,
        owner: &Owner,
        id: Option<&str>,
    ) -> Result<Visit, NoEntry> {
        let mut open = self.open();
        let found = open.get_mut(session).filter(|it| it.owner == *owner);
        let found = found.ok_or(NoEntry::Unknown)?;
        if id.is_some_and(|id| !found.ids.insert(id.to_owned())) {
            return Err(NoEntry::SameId);
        }
        found.visits += 1;
        Ok(Visit {
            sessions: Arc::downgrade(self),
            session: session.to_owned(),
            id: id.map(str::to_owned),
        })
    }

    /// Ends idle sessions again and again, until nobody uses these any more.
    pub(super) async fn sweep(sessions: Weak<Self>, idle: Duration) {
        loop {
            tokio::time::sleep(idle / LOOKS).await;
            let Some(sessions) = sessions.upgrade() else {
                return;
            };
            for id in sessions.take_idle(idle) {
                // One that is gone already is gone.
                drop(sessions.manager.close_session(&id.into()).await);
            }
        }
    }

    fn take_idle(&self, idle: Duration) -> Vec<String> {
        let mut open = self.open();
        let is_idle = |it: &Session| it.visits == 0 && it.last_visit.elapsed() >= idle;
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

    fn open(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let Some(sessions) = self.sessions.upgrade() else {
            return;
        };
        let mut open = sessions.open();
        if let Some(session) = open.get_mut(&self.session) {
            session.visits = session.visits.saturating_sub(1);
            session.last_visit = Instant::now();
            if let Some(id) = &self.id {
                session.ids.remove(id);
            }
        }
    }
}
