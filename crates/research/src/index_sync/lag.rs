//! What the store has that the index has not seen. Every write has a number; the index remembers the
//! last it has seen.

use std::collections::BTreeSet;

use deliberate_store::{DocumentChange, Store};
use deliberate_toolkit::ToolError;

use crate::articles::{ARTICLE, FULL_TEXT};

/// How an index stands to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexSyncStatus {
    /// It has seen every write.
    InSync,
    /// There are writes that it has not seen.
    Behind,
    /// It has seen a write that the store does not know: the store is another one, or an older copy
    /// was put in its place. What the index holds is of no use.
    Ahead,
}

/// How an index that has seen the writes up to `mark` stands to the store.
pub(crate) async fn sync_status(
    store: &dyn Store,
    mark: i64,
) -> Result<IndexSyncStatus, ToolError> {
    let mut seen = mark == 0;
    for kind in [ARTICLE, FULL_TEXT] {
        // What was written last is there for ever, if only as a mark that it is gone.
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

/// The articles that changed next, and the number of the last of those changes; nothing if there
/// are none.
pub(crate) async fn next_changes(
    store: &dyn Store,
    mark: i64,
    batch: u32,
) -> Result<Option<(Vec<String>, i64)>, ToolError> {
    let mut all = Vec::<DocumentChange>::new();
    let mut until = i64::MAX;
    for kind in [ARTICLE, FULL_TEXT] {
        let changed = store.changed_documents(kind, mark, batch).await?;
        // Behind the last of a full list there may be more that came before the other's.
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
