//! The store in one `SQLite` file.
//!
//! One connection writes: it takes all waiting commits and ends them with one transaction, so that
//! concurrent calls share an fsync. A small pool of connections reads concurrently (write-ahead
//! log). Several processes may use the file at once. Nothing is opened before the first use.

mod apply;
mod backup;
mod chain_runs;
mod documents;
mod epochs;
mod graphs;
mod import;
mod migrations;
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

/// The options of a [`SqliteStore`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqliteOptions {
    /// The file; it is created with its folders if it does not exist.
    pub path: PathBuf,
    /// The number of read connections.
    pub readers: u32,
    /// Which failures a commit survives.
    pub durability: SqliteDurability,
}

/// Which failures a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqliteDurability {
    /// A crash of the machine; each transaction costs one fsync.
    Full,
    /// A crash of the process; a crash of the machine may lose the latest commits.
    Relaxed,
}

/// A [`Store`](crate::Store) in one `SQLite` file.
#[derive(Debug)]
pub struct SqliteStore {
    options: SqliteOptions,
    /// Opened at the first use. If that fails, the next use tries again.
    database: OnceCell<OpenDatabase>,
    closed: AtomicBool,
}

#[derive(Debug)]
struct OpenDatabase {
    readers: SqlitePool,
    writer: SqliteWriter,
}

impl SqliteStore {
    /// Creates a store on the file without opening it.
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

    /// Writes the queued commits and closes the files.
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
