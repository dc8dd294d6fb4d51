//! Imports a database of mcp-langbase-reasoning.
//!
//! Its tables are read as they are (later versions renamed some columns and added many tables),
//! converted into changes, and committed at once: an import is complete or did not happen. Rows
//! that can't be imported are counted. The old file is only read.

mod convert;
mod legacy_source;
mod sort;

use std::path::Path;

use convert::Importer;
use legacy_source::LegacySource;

use crate::{Store, StoreError};

/// The result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// The counts per table, in the order that the tables were read in.
    pub tables: Vec<ImportCount>,
    /// Notes for the user, in sentences.
    pub notes: Vec<String>,
}

/// The counts of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportCount {
    /// The name of the table.
    pub table: &'static str,
    /// The number of rows that were imported.
    pub imported: u64,
    /// The number of rows that an earlier import has.
    pub skipped: u64,
    /// The number of rows that could not be imported.
    pub failed: u64,
}

/// Reads the database at `path` and commits every usable row to `target`.
pub async fn import_legacy(path: &Path, target: &dyn Store) -> Result<ImportReport, StoreError> {
    let mut source = LegacySource::open(path).await?;
    let mut import = Importer::default();
    let sessions = source.rows("sessions").await?;
    import.load_known_sessions(&sessions, target).await?;
    import.convert_table("sessions", &sessions, Importer::session);
    // Tables come before those that refer to them.
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
