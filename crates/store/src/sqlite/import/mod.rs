//! Bringing over a database of mcp-langbase-reasoning.
//!
//! Its tables are read as they are found (later versions of it renamed some columns and added
//! many tables), turned into our changes, and committed at once: an import is whole or did not
//! happen. Whatever can't be taken is counted; the old file is only read.

mod convert;
mod order;
mod source;

use std::path::Path;

use convert::Import;
use source::Source;

use crate::{Store, StoreError};

/// What an import took and what it left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// For each kind of thing, in the order they were read.
    pub kinds: Vec<Imported>,
    /// Anything a person should know, in sentences.
    pub notes: Vec<String>,
}

/// How one kind of thing fared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Its table.
    pub table: &'static str,
    /// How many were taken.
    pub taken: u64,
    /// How many had been taken by an earlier import.
    pub known: u64,
    /// How many could not be taken.
    pub left: u64,
}

/// Reads the database at `path` and commits everything usable to `target`.
pub async fn import_original(path: &Path, target: &dyn Store) -> Result<ImportReport, StoreError> {
    let mut source = Source::open(path).await?;
    let mut import = Import::default();
    let sessions = source.rows("sessions").await?;
    import.note_known(&sessions, target).await?;
    import.take("sessions", &sessions, Import::session);
    // What others refer to comes before them.
    let tables: [(&'static str, convert::Convert); 8] = [
        ("branches", Import::branch),
        ("thoughts", Import::thought),
        ("cross_refs", Import::cross_ref),
        ("checkpoints", Import::checkpoint),
        ("state_snapshots", Import::snapshot),
        ("graph_nodes", Import::node),
        ("graph_edges", Import::edge),
        ("invocations", Import::invocation),
    ];
    for (table, convert) in tables {
        let rows = source.rows(table).await?;
        import.take(table, &rows, convert);
    }
    source.close().await;
    let (changes, report) = import.finish();
    if !changes.is_empty() {
        target.commit(order::by_time(changes)).await?;
    }
    Ok(report)
}
