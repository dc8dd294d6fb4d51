//! The store in one `SQLite` file.
//!
//! One connection writes: it takes all waiting commits and ends them with one transaction, so that
//! concurrent calls share an fsync. A small pool of connections reads concurrently (write-ahead
//! log). Several processes may use the file at once. Nothing is opened before the first use.

mod apply;
mod chain_runs;
mod deletion;
mod documents;
mod epochs;
mod graphs;
mod import;
mod maintenance;
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
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use sqlx::{SqlitePool, sqlite::SqliteConnectOptions};
use tokio::sync::OnceCell;

pub use import::{ImportCount, ImportReport, import_legacy};
pub use maintenance::{LogPruning, LogRetention};

use crate::StoreError;
use maintenance::DatabaseCondition;
use writer::{MaintenanceStep, SqliteWriter};

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
    /// For reads while the file can't be opened for writing.
    read_only: OnceCell<SqlitePool>,
    condition: Arc<DatabaseCondition>,
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
            read_only: OnceCell::new(),
            condition: Arc::default(),
            closed: AtomicBool::new(false),
        }
    }

    /// Tells whether the file exists.
    pub fn exists(&self) -> bool {
        self.options.path.is_file()
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
                    writer: SqliteWriter::start(
                        connection,
                        &self.options.path,
                        self.condition.clone(),
                    ),
                })
            })
            .await
    }

    /// Returns the writer. The error says whether reads still work.
    async fn writer(&self) -> Result<&SqliteWriter, StoreError> {
        match self.database().await {
            Ok(database) => Ok(&database.writer),
            Err(StoreError::Connection { reason, .. }) if self.read_only.initialized() => {
                Err(StoreError::ReadOnly { reason })
            }
            Err(error) => Err(error),
        }
    }

    /// Runs a step between the commits of calls and returns the number of affected rows.
    async fn maintain(&self, step: MaintenanceStep) -> Result<u64, StoreError> {
        let outcome = match self.writer().await {
            Ok(writer) => return writer.maintain(step).await,
            Err(error) => error,
        };
        self.condition.record_write(Some(&outcome));
        Err(outcome)
    }

    /// Writes the queued commits and closes the files.
    async fn shutdown(&self) {
        self.closed.store(true, Ordering::Release);
        if let Some(opened) = self.database.get() {
            opened.writer.close().await;
            opened.readers.close().await;
        }
        if let Some(readers) = self.read_only.get() {
            readers.close().await;
        }
    }

    /// Returns the read connections. A disk that is full or read-only does not allow the files that
    /// `SQLite` needs beside the database; then the file alone is read.
    async fn readers(&self) -> Result<&SqlitePool, StoreError> {
        let error = match self.database().await {
            Ok(database) => return Ok(&database.readers),
            Err(error) => error,
        };
        let StoreError::Connection { reason, .. } = &error else {
            return Err(error);
        };
        let readers = self
            .read_only
            .get_or_try_init(|| open::open_read_only(&self.options))
            .await;
        let Ok(readers) = readers else {
            return Err(error);
        };
        self.condition.record_write(Some(&StoreError::ReadOnly {
            reason: reason.clone(),
        }));
        Ok(readers)
    }

    /// Returns the options of a connection that reads as `readers` does.
    async fn source_options(&self) -> Result<SqliteConnectOptions, StoreError> {
        self.readers().await?;
        Ok(if self.database.initialized() {
            open::connect_options(&self.options)
        } else {
            open::read_only_options(&self.options)
        })
    }

    /// Converts the error of a read and records damage.
    fn read_error(&self, error: &sqlx::Error) -> StoreError {
        let error = rows::query_error(error);
        // Without the write-ahead log, what another process writes looks like damage.
        if self.database.initialized() {
            self.condition.record_error(&error);
        }
        error
    }

    fn location(&self) -> String {
        self.options.path.display().to_string()
    }
}
