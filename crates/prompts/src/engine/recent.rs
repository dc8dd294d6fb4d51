//! What changed in the library since the program started: the last of it, for people who wonder
//! why something reads differently.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use deliberate_core::{Clock, SystemClock, Timestamp};
use serde::Serialize;

use crate::{
    library::{Changed, Library, NoticedBy},
    model::Kind,
};

/// How many are kept.
const MOST: usize = 500;

/// One thing that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Recent {
    pub(crate) at: Timestamp,
    #[serde(rename = "resourceType")]
    pub(crate) kind: Kind,
    pub(crate) id: String,
    pub(crate) source: NoticedBy,
    /// Whether it is there, or gone.
    pub(crate) there: bool,
}

/// The last changes.
#[derive(Default)]
pub(crate) struct Recents(Mutex<VecDeque<Recent>>);

impl Recents {
    pub(super) fn add(&self, changed: &Changed, now: Option<&Library>) {
        let at = SystemClock.now();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, id) in &changed.ids {
            kept.push_front(Recent {
                at,
                kind: *kind,
                id: id.clone(),
                source: changed.by,
                there: now.is_none_or(|library| library.has(*kind, id)),
            });
        }
        kept.truncate(MOST);
    }

    /// Those that fit, newest first.
    pub(crate) fn last(&self, limit: usize, fits: impl Fn(&Recent) -> bool) -> Vec<Recent> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter()
            .filter(|it| fits(it))
            .take(limit)
            .cloned()
            .collect()
    }
}
