//! Usage statistics of the tools, from the invocation log.

use deliberate_core::Timestamp;
use sqlx::sqlite::SqliteRow;

use super::{
    apply::SqlStatement,
    rows::{Columns, FromRow},
};
use crate::{Pagination, StoreError, ToolUsage};

/// Reads the index only, because the rows are long.
pub(super) fn usage_by_tool(since: Option<Timestamp>) -> SqlStatement<'static> {
    sqlx::query(
        "SELECT tool_name, count(*) AS calls, count(*) FILTER (WHERE success = 0) AS failed, \
         CAST(total(latency_ms) AS INTEGER) AS total_ms, coalesce(max(latency_ms), 0) AS most_ms \
         FROM invocations WHERE created_at >= $1 GROUP BY tool_name \
         ORDER BY calls DESC, tool_name LIMIT $2",
    )
    .bind(since_micros(since))
    .bind(Pagination::MAX)
}

pub(super) fn invocations_by_tool(
    tool: &str,
    since: Option<Timestamp>,
    page: Pagination,
) -> SqlStatement<'_> {
    sqlx::query(
        "SELECT * FROM invocations WHERE tool_name = $1 AND created_at >= $2 \
         ORDER BY created_at DESC, seq DESC LIMIT $3 OFFSET $4",
    )
    .bind(tool)
    .bind(since_micros(since))
    .bind(page.bounded_limit())
    .bind(page.offset)
}

/// Returns the earliest possible time if none is given.
fn since_micros(since: Option<Timestamp>) -> i64 {
    since.map_or(i64::MIN, Timestamp::as_micros)
}

impl FromRow for ToolUsage {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        let figure = |column| -> Result<u64, StoreError> {
            // If the clock was set back, a call may have a negative duration.
            Ok(u64::try_from(row.get::<i64>(column)?).unwrap_or(0))
        };
        Ok(Self {
            tool: row.get("tool_name")?,
            calls: figure("calls")?,
            failed: figure("failed")?,
            total_ms: figure("total_ms")?,
            max_ms: figure("most_ms")?,
        })
    }
}
