//! What changed in the library since the program started: the last of it, for people who wonder
//! why something reads differently.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use deliberate_core::{Clock, SystemClock, Timestamp};
use serde::Serialize;

use crate::{
    library::{ChangeTrigger, LibraryDiff, PromptLibrary},
    model::LibraryItemKind,
};

/// How many are kept.
const MAX_CHANGES: usize = 500;

/// One thing that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LibraryChange {
    pub(crate) at: Timestamp,
    #[serde(rename = "resourceType")]
    pub(crate) kind: LibraryItemKind,
    pub(crate) id: String,
    pub(crate) source: ChangeTrigger,
    /// Whether it is there, or gone.
    pub(crate) there: bool,
}

/// The last changes.
#[derive(Default)]
pub(crate) struct LibraryChangeLog(Mutex<VecDeque<LibraryChange>>);

impl LibraryChangeLog {
    pub(crate) fn add(&self, changed: &LibraryDiff, now: Option<&PromptLibrary>) {
        let at = SystemClock.now();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, id) in &changed.ids {
            kept.push_front(LibraryChange {
                at,
                kind: *kind,
                id: id.clone(),
                source: changed.trigger,
                there: now.is_none_or(|library| library.has(*kind, id)),
            });
        }
        kept.truncate(MAX_CHANGES);
    }

    /// Those that fit, newest first.
    pub(crate) fn last(
        &self,
        limit: usize,
        fits: impl Fn(&LibraryChange) -> bool,
    ) -> Vec<LibraryChange> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter()
            .filter(|it| fits(it))
            .take(limit)
            .cloned()
            .collect()
    }
}
