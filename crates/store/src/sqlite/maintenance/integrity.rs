//! Checks of the file: whether its pages are intact, and whether it can be written.

use sqlx::{Executor, Sqlite};

use crate::{
    StoreError,
    sqlite::{SqliteStore, rows::query_error, writer::MaintenanceStep},
};

/// How many problems of a damaged file are reported.
const MAX_PROBLEMS: usize = 3;

/// Writes one page and changes nothing.
const PROBE: MaintenanceStep = MaintenanceStep {
    sql: "PRAGMA user_version = 0",
    arguments: Vec::new(),
};

impl SqliteStore {
    /// Checks that all pages of the file are intact. This reads the whole file. If it is damaged,
    /// nothing is written to it any more.
    pub async fn check_integrity(&self) -> Result<(), StoreError> {
        let checked = quick_check(self.readers().await?).await;
        if let Err(error) = &checked {
            self.condition.record_error(error);
        }
        checked
    }

    /// Checks that the file can be written.
    pub async fn check_writable(&self) -> Result<(), StoreError> {
        self.maintain(PROBE).await.map(drop)
    }

    /// Returns the reason why commits fail at present. If the last one failed, it is tried whether
    /// the next would succeed, because without calls nothing else would find that out.
    pub(in crate::sqlite) async fn write_failure(&self) -> Option<StoreError> {
        let known = self.condition.write_failure()?;
        if !matches!(known, StoreError::Damaged { .. }) {
            // The outcome is recorded.
            drop(self.check_writable().await);
        }
        self.condition.write_failure()
    }
}

/// Checks the pages of a database, but not that its indexes agree with its tables.
pub(super) async fn quick_check<'e>(
    database: impl Executor<'e, Database = Sqlite>,
) -> Result<(), StoreError> {
    let found: Vec<String> = sqlx::query_scalar("PRAGMA quick_check(100)")
        .fetch_all(database)
        .await
        .map_err(|error| query_error(&error))?;
    if found.len() == 1 && found.first().is_some_and(|it| it == "ok") {
        return Ok(());
    }
    let shown: Vec<&str> = found
        .iter()
        .take(MAX_PROBLEMS)
        .map(String::as_str)
        .collect();
    let more = match found.len().saturating_sub(MAX_PROBLEMS) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    // One problem may take several lines.
    let reason = format!("{}{more}", shown.join("; ")).replace('\n', " ");
    Err(StoreError::Damaged { reason })
}
