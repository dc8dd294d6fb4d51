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

use super::Question;
use crate::gateway::Underway;

/// How long a call waits.
const FOR: Duration = Duration::from_mins(10);
/// Calls that wait at once.
const MOST: usize = 100;
/// Calls of one server that wait at once: each takes one of the server's places.
const MOST_OF_ONE: usize = 16;
/// Calls of one caller that wait at once: their oldest gives way, so that nobody keeps others out.
const MOST_OF_AN_OWNER: usize = 8;
/// What the names begin with.
const PREFIX: &str = "gw-";

/// A call that waits.
pub(crate) enum Paused {
    /// The server waits within the call, which was not answered yet.
    Within {
        /// The call.
        underway: Underway,
        /// What else is asked meanwhile.
        questions: mpsc::Receiver<Question>,
        /// What was asked, by name.
        asked: Vec<(String, Question)>,
    },
    /// The server waits for the call to be sent again.
    Between {
        /// The server that asked; not always the one that was called.
        server: String,
        /// What it wants to have back.
        state: Option<String>,
        /// What was answered without the client.
        answered: Map<String, Value>,
    },
}

/// Whose call it is, and which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) owner: Option<String>,
    pub(crate) server: String,
    pub(crate) digest: String,
}

struct Entry {
    bound: Bound,
    until: Instant,
    paused: Paused,
    _expiry: Expiry,
}

/// Forgets an entry in time. Ends with it.
struct Expiry(AbortHandle);

impl Drop for Expiry {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// All calls that wait.
#[derive(Clone, Default)]
pub(crate) struct Waiting(Arc<Mutex<HashMap<String, Entry>>>);

impl Waiting {
    /// Whether a name looks like one that is given out here.
    pub(crate) fn knows(state: &str) -> bool {
        state.starts_with(PREFIX)
    }

    /// Keeps a call, and says under which name; gives it back if too many wait.
    pub(crate) fn put(&self, bound: Bound, paused: Paused) -> Result<String, Paused> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = oldest_in_excess(&all, &bound);
        let others = || {
            all.iter()
                .filter(|(name, _)| oldest.as_ref() != Some(*name))
        };
        let of_one = others().filter(|(_, it)| it.bound.server == bound.server);
        if others().count() >= MOST || of_one.count() >= MOST_OF_ONE {
            return Err(paused);
        }
        let evicted = oldest.and_then(|name| all.remove(&name));
        let name = format!("{PREFIX}{}", Uuid::new_v4().simple());
        let until = Instant::now() + FOR;
        let entry = Entry {
            bound,
            until,
            paused,
            _expiry: self.expiry(name.clone(), until),
        };
        all.insert(name.clone(), entry);
        drop(all);
        // Dropping a call tells its server.
        drop(evicted);
        Ok(name)
    }

    /// Nobody may ever come back for a call.
    fn expiry(&self, name: String, until: Instant) -> Expiry {
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
        Expiry(task.abort_handle())
    }

    /// The call of that name, once, for whose it is.
    pub(crate) fn take(&self, name: &str, bound: &Bound) -> Option<Paused> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = all.get(name)?;
        let theirs = entry.bound == *bound && entry.until > Instant::now();
        if !theirs {
            return None;
        }
        all.remove(name).map(|entry| entry.paused)
    }

    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        drop(all);
    }
}

/// The oldest call of who already has as many waiting as they may.
fn oldest_in_excess(all: &HashMap<String, Entry>, bound: &Bound) -> Option<String> {
    let theirs: Vec<_> = all
        .iter()
        .filter(|(_, entry)| entry.bound.owner == bound.owner)
        .collect();
    let oldest = theirs.iter().min_by_key(|(_, entry)| entry.until);
    oldest
        .filter(|_| theirs.len() >= MOST_OF_AN_OWNER)
        .map(|(name, _)| (*name).clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(waiting: &Waiting, owner: &str, server: &str) -> Result<String, ()> {
        let paused = Paused::Between {
            server: server.to_owned(),
            state: None,
            answered: Map::new(),
        };
        waiting.put(bound(owner, server), paused).map_err(drop)
    }

    fn bound(owner: &str, server: &str) -> Bound {
        Bound {
            owner: Some(owner.to_owned()),
            server: server.to_owned(),
            digest: String::new(),
        }
    }

    #[tokio::test]
    async fn one_caller_keeps_nobody_out() {
        let waiting = Waiting::default();
        let names: Vec<_> = (0..30)
            .map(|_| put(&waiting, "a", "far").unwrap())
            .collect();
        // Their own oldest gave way, and nobody else's.
        assert!(waiting.take(&names[21], &bound("a", "far")).is_none());
        put(&waiting, "b", "far").unwrap();
        assert!(waiting.take(&names[22], &bound("a", "far")).is_some());
        assert!(waiting.take(&names[29], &bound("a", "far")).is_some());
    }

    #[tokio::test]
    async fn no_more_wait_at_a_server_than_may() {
        let waiting = Waiting::default();
        for owner in ["a", "b"] {
            for _ in 0..8 {
                put(&waiting, owner, "far").unwrap();
            }
        }
        put(&waiting, "c", "far").unwrap_err();
        // Who has a place there may use it for another call.
        put(&waiting, "a", "far").unwrap();
        put(&waiting, "c", "near").unwrap();
    }

    #[tokio::test]
    async fn nothing_is_left_of_a_call_that_was_taken() {
        let waiting = Waiting::default();
        let tasks = tokio::runtime::Handle::current().metrics();
        let before = tasks.num_alive_tasks();
        let name = put(&waiting, "a", "far").unwrap();
        assert_eq!(tasks.num_alive_tasks(), before + 1);
        assert!(waiting.take(&name, &bound("a", "far")).is_some());
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(tasks.num_alive_tasks(), before);
    }
}
