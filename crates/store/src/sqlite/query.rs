//! Runs queries for one row, a list, a page or a count.

use deliberate_core::{Branch, CheckpointId, Session};
use sqlx::Row;

use super::{
    SqliteStore,
    apply::SqlStatement,
    rows::{FromRow, query_error},
};
use crate::{BranchEntry, Pagination, SessionEntry, StoreError, StoreFuture};

impl SqliteStore {
    pub(super) fn fetch_one<'a, T: FromRow>(
        &'a self,
        sql: &'static str,
        id: &'a str,
    ) -> StoreFuture<'a, Option<T>> {
        Box::pin(async move {
            let row = sqlx::query(sql)
                .bind(id)
                .fetch_optional(self.readers().await?)
                .await
                .map_err(|error| self.read_error(&error))?;
            row.as_ref().map(T::from_row).transpose()
        })
    }

    pub(super) async fn fetch_rows<T: FromRow>(
        &self,
        statement: SqlStatement<'_>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = statement
            .fetch_all(self.readers().await?)
            .await
            .map_err(|error| self.read_error(&error))?;
        rows.iter().map(T::from_row).collect()
    }

    /// Returns a page of the rows of `owner`; `sql` takes the owner, the limit and the offset.
    pub(super) fn fetch_page<'a, T: FromRow + Send + 'a>(
        &'a self,
        sql: &'static str,
        owner: &'a str,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<T>> {
        Box::pin(self.fetch_rows_owned(sql, owner, page))
    }

    async fn fetch_rows_owned<T: FromRow>(
        &self,
        sql: &'static str,
        owner: &str,
        page: Pagination,
    ) -> Result<Vec<T>, StoreError> {
        let statement = sqlx::query(sql)
            .bind(owner)
            .bind(page.bounded_limit())
            .bind(page.offset);
        self.fetch_rows(statement).await
    }

    /// Returns the session of a checkpoint and the epoch that it ended.
    pub(super) async fn checkpoint_epoch(
        &self,
        checkpoint: &CheckpointId,
    ) -> Result<Option<(String, i64)>, StoreError> {
        sqlx::query_as("SELECT session_id, epoch FROM checkpoints WHERE id = $1")
            .bind(checkpoint.as_str())
            .fetch_optional(self.readers().await?)
            .await
            .map_err(|error| self.read_error(&error))
    }

    pub(super) async fn fetch_count(&self, sql: &'static str) -> Result<u64, StoreError> {
        let count: i64 = sqlx::query_scalar(sql)
            .fetch_one(self.readers().await?)
            .await
            .map_err(|error| self.read_error(&error))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }
}

impl FromRow for SessionEntry {
    fn from_row(row: &sqlx::sqlite::SqliteRow) -> Result<Self, StoreError> {
        let thoughts: i64 = row
            .try_get("thought_count")
            .map_err(|error| query_error(&error))?;
        let nodes: i64 = row
            .try_get("node_count")
            .map_err(|error| query_error(&error))?;
        Ok(Self {
            session: Session::from_row(row)?,
            thoughts: u64::try_from(thoughts).unwrap_or(0),
            nodes: u64::try_from(nodes).unwrap_or(0),
        })
    }
}

impl FromRow for BranchEntry {
    fn from_row(row: &sqlx::sqlite::SqliteRow) -> Result<Self, StoreError> {
        let thoughts: i64 = row
            .try_get("thought_count")
            .map_err(|error| query_error(&error))?;
        Ok(Self {
            branch: Branch::from_row(row)?,
            thoughts: u64::try_from(thoughts).unwrap_or(0),
            first_text: row
                .try_get("opening")
                .map_err(|error| query_error(&error))?,
        })
    }
}
