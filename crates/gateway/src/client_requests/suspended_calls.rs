//! Calls that wait until they are sent again with what was asked for.
//!
//! Each is known by a random name that is given out once, and belongs to who made the call and to
//! the very call that was made: anyone else is told the same as of one that never was.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Map, Value};
use tokio::{sync::mpsc, task::AbortHandle, time::Instant};
use uuid::Uuid;

use super::ServerRequest;
use crate::gateway::UpstreamCall;

/// How long a call waits.
const SUSPENSION_TIMEOUT: Duration = Duration::from_mins(10);
/// Calls that wait at once.
const MAX_SUSPENDED: usize = 100;
/// Calls of one server that wait at once: each takes one of the server's places.
const MAX_PER_SERVER: usize = 16;
/// Calls of one caller that wait at once: their oldest gives way, so that nobody keeps others out.
const MAX_PER_OWNER: usize = 8;
/// What the names begin with.
const STATE_PREFIX: &str = "gw-";

/// A call that waits.
pub(crate) enum SuspendedUpstreamCall {
    /// The server waits within the call, which was not answered yet.
    InCall {
        /// The call.
        call: UpstreamCall,
        /// What else is asked meanwhile.
        requests: mpsc::Receiver<ServerRequest>,
        /// What was asked, by name.
        open_requests: Vec<(String, ServerRequest)>,
    },
    /// The server waits for the call to be sent again.
    BetweenCalls {
        /// The server that asked; not always the one that was called.
        server: String,
        /// What it wants to have back.
        state: Option<String>,
        /// What was answered without the client.
        responses: Map<String, Value>,
    },
}

/// Whose call it is, and which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallIdentity {
    pub(crate) owner: Option<String>,
    pub(crate) server: String,
    pub(crate) digest: String,
}

struct SuspendedEntry {
    identity: CallIdentity,
    expires_at: Instant,
    call: SuspendedUpstreamCall,
    _expiry: ExpiryTask,
}

/// Forgets an entry in time. Ends with it.
struct ExpiryTask(AbortHandle);

impl Drop for ExpiryTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// All calls that wait.
#[derive(Clone, Default)]
pub(crate) struct SuspendedUpstreamCalls(Arc<Mutex<HashMap<String, SuspendedEntry>>>);

impl SuspendedUpstreamCalls {
    /// Whether a name looks like one that is given out here.
    pub(crate) fn is_state_id(state: &str) -> bool {
        state.starts_with(STATE_PREFIX)
    }

    /// Keeps a call, and says under which name; gives it back if too many wait.
    pub(crate) fn insert(
        &self,
        bound: CallIdentity,
        paused: SuspendedUpstreamCall,
    ) -> Result<String, SuspendedUpstreamCall> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = oldest_in_excess(&all, &bound);
        let others = || {
            all.iter()
                .filter(|(name, _)| oldest.as_ref() != Some(*name))
        };
        let of_one = others().filter(|(_, it)| it.identity.server == bound.server);
        if others().count() >= MAX_SUSPENDED || of_one.count() >= MAX_PER_SERVER {
            return Err(paused);
        }
        let evicted = oldest.and_then(|name| all.remove(&name));
        let name = format!("{STATE_PREFIX}{}", Uuid::new_v4().simple());
        let until = Instant::now() + SUSPENSION_TIMEOUT;
        let entry = SuspendedEntry {
            identity: bound,
            expires_at: until,
            call: paused,
            _expiry: self.spawn_expiry(name.clone(), until),
        };
        all.insert(name.clone(), entry);
        drop(all);
        // Dropping a call tells its server.
        drop(evicted);
        Ok(name)
    }

    /// Nobody may ever come back for a call.
    fn spawn_expiry(&self, name: String, until: Instant) -> ExpiryTask {
        let all = Arc::downgrade(&self.0);
        let task = tokio::spawn(async move {
            tokio::time::sleep_until(until).await;
            if let Some(all) = all.upgrade() {
                let entry = all
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .remove(&name);
                drop(entry);
            }
        });
        ExpiryTask(task.abort_handle())
    }

    /// The call of that name, once, for whose it is.
    pub(crate) fn take(&self, name: &str, bound: &CallIdentity) -> Option<SuspendedUpstreamCall> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = all.get(name)?;
        let theirs = entry.identity == *bound && entry.expires_at > Instant::now();
        if !theirs {
            return None;
        }
        all.remove(name).map(|entry| entry.call)
    }

    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        drop(all);
    }
}

/// The oldest call of who already has as many waiting as they may.
fn oldest_in_excess(all: &HashMap<String, SuspendedEntry>, bound: &CallIdentity) -> Option<String> {
    let theirs: Vec<_> = all
        .iter()
        .filter(|(_, entry)| entry.identity.owner == bound.owner)
        .collect();
    let oldest = theirs.iter().min_by_key(|(_, entry)| entry.expires_at);
    oldest
        .filter(|_| theirs.len() >= MAX_PER_OWNER)
        .map(|(name, _)| (*name).clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspend(waiting: &SuspendedUpstreamCalls, owner: &str, server: &str) -> Result<String, ()> {
        let paused = SuspendedUpstreamCall::BetweenCalls {
            server: server.to_owned(),
            state: None,
            responses: Map::new(),
        };
        waiting
            .insert(identity(owner, server), paused)
            .map_err(drop)
    }

    fn identity(owner: &str, server: &str) -> CallIdentity {
        CallIdentity {
            owner: Some(owner.to_owned()),
            server: server.to_owned(),
            digest: String::new(),
        }
    }

    #[tokio::test]
    async fn one_caller_keeps_nobody_out() {
        let waiting = SuspendedUpstreamCalls::default();
        let names: Vec<_> = (0..30)
            .map(|_| suspend(&waiting, "a", "far").unwrap())
            .collect();
        // Their own oldest gave way, and nobody else's.
        assert!(waiting.take(&names[21], &identity("a", "far")).is_none());
        suspend(&waiting, "b", "far").unwrap();
        assert!(waiting.take(&names[22], &identity("a", "far")).is_some());
        assert!(waiting.take(&names[29], &identity("a", "far")).is_some());
    }

    #[tokio::test]
    async fn no_more_wait_at_a_server_than_may() {
        let waiting = SuspendedUpstreamCalls::default();
        for owner in ["a", "b"] {
            for _ in 0..8 {
                suspend(&waiting, owner, "far").unwrap();
            }
        }
        suspend(&waiting, "c", "far").unwrap_err();
        // Who has a place there may use it for another call.
        suspend(&waiting, "a", "far").unwrap();
        suspend(&waiting, "c", "near").unwrap();
    }

    #[tokio::test]
    async fn nothing_is_left_of_a_call_that_was_taken() {
        let waiting = SuspendedUpstreamCalls::default();
        let tasks = tokio::runtime::Handle::current().metrics();
        let before = tasks.num_alive_tasks();
        let name = suspend(&waiting, "a", "far").unwrap();
        assert_eq!(tasks.num_alive_tasks(), before + 1);
        assert!(waiting.take(&name, &identity("a", "far")).is_some());
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(tasks.num_alive_tasks(), before);
    }
}
