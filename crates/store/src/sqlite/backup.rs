//! Backs up the whole database file while it is in use.

use std::path::{Path, absolute};

use sqlx::{ConnectOptions as _, Connection as _};

use super::{
    SqliteStore,
    open::{connect_options, create_private_file, set_write_ahead_log},
    rows::query_error,
};
use crate::StoreError;

impl SqliteStore {
    /// Writes the current contents to a new file while others read and write. An existing file is
    /// never replaced, and an unfinished backup leaves no file.
    pub async fn backup_to(&self, path: &Path) -> Result<(), StoreError> {
        let problem = |reason: String| StoreError::Backup {
            location: path.display().to_string(),
            reason,
        };
        // Opening checks that the file is a database of this program.
        self.database().await?;
        let target = absolute(path).map_err(|error| problem(error.to_string()))?;
        let name = target
            .to_str()
            .ok_or_else(|| problem("the name is not UTF-8".to_owned()))?;
        // SQLite fills an empty file. Creating it here makes sure that it is new and private.
        create_private_file(&target)
            .await
            .map_err(|error| problem(error.to_string()))?;
        let filled = self.write_backup(name).await;
        if filled.is_err() {
            drop(tokio::fs::remove_file(&target).await);
        }
        filled
    }

    async fn write_backup(&self, target: &str) -> Result<(), StoreError> {
        let failed = |error: sqlx::Error| query_error(&error);
        let connect = connect_options(&self.options);
        // The read connections may not write anywhere, and the write connection is busy.
        let mut source = connect.connect().await.map_err(failed)?;
        let copied = sqlx::query("VACUUM INTO $1")
            .bind(target)
            .execute(&mut source)
            .await;
        drop(source.close().await);
        copied.map_err(failed)?;
        // The backup has no write-ahead log, and a file whose tables are up to date is opened
        // unchanged, so the mode is set here.
        let mut copy = connect.filename(target).connect().await.map_err(failed)?;
        set_write_ahead_log(target, &mut copy).await?;
        copy.close().await.map_err(failed)
    }
}
