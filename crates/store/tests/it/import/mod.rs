//! Imports of databases of mcp-langbase-reasoning.

mod documented;
mod ordering;
mod rejected;
mod released;
mod repeated;

use std::path::PathBuf;

use deliberate_core::Timestamp;
use deliberate_store::{
    StoreError,
    sqlite::{ImportCount, ImportReport, SqliteStore, import_legacy},
};

use super::legacy_database;
use crate::sqlite::open;

/// An old database and a new store.
pub(crate) struct ImportFixture {
    pub(crate) old: PathBuf,
    pub(crate) new: SqliteStore,
    _folder: tempfile::TempDir,
}

impl ImportFixture {
    pub(crate) async fn from(tables: &[&'static str], rows: &[&'static str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("reasoning.db");
        legacy_database::create_legacy_database(&old, tables, rows).await;
        Self {
            new: open(&folder.path().join("store.db")),
            old,
            _folder: folder,
        }
    }

    pub(crate) async fn import(&self) -> Result<ImportReport, StoreError> {
        import_legacy(&self.old, &self.new).await
    }
}

pub(crate) fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

const TABLES: [&str; 9] = [
    "sessions",
    "branches",
    "thoughts",
    "cross_refs",
    "checkpoints",
    "state_snapshots",
    "graph_nodes",
    "graph_edges",
    "invocations",
];

/// The counts of each table in a report: imported, skipped, failed.
pub(crate) fn counts(numbers: [(u64, u64, u64); 9]) -> Vec<ImportCount> {
    TABLES
        .into_iter()
        .zip(numbers)
        .map(|(table, (taken, known, left))| ImportCount {
            table,
            imported: taken,
            skipped: known,
            failed: left,
        })
        .collect()
}
