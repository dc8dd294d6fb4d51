//! Finds the writes of the store that the index has not seen. Every write has a sequence number,
//! and the index remembers the last one it has seen.

use std::collections::BTreeSet;

use deliberate_store::{DocumentChange, Store};
use deliberate_toolkit::ToolError;

use crate::articles::{ARTICLE, FULL_TEXT};

/// The state of an index relative to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexSyncStatus {
    /// The index has seen every write.
    InSync,
    /// There are writes that the index has not seen.
    Behind,
    /// The index has seen a write that the store does not know: it belongs to another store, or an
    /// older copy of the store was restored. The content of the index is useless.
    Ahead,
}

/// The state of an index that has seen the writes up to `mark`.
pub(crate) async fn sync_status(
    store: &dyn Store,
    mark: i64,
) -> Result<IndexSyncStatus, ToolError> {
    let mut seen = mark == 0;
    for kind in [ARTICLE, FULL_TEXT] {
        // The last write always remains in the store, if only as the mark of a deletion.
        let last_seen = mark.saturating_sub(1);
        for change in store.changed_documents(kind, last_seen, 2).await? {
            if change.seq > mark {
                return Ok(IndexSyncStatus::Behind);
            }
            seen = true;
        }
    }
    Ok(if seen {
        IndexSyncStatus::InSync
    } else {
        IndexSyncStatus::Ahead
    })
}

/// The articles that changed next and the number of the last of those changes; `None` if there are
/// no changes.
pub(crate) async fn next_changes(
    store: &dyn Store,
    mark: i64,
    batch: u32,
) -> Result<Option<(Vec<String>, i64)>, ToolError> {
    let mut all = Vec::<DocumentChange>::new();
    let mut until = i64::MAX;
    for kind in [ARTICLE, FULL_TEXT] {
        let changed = store.changed_documents(kind, mark, batch).await?;
        // If a list is full, there may be more of its kind before the last change of the other.
        if let Some(last) = changed.last().filter(|_| changed.len() >= batch as usize) {
            until = until.min(last.seq);
        }
        all.extend(changed);
    }
    all.retain(|change| change.seq <= until);
    let last = all.iter().map(|change| change.seq).max();
    let ids: BTreeSet<String> = all.into_iter().map(|change| change.id).collect();
    Ok(last.map(|last| (ids.into_iter().collect(), last)))
}
