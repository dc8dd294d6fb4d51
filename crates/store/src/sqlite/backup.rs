//! A copy of the whole file, made while others use it.

use std::path::{Path, absolute};

use sqlx::{ConnectOptions as _, Connection as _};

use super::{
    SqliteStore,
    open::{connect_options, create_private_file, set_write_ahead_log},
    rows::query_error,
};
use crate::StoreError;

impl SqliteStore {
    /// Writes all that is kept at this moment to a new file, whoever reads and writes meanwhile. A
    /// file that is there is never replaced; a copy that can't be finished leaves none.
    pub async fn backup_to(&self, path: &Path) -> Result<(), StoreError> {
        let problem = |reason: String| StoreError::Backup {
            location: path.display().to_string(),
            reason,
        };
        // Whose file it is, is found out first.
        self.database().await?;
        let target = absolute(path).map_err(|error| problem(error.to_string()))?;
        let name = target
            .to_str()
            .ok_or_else(|| problem("the name is not UTF-8".to_owned()))?;
        // SQLite fills an empty file, and this one is surely ours and nobody else's to read.
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
        // Those that read may not write, not even elsewhere; the one that writes has other work.
        let mut source = connect.connect().await.map_err(failed)?;
        let copied = sqlx::query("VACUUM INTO $1")
            .bind(target)
            .execute(&mut source)
            .await;
        drop(source.close().await);
        copied.map_err(failed)?;
        // The copy comes without a write-ahead log, and a file whose tables are up to date is opened
        // as it is.
        let mut copy = connect.filename(target).connect().await.map_err(failed)?;
        set_write_ahead_log(target, &mut copy).await?;
        copy.close().await.map_err(failed)
    }
}
