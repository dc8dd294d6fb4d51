//! The store in one `SQLite` file.
//!
//! One connection writes: it takes every commit that is waiting and ends them with one
//! transaction, so that calls at the same time share an fsync. A small pool reads beside it
//! (write-ahead log). Several processes may use the file at once. Nothing is opened before the
//! first use.

mod apply;
mod backup;
mod chain_runs;
mod documents;
mod epochs;
mod graphs;
mod import;
mod open;
mod query;
mod read;
mod rows;
mod search;
mod suspended_calls;
mod tool_stats;
mod writer;

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use sqlx::SqlitePool;
use tokio::sync::OnceCell;

pub use import::{ImportCount, ImportReport, import_legacy};

use crate::StoreError;
use writer::SqliteWriter;

/// How a file is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqliteOptions {
    /// The file; made, with its folders, when it is not there.
    pub path: PathBuf,
    /// How many may read at once.
    pub readers: u32,
    /// What a commit survives.
    pub durability: SqliteDurability,
}

/// What a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqliteDurability {
    /// The death of the machine: one fsync a commit.
    Full,
    /// The death of the process; the last moments may be lost with the machine.
    Relaxed,
}

/// The store in one `SQLite` file.
#[derive(Debug)]
pub struct SqliteStore {
    options: SqliteOptions,
    /// Opened by the first use; a failed opening is tried again by the next.
    database: OnceCell<OpenDatabase>,
    closed: AtomicBool,
}

#[derive(Debug)]
struct OpenDatabase {
    readers: SqlitePool,
    writer: SqliteWriter,
}

impl SqliteStore {
    /// A store on that file. Touches nothing yet.
    pub fn new(options: SqliteOptions) -> Self {
        Self {
            options,
            database: OnceCell::new(),
            closed: AtomicBool::new(false),
        }
    }

    async fn database(&self) -> Result<&OpenDatabase, StoreError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(StoreError::Closed);
        }
        self.database
            .get_or_try_init(|| async {
                let (readers, connection) = open::open(&self.options).await?;
                Ok(OpenDatabase {
                    readers,
                    writer: SqliteWriter::start(connection, &self.options.path),
                })
            })
            .await
    }

    /// Lets go of the files once everything queued is written.
    async fn shutdown(&self) {
        self.closed.store(true, Ordering::Release);
        if let Some(opened) = self.database.get() {
            opened.writer.close().await;
            opened.readers.close().await;
        }
    }

    async fn readers(&self) -> Result<&SqlitePool, StoreError> {
        Ok(&self.database().await?.readers)
    }

    fn location(&self) -> String {
        self.options.path.display().to_string()
    }
}
