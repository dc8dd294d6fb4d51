//! Reads the database of the old server.

use std::path::Path;

use deliberate_core::{Score, Timestamp};
use serde_json::Value;
use sqlx::{
    ConnectOptions, Connection, Row, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteRow},
};

use crate::{
    StoreError,
    sqlite::{migrations::is_legacy_schema, rows::query_error},
};

/// A database of the old server, opened for reading.
pub(super) struct LegacySource(SqliteConnection);

impl LegacySource {
    pub(super) async fn open(path: &Path) -> Result<Self, StoreError> {
        let location = path.display().to_string();
        let mut connection = SqliteConnectOptions::new()
            .filename(path)
            .read_only(true)
            .disable_statement_logging()
            .connect()
            .await
            .map_err(|error| StoreError::Connection {
                location: location.clone(),
                reason: error.to_string(),
            })?;
        let tables: Result<Vec<String>, _> =
            sqlx::query_scalar("SELECT name FROM sqlite_master WHERE type = 'table'")
                .fetch_all(&mut connection)
                .await;
        let foreign = |reason: &str| StoreError::NotOurDatabase {
            location: location.clone(),
            reason: reason.to_owned(),
        };
        match tables {
            Ok(tables) if tables.iter().any(|table| table == "suspensions") => Err(foreign(
                "it is already a database of deliberate; there is nothing to import",
            )),
            Ok(tables) if is_legacy_schema(&tables) => Ok(Self(connection)),
            Ok(_) => Err(foreign(
                "it has no tables of sessions, thoughts and invocations",
            )),
            Err(_) => Err(foreign("the file is not an SQLite database")),
        }
    }

    /// Returns all rows of a table, oldest first; none if there is no such table.
    pub(super) async fn rows(&mut self, table: &'static str) -> Result<Vec<LegacyRow>, StoreError> {
        let there: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_master WHERE name = $1")
            .bind(table)
            .fetch_one(&mut self.0)
            .await
            .map_err(|error| query_error(&error))?;
        if there == 0 {
            return Ok(Vec::new());
        }
        let mut query = sqlx::QueryBuilder::<sqlx::Sqlite>::new("SELECT * FROM ");
        query.push(table).push(" ORDER BY rowid");
        let rows = query
            .build()
            .fetch_all(&mut self.0)
            .await
            .map_err(|error| query_error(&error))?;
        Ok(rows.into_iter().map(LegacyRow).collect())
    }

    pub(super) async fn close(self) {
        drop(self.0.close().await);
    }
}

/// A row of the old server. A column that is absent or of another type reads as `None`.
pub(super) struct LegacyRow(SqliteRow);

impl LegacyRow {
    pub(super) fn text(&self, column: &str) -> Option<String> {
        self.0.try_get::<Option<String>, _>(column).ok().flatten()
    }

    pub(super) fn id<T: From<String>>(&self, column: &str) -> Option<T> {
        self.text(column).filter(|id| !id.is_empty()).map(T::from)
    }

    pub(super) fn number(&self, column: &str) -> Option<f64> {
        let whole = || {
            let number = self.0.try_get::<Option<i64>, _>(column).ok().flatten();
            number.map(|number| number as f64)
        };
        let number = self.0.try_get::<Option<f64>, _>(column).ok().flatten();
        number.or_else(whole)
    }

    pub(super) fn score(&self, column: &str) -> Score {
        self.number(column)
            .map_or(Score::DEFAULT_CONFIDENCE, Score::from_model)
    }

    pub(super) fn flag(&self, column: &str) -> bool {
        self.number(column).is_some_and(|number| number != 0.0)
    }

    pub(super) fn time(&self, column: &str) -> Timestamp {
        self.text(column)
            .as_deref()
            .and_then(Timestamp::parse)
            .unwrap_or(Timestamp::from_micros(0))
    }

    pub(super) fn json(&self, column: &str) -> Option<Value> {
        let text = self.text(column)?;
        Some(serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "a depth, a priority or a latency is small"
    )]
    pub(super) fn integer(&self, column: &str) -> i64 {
        self.number(column).unwrap_or(0.0) as i64
    }
}
