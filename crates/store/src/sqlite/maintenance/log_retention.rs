//! The removal of old operational records: records of the invocation log and suspended calls that
//! have expired. What users made (sessions, thoughts, articles, chain runs) is never removed here.
//!
//! It works in small steps between the commits of calls, so that no call waits for long.

use deliberate_core::Timestamp;

use super::INCREMENTAL_VACUUM;
use crate::{
    StoreError,
    sqlite::{SqliteStore, writer::MaintenanceStep},
};

/// Records that one step deletes. A step takes a few milliseconds.
const RECORDS_PER_STEP: i64 = 200;

/// Free pages that stay in the file for later records.
const SPARE_PAGES: i64 = 256;

/// The bytes of a record beside its arguments and answer, with its entries in indexes.
const RECORD_OVERHEAD_BYTES: i64 = 400;

/// How long and how much of the invocation log is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogRetention {
    /// Records of calls that started before this time are deleted.
    pub before: Option<Timestamp>,
    /// The largest size of the log in bytes; the oldest records beyond it are deleted.
    pub max_bytes: Option<u64>,
}

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogPruning {
    /// The number of deleted records of the invocation log.
    pub records: u64,
    /// The number of deleted suspended calls.
    pub suspended_calls: u64,
    /// The number of pages that were returned to the file system.
    pub pages: u64,
}

impl SqliteStore {
    /// Deletes old records of the invocation log and expired suspended calls, then returns free
    /// pages to the file system. Databases that were made without incremental vacuum keep the
    /// pages and use them for later records.
    pub async fn prune_log(
        &self,
        retention: &LogRetention,
        now: Timestamp,
    ) -> Result<LogPruning, StoreError> {
        let mut pruning = LogPruning::default();
        if let Some(before) = retention.before {
            pruning.records += self
                .delete_in_steps(
                    "DELETE FROM invocations WHERE seq IN (SELECT seq FROM invocations \
                     WHERE created_at < $1 ORDER BY created_at LIMIT $2)",
                    before.as_micros(),
                )
                .await?;
        }
        if let Some(last) = self.last_record_beyond(retention.max_bytes).await? {
            pruning.records += self
                .delete_in_steps(
                    "DELETE FROM invocations WHERE seq IN (SELECT seq FROM invocations \
                     WHERE seq <= $1 ORDER BY seq LIMIT $2)",
                    last,
                )
                .await?;
        }
        pruning.suspended_calls = self
            .delete_in_steps(
                "DELETE FROM suspensions WHERE id IN (SELECT id FROM suspensions \
                 WHERE expires_at < $1 LIMIT $2)",
                now.as_micros(),
            )
            .await?;
        pruning.pages = self.free_pages().await?;
        Ok(pruning)
    }

    async fn delete_in_steps(&self, sql: &'static str, bound: i64) -> Result<u64, StoreError> {
        let mut deleted = 0;
        loop {
            let step = MaintenanceStep {
                sql,
                arguments: vec![bound, RECORDS_PER_STEP],
            };
            let records = self.maintain(step).await?;
            deleted += records;
            if records < RECORDS_PER_STEP.unsigned_abs() {
                return Ok(deleted);
            }
        }
    }

    /// Returns the newest record that lies beyond the largest size of the log.
    async fn last_record_beyond(&self, max_bytes: Option<u64>) -> Result<Option<i64>, StoreError> {
        let Some(max_bytes) = max_bytes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX))
        else {
            return Ok(None);
        };
        // Most files are smaller than the log may be, so that no record needs to be read.
        let file =
            self.pragma("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
        if file.await? <= max_bytes {
            return Ok(None);
        }
        sqlx::query_scalar(
            "SELECT seq FROM (SELECT seq, sum(octet_length(input) \
             + coalesce(octet_length(output), 0) + $2) OVER (ORDER BY seq DESC) AS size \
             FROM invocations) WHERE size > $1 ORDER BY seq DESC LIMIT 1",
        )
        .bind(max_bytes)
        .bind(RECORD_OVERHEAD_BYTES)
        .fetch_optional(self.readers().await?)
        .await
        .map_err(|error| self.read_error(&error))
    }

    async fn free_pages(&self) -> Result<u64, StoreError> {
        if self.pragma("PRAGMA auto_vacuum").await? != INCREMENTAL_VACUUM {
            return Ok(0);
        }
        let mut freed = 0;
        let mut free = self.pragma("PRAGMA freelist_count").await?;
        while free > SPARE_PAGES {
            self.maintain(MaintenanceStep {
                sql: "PRAGMA incremental_vacuum(200)",
                arguments: Vec::new(),
            })
            .await?;
            let left = self.pragma("PRAGMA freelist_count").await?;
            if left >= free {
                break;
            }
            freed += (free - left).unsigned_abs();
            free = left;
        }
        Ok(freed)
    }

    async fn pragma(&self, sql: &'static str) -> Result<i64, StoreError> {
        sqlx::query_scalar(sql)
            .fetch_one(self.readers().await?)
            .await
            .map_err(|error| self.read_error(&error))
    }
}
