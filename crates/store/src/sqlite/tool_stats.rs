//! Reports of usage and the calls of a tool, from the invocation log.

use deliberate_core::Timestamp;
use serde_json::json;
use sqlx::{QueryBuilder, Sqlite, sqlite::SqliteRow};

use super::{
    SqliteStore,
    apply::SqlStatement,
    rows::{Columns, FromRow},
};
use crate::{
    Pagination, StoreError, StoreFuture, UsageFigures, UsageGroup, UsageQuery, UsageReport,
    UsageReports, UsageRow,
};

/// The sums, under the names of the fields. `total` cannot overflow as `sum` can.
const SUMS: &str = "count(*) AS calls, count(*) FILTER (WHERE success = 0) AS failed, \
     CAST(total(model_calls) AS INTEGER) AS model_calls, \
     CAST(total(prompt_tokens) AS INTEGER) AS prompt_tokens, \
     CAST(total(completion_tokens) AS INTEGER) AS completion_tokens, sum(cost_usd) AS cost_usd, \
     count(*) FILTER (WHERE model_calls > 0 AND cost_usd IS NULL) AS unpriced_calls, \
     CAST(total(latency_ms) AS INTEGER) AS total_ms, coalesce(max(latency_ms), 0) AS max_ms";

impl UsageReports for SqliteStore {
    fn usage<'a>(&'a self, query: &'a UsageQuery) -> StoreFuture<'a, UsageReport> {
        Box::pin(async move {
            let mut groups = QueryBuilder::new("SELECT ");
            push_key(&mut groups, query);
            groups.push(" AS key, ").push(SUMS);
            push_calls(&mut groups, query);
            groups.push(" GROUP BY key ORDER BY ");
            groups.push(match query.group_by {
                UsageGroup::Day => "key DESC",
                UsageGroup::Session => "max(created_at) DESC, key",
                UsageGroup::Tool | UsageGroup::Model => "calls DESC, key",
            });
            groups.push(" LIMIT ");
            groups.push_bind(query.limit.min(Pagination::MAX));
            let mut all = QueryBuilder::new("SELECT count(DISTINCT coalesce(");
            push_key(&mut all, query);
            // The calls without a key are a group, too.
            all.push(", '')) AS group_count, ").push(SUMS);
            push_calls(&mut all, query);
            let rows = self.fetch_rows(groups.build()).await?;
            let all: Vec<UsageReport> = self.fetch_rows(all.build()).await?;
            let all = all.into_iter().next().unwrap_or_default();
            Ok(UsageReport { rows, ..all })
        })
    }
}

fn push_key(sql: &mut QueryBuilder<Sqlite>, query: &UsageQuery) {
    match query.group_by {
        UsageGroup::Day => {
            let offsets = query.utc_offsets.iter();
            let offsets: Vec<_> = offsets
                .map(|offset| json!([offset.since.as_micros(), offset.seconds]))
                .collect();
            sql.push("date(created_at / 1000000 + coalesce((SELECT o.value ->> 1 FROM json_each(");
            sql.push_bind(json!(offsets).to_string());
            sql.push(
                ") o WHERE o.value ->> 0 <= created_at ORDER BY o.key DESC LIMIT 1), 0), \
                 'unixepoch')",
            );
        }
        UsageGroup::Session => {
            sql.push("session_id");
        }
        UsageGroup::Tool => {
            sql.push("tool_name");
        }
        UsageGroup::Model => {
            sql.push("coalesce(model, pipe_name)");
        }
    }
}

fn push_calls(sql: &mut QueryBuilder<Sqlite>, query: &UsageQuery) {
    sql.push(" FROM invocations WHERE created_at >= ");
    sql.push_bind(since_micros(query.since));
    if let Some(until) = query.until {
        sql.push(" AND created_at < ").push_bind(until.as_micros());
    }
    if let Some(session) = &query.session {
        sql.push(" AND session_id = ");
        sql.push_bind(session.as_str().to_owned());
    }
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

impl FromRow for UsageReport {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            rows: Vec::new(),
            total: UsageFigures::from_row(row)?,
            group_count: count(&Columns(row), "group_count")?,
        })
    }
}

impl FromRow for UsageRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            key: Columns(row).get("key")?,
            figures: UsageFigures::from_row(row)?,
        })
    }
}

impl FromRow for UsageFigures {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        Ok(Self {
            calls: count(&row, "calls")?,
            failed: count(&row, "failed")?,
            model_calls: count(&row, "model_calls")?,
            prompt_tokens: count(&row, "prompt_tokens")?,
            completion_tokens: count(&row, "completion_tokens")?,
            cost_usd: row.get("cost_usd")?,
            unpriced_calls: count(&row, "unpriced_calls")?,
            total_ms: count(&row, "total_ms")?,
            max_ms: count(&row, "max_ms")?,
        })
    }
}

/// Returns a number that cannot be negative, unless the clock was set back during a call.
fn count(row: &Columns<'_>, column: &'static str) -> Result<u64, StoreError> {
    Ok(u64::try_from(row.get::<i64>(column)?).unwrap_or(0))
}
