//! Writes and reads chain runs and the settings of the prompt engine.
//!
//! A run's row holds the number of its newest event, and an event is added only directly after the
//! one that its writer read. Of several calls that continue a run at once, in one process or in
//! many, exactly one succeeds.

use std::collections::BTreeMap;

use deliberate_core::{ChainEvent, ChainRun, ChainState, RunId, Timestamp};
use serde_json::Value;
use sqlx::sqlite::SqliteRow;

use super::{
    SqliteStore,
    apply::SqlStatement,
    rows::{Columns, FromRow, corrupt},
};
use crate::{ChainRunFilter, Pagination, StoreError};

pub(super) const ALREADY_STARTED: &str = "a run of that number was started meanwhile";
pub(super) const RUN_ADVANCED: &str = "the run advanced meanwhile";
pub(super) const STATE_FULL: &str = "1,000 settings are stored already; remove one first";

pub(super) fn conflict(reason: &str) -> StoreError {
    StoreError::Conflict {
        reason: reason.to_owned(),
    }
}

pub(super) fn start(run: &ChainRun) -> SqlStatement<'_> {
    sqlx::query(
        "INSERT INTO chain_runs (id, base, number, command, owner, state, steps, at_step, events, \
         created_at, updated_at, plan) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10, $11) \
         ON CONFLICT DO NOTHING",
    )
    .bind(run.id.as_str())
    .bind(&run.base)
    .bind(run.number)
    .bind(&run.command)
    .bind(run.owner.as_deref())
    .bind(run.state.as_str())
    .bind(run.steps)
    .bind(run.at_step)
    .bind(run.created_at.as_micros())
    .bind(run.updated_at.as_micros())
    .bind(run.plan.to_string())
}

/// Updates the run first, because only a successful update may add the event.
pub(super) fn add_event(event: &ChainEvent, state: ChainState, at_step: u32) -> SqlStatement<'_> {
    sqlx::query(
        "UPDATE chain_runs SET state = $3, at_step = $4, events = $2, \
         updated_at = max(updated_at, $5) \
         WHERE id = $1 AND state = 'open' AND events = $2 - 1; \
         INSERT INTO chain_events (run_id, seq, kind, step, created_at, data) \
         SELECT $1, $2, $6, $7, $5, $8 WHERE changes() > 0",
    )
    .bind(event.run_id.as_str())
    .bind(event.seq)
    .bind(state.as_str())
    .bind(at_step)
    .bind(event.created_at.as_micros())
    .bind(&event.kind)
    .bind(event.step)
    .bind(event.data.to_string())
}

pub(super) fn prune(base: &str, keep: u32, idle_since: Timestamp) -> SqlStatement<'_> {
    sqlx::query(
        "DELETE FROM chain_runs WHERE id IN (SELECT id FROM (SELECT id FROM chain_runs \
         WHERE base = $1 AND state <> 'open' ORDER BY number DESC LIMIT -1 OFFSET $2) \
         UNION ALL SELECT id FROM chain_runs \
         WHERE base = $1 AND state = 'open' AND updated_at < $3)",
    )
    .bind(base)
    .bind(keep)
    .bind(idle_since.as_micros())
}

/// Sets a value, as long as there are no more than one read returns.
pub(super) fn set_state<'q>(
    key: &'q str,
    value: Option<&Value>,
    at: Timestamp,
) -> SqlStatement<'q> {
    let Some(value) = value else {
        return sqlx::query("DELETE FROM engine_state WHERE key = $1").bind(key);
    };
    sqlx::query(
        "INSERT INTO engine_state (key, value, updated_at) SELECT $1, $2, $3 \
         WHERE (SELECT count(*) FROM engine_state WHERE key <> $1) < $4 \
         ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
    )
    .bind(key)
    .bind(value.to_string())
    .bind(at.as_micros())
    .bind(Pagination::MAX)
}

pub(super) fn list(filter: &ChainRunFilter, page: Pagination) -> SqlStatement<'_> {
    sqlx::query(
        "SELECT id, base, number, command, owner, state, steps, at_step, events, created_at, \
         updated_at, 'null' AS plan FROM chain_runs \
         WHERE ($1 IS NULL OR base = $1) AND ($2 IS NULL OR state = $2) \
         AND ($3 OR owner IS $4) \
         ORDER BY updated_at DESC, number DESC, id DESC LIMIT $5 OFFSET $6",
    )
    .bind(filter.base.as_deref())
    .bind(filter.state.map(ChainState::as_str))
    .bind(filter.owner.is_none())
    .bind(filter.owner.as_ref().and_then(Option::as_deref))
    .bind(page.bounded_limit())
    .bind(page.offset)
}

pub(super) async fn newest(
    store: &SqliteStore,
    base: &str,
    owner: Option<&str>,
) -> Result<Option<RunId>, StoreError> {
    let id: Option<String> = sqlx::query_scalar(
        "SELECT id FROM chain_runs WHERE base = $1 AND ($2 IS NULL OR owner = $2) \
         ORDER BY number DESC LIMIT 1",
    )
    .bind(base)
    .bind(owner)
    .fetch_optional(store.readers().await?)
    .await
    .map_err(|error| store.read_error(&error))?;
    Ok(id.map(RunId::from))
}

pub(super) async fn last_number(store: &SqliteStore, base: &str) -> Result<i64, StoreError> {
    sqlx::query_scalar("SELECT coalesce(max(number), 0) FROM chain_runs WHERE base = $1")
        .bind(base)
        .fetch_one(store.readers().await?)
        .await
        .map_err(|error| store.read_error(&error))
}

pub(super) async fn settings(
    store: &SqliteStore,
    names: &[&str],
) -> Result<BTreeMap<String, Value>, StoreError> {
    let statement = sqlx::query(
        "SELECT key, value FROM engine_state \
         WHERE $1 = '[]' OR key IN (SELECT value FROM json_each($1)) ORDER BY key LIMIT $2",
    )
    .bind(Value::from(names).to_string())
    .bind(Pagination::MAX);
    let rows: Vec<SettingRow> = store.fetch_rows(statement).await?;
    Ok(rows.into_iter().map(|it| (it.key, it.value)).collect())
}

/// A row of the settings table.
struct SettingRow {
    key: String,
    value: Value,
}

impl FromRow for SettingRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        Ok(Self {
            key: row.get("key")?,
            value: row.json("value")?,
        })
    }
}

/// Reads a run and its events in one statement, so that both are from the same moment: one row for
/// the run, then rows of [`EVENTS_PER_ROW`] events each, because each row that leaves the
/// database's thread costs more than its contents. An event is two lines, the event and its data;
/// stored JSON contains no line breaks. A plan that is not requested is not read from disk.
const SELECT_RUN: &str = "SELECT id, base, number, command, owner, state, steps, at_step, events, \
     created_at, updated_at, CASE WHEN $3 THEN plan ELSE 'null' END AS plan, NULL AS lines \
     FROM chain_runs WHERE id = $1 UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
     group_concat('[' || seq || ',' || json_quote(kind) || ',' || coalesce(step, 'null') || ',' \
     || created_at || ']' || char(10) || data, char(10)) \
     FROM chain_events WHERE run_id = $1 GROUP BY seq / $2";

/// Small enough that long events do not make a huge text.
const EVENTS_PER_ROW: u32 = 32;

pub(super) async fn fetch_run(
    store: &SqliteStore,
    id: &RunId,
    with_plan: bool,
) -> Result<Option<(ChainRun, Vec<ChainEvent>)>, StoreError> {
    let rows = sqlx::query(SELECT_RUN)
        .bind(id.as_str())
        .bind(EVENTS_PER_ROW)
        .bind(with_plan)
        .fetch_all(store.readers().await?)
        .await
        .map_err(|error| store.read_error(&error))?;
    let mut run = None;
    let mut events = Vec::new();
    for row in &rows {
        match Columns(row).get::<Option<&str>>("lines")? {
            Some(lines) => read_events(id, lines, &mut events)?,
            None => run = Some(ChainRun::from_row(row)?),
        }
    }
    // SQLite guarantees no order inside a group.
    events.sort_unstable_by_key(|event: &ChainEvent| event.seq);
    let Some(run) = run else {
        return Ok(None);
    };
    if u32::try_from(events.len()) != Ok(run.events) {
        return Err(corrupt("events", &"some of the run's events are missing"));
    }
    Ok(Some((run, events)))
}

fn read_events(run: &RunId, lines: &str, events: &mut Vec<ChainEvent>) -> Result<(), StoreError> {
    let problem = |error| corrupt("events", &error);
    let mut lines = lines.split('\n');
    while let (Some(head), Some(data)) = (lines.next(), lines.next()) {
        let (seq, kind, step, created_at) = serde_json::from_str(head).map_err(problem)?;
        events.push(ChainEvent {
            run_id: run.clone(),
            seq,
            kind,
            step,
            data: serde_json::from_str(data).map_err(problem)?,
            created_at: Timestamp::from_micros(created_at),
        });
    }
    Ok(())
}

impl FromRow for ChainRun {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        Ok(Self {
            id: row.id("id")?,
            base: row.get("base")?,
            number: row.get("number")?,
            command: row.get("command")?,
            plan: row.json("plan")?,
            owner: row.get("owner")?,
            state: row.parse_word("state")?,
            steps: row.get("steps")?,
            at_step: row.get("at_step")?,
            events: row.get("events")?,
            created_at: row.time("created_at")?,
            updated_at: row.time("updated_at")?,
        })
    }
}
