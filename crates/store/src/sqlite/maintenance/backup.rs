//! Backs up the whole database file while it is in use.

use std::path::{Path, absolute};

use sqlx::{ConnectOptions as _, Connection as _, sqlite::SqliteConnectOptions};

use super::{INCREMENTAL_VACUUM, integrity::quick_check};
use crate::{
    StoreError,
    sqlite::{
        SqliteStore,
        open::{connect_options, create_private_file, set_write_ahead_log},
        rows::query_error,
    },
};

impl SqliteStore {
    /// Writes the current contents to a new file while others read and write, and checks the new
    /// file. An existing file is never replaced, and a backup that is unfinished or damaged leaves
    /// no file.
    pub async fn backup_to(&self, path: &Path) -> Result<(), StoreError> {
        let problem = |reason: String| StoreError::Backup {
            location: path.display().to_string(),
            reason,
        };
        // Opening checks that the file is a database of this program.
        let source = self.source_options().await?;
        let target = absolute(path).map_err(|error| problem(error.to_string()))?;
        let name = target
            .to_str()
            .ok_or_else(|| problem("the name is not UTF-8".to_owned()))?;
        // SQLite fills an empty file. Creating it here makes sure that it is new and private.
        create_private_file(&target)
            .await
            .map_err(|error| problem(error.to_string()))?;
        let filled = self.write_backup(source, name).await;
        if filled.is_err() {
            for ending in ["", "-wal", "-shm", "-journal"] {
                drop(tokio::fs::remove_file(format!("{name}{ending}")).await);
            }
        }
        filled.map_err(|error| match error {
            // The database itself is only read.
            StoreError::DiskFull { reason } | StoreError::ReadOnly { reason } => problem(reason),
            error => error,
        })
    }

    async fn write_backup(
        &self,
        source: SqliteConnectOptions,
        target: &str,
    ) -> Result<(), StoreError> {
        let failed = |error: sqlx::Error| query_error(&error);
        // The read connections may not write anywhere, and the write connection is busy.
        let mut source = source.connect().await.map_err(failed)?;
        // The copy of an old file gets incremental vacuum. To set it in a file that has it would
        // write to that file.
        let mode: i64 = sqlx::query_scalar("PRAGMA auto_vacuum")
            .fetch_one(&mut source)
            .await
            .map_err(failed)?;
        if mode != INCREMENTAL_VACUUM {
            sqlx::query("PRAGMA auto_vacuum = INCREMENTAL")
                .execute(&mut source)
                .await
                .map_err(failed)?;
        }
        let copied = sqlx::query("VACUUM INTO $1")
            .bind(target)
            .execute(&mut source)
            .await;
        drop(source.close().await);
        copied.map_err(|error| self.read_error(&error))?;
        // The backup has no write-ahead log, and a file whose tables are up to date is opened
        // unchanged, so the mode is set here.
        let copy = connect_options(&self.options).filename(target);
        let mut copy = copy.connect().await.map_err(failed)?;
        quick_check(&mut copy).await?;
        set_write_ahead_log(target, &mut copy).await?;
        copy.close().await.map_err(failed)
    }
}
