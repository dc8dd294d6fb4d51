//! Calls that are suspended until the client sends them again with the requested input.
//!
//! Each has a random id that is issued once, and belongs to one caller and one exact call. For
//! anyone else it does not exist.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Map, Value};
use tokio::{task::AbortHandle, time::Instant};
use uuid::Uuid;

use super::ServerRequest;
use crate::gateway::UpstreamCall;

/// The time after which a suspended call expires.
const SUSPENSION_TIMEOUT: Duration = Duration::from_mins(10);
/// The maximum number of suspended calls.
const MAX_SUSPENDED: usize = 100;
/// The maximum number of suspended calls per server; each occupies one of the server's slots.
const MAX_PER_SERVER: usize = 16;
/// The maximum number of suspended calls per caller. The caller's oldest call is evicted, so that
/// no caller can lock out others.
const MAX_PER_OWNER: usize = 8;
/// The prefix of the ids.
const STATE_PREFIX: &str = "gw-";

pub(crate) enum SuspendedUpstreamCall {
    /// The server waits within the call, which has no result yet.
    InCall {
        call: UpstreamCall,
        /// The open requests, by key.
        open_requests: Vec<(String, ServerRequest)>,
    },
    /// The server waits for the call to be sent again.
    BetweenCalls {
        /// The server that asked, which may be the fallback.
        server: String,
        /// The state that the server wants back.
        state: Option<String>,
        /// The requests that were answered without the client.
        responses: Map<String, Value>,
    },
}

/// The caller, server and arguments that a suspended call is bound to.
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

/// Removes an entry when it expires. Aborted when the entry is dropped.
struct ExpiryTask(AbortHandle);

impl Drop for ExpiryTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Clone, Default)]
pub(crate) struct SuspendedUpstreamCalls(Arc<Mutex<HashMap<String, SuspendedEntry>>>);

impl SuspendedUpstreamCalls {
    /// Returns true if a state has the form of the ids issued here.
    pub(crate) fn is_state_id(state: &str) -> bool {
        state.starts_with(STATE_PREFIX)
    }

    /// Suspends a call and returns its id; returns the call itself if too many are suspended.
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
        // Dropping a call cancels it at its server.
        drop(evicted);
        Ok(name)
    }

    /// Starts the expiry task, because the client may never return.
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

    /// Takes the call with this id, if it has this identity.
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

/// Returns the caller's oldest call if the caller has reached the limit.
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
        // The caller's own oldest call was evicted, and nobody else's.
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
        // A caller with a suspended call at the server may replace it with another.
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
