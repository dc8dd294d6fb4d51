//! Taking over a database of mcp-langbase-reasoning.

mod again;
mod documented;
mod ordered;
mod refused;
mod released;

use std::path::PathBuf;

use deliberate_core::Timestamp;
use deliberate_store::{
    StoreError,
    sqlite::{ImportReport, Imported, SqliteStore, import_original},
};

use crate::{original, sqlite::open};

/// An old database and a new store, side by side.
pub(crate) struct Move {
    pub(crate) old: PathBuf,
    pub(crate) new: SqliteStore,
    _folder: tempfile::TempDir,
}

impl Move {
    pub(crate) async fn from(tables: &[&'static str], rows: &[&'static str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("reasoning.db");
        original::make(&old, tables, rows).await;
        Self {
            new: open(&folder.path().join("store.db")),
            old,
            _folder: folder,
        }
    }

    pub(crate) async fn import(&self) -> Result<ImportReport, StoreError> {
        import_original(&self.old, &self.new).await
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

/// What a report says of each table: taken, known, left.
pub(crate) fn kinds(numbers: [(u64, u64, u64); 9]) -> Vec<Imported> {
    TABLES
        .into_iter()
        .zip(numbers)
        .map(|(table, (taken, known, left))| Imported {
            table,
            taken,
            known,
            left,
        })
        .collect()
}
