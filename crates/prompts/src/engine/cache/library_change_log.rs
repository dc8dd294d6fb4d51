//! The latest changes of the library since the program started. They explain why a resource differs
//! from before.

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

/// The most changes that are stored.
const MAX_CHANGES: usize = 500;

/// One changed resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LibraryChange {
    pub(crate) at: Timestamp,
    #[serde(rename = "resourceType")]
    pub(crate) kind: LibraryItemKind,
    pub(crate) id: String,
    pub(crate) source: ChangeTrigger,
    /// Whether the resource exists or was removed.
    pub(crate) there: bool,
}

/// The latest changes.
#[derive(Default)]
pub(crate) struct LibraryChangeLog(Mutex<VecDeque<LibraryChange>>);

impl LibraryChangeLog {
    pub(crate) fn add(&self, changed: &LibraryDiff, now: Option<&PromptLibrary>) {
        let at = SystemClock.now();
        let mut changes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, id) in &changed.ids {
            changes.push_front(LibraryChange {
                at,
                kind: *kind,
                id: id.clone(),
                source: changed.trigger,
                there: now.is_none_or(|library| library.has(*kind, id)),
            });
        }
        changes.truncate(MAX_CHANGES);
    }

    /// Returns the matching changes, newest first.
    pub(crate) fn last(
        &self,
        limit: usize,
        fits: impl Fn(&LibraryChange) -> bool,
    ) -> Vec<LibraryChange> {
        let changes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        changes
            .iter()
            .filter(|it| fits(it))
            .take(limit)
            .cloned()
            .collect()
    }
}
