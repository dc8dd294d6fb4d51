//! Bringing over a database of mcp-langbase-reasoning.
//!
//! Its tables are read as they are found (later versions of it renamed some columns and added
//! many tables), turned into our changes, and committed at once: an import is whole or did not
//! happen. Whatever can't be taken is counted; the old file is only read.

mod convert;
mod legacy_source;
mod sort;

use std::path::Path;

use convert::Importer;
use legacy_source::LegacySource;

use crate::{Store, StoreError};

/// What an import took and what it left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// For each kind of thing, in the order they were read.
    pub tables: Vec<ImportCount>,
    /// Anything a person should know, in sentences.
    pub notes: Vec<String>,
}

/// How one kind of thing fared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportCount {
    /// Its table.
    pub table: &'static str,
    /// How many were taken.
    pub imported: u64,
    /// How many had been taken by an earlier import.
    pub skipped: u64,
    /// How many could not be taken.
    pub failed: u64,
}

/// Reads the database at `path` and commits everything usable to `target`.
pub async fn import_legacy(path: &Path, target: &dyn Store) -> Result<ImportReport, StoreError> {
    let mut source = LegacySource::open(path).await?;
    let mut import = Importer::default();
    let sessions = source.rows("sessions").await?;
    import.load_known_sessions(&sessions, target).await?;
    import.convert_table("sessions", &sessions, Importer::session);
    // What others refer to comes before them.
    let tables: [(&'static str, convert::RowConverter); 8] = [
        ("branches", Importer::branch),
        ("thoughts", Importer::thought),
        ("cross_refs", Importer::cross_ref),
        ("checkpoints", Importer::checkpoint),
        ("state_snapshots", Importer::snapshot),
        ("graph_nodes", Importer::node),
        ("graph_edges", Importer::edge),
        ("invocations", Importer::invocation),
    ];
    for (table, convert) in tables {
        let rows = source.rows(table).await?;
        import.convert_table(table, &rows, convert);
    }
    source.close().await;
    let (changes, report) = import.finish();
    if !changes.is_empty() {
        target.commit(sort::sort_by_time(changes)).await?;
    }
    Ok(report)
}
