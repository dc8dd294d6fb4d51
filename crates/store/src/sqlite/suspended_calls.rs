//! SQL statements for suspended and background calls.

use deliberate_core::{StoredProgress, SuspendedCall, SuspensionId, Timestamp};
use serde_json::Value;

use super::apply::{SqlStatement, json_text};

/// Stores a new suspended call, or the next round or step of one that has not ended. The owner, tool
/// and start time stay; the next step of a call has arguments of its own.
pub(super) fn suspend(suspension: &SuspendedCall) -> SqlStatement<'_> {
    sqlx::query(
        "INSERT INTO suspensions (id, tool_name, arguments, journal, asks, created_at, \
         expires_at, outcome, owner, running_until, fence, notes, progress, progress_message) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, NULL, $8, $9, $10, $11, $12, $13) \
         ON CONFLICT (id) DO UPDATE SET arguments = excluded.arguments, \
         journal = excluded.journal, asks = excluded.asks, expires_at = excluded.expires_at, \
         running_until = excluded.running_until, fence = excluded.fence, notes = excluded.notes, \
         progress = excluded.progress, progress_message = excluded.progress_message \
         WHERE suspensions.outcome IS NULL AND suspensions.fence = excluded.fence - 1",
    )
    .bind(suspension.id.as_str())
    .bind(&suspension.tool_name)
    .bind(suspension.arguments.to_string())
    .bind(suspension.journal.to_string())
    .bind(suspension.asks.to_string())
    .bind(suspension.created_at.as_micros())
    .bind(suspension.expires_at.as_micros())
    .bind(suspension.owner.as_deref())
    .bind(suspension.running_until.map(Timestamp::as_micros))
    .bind(suspension.fence)
    .bind(json_text(suspension.notes.as_ref()))
    .bind(suspension.progress.fraction)
    .bind(&suspension.progress.message)
}

/// Deletes expired calls whenever another is suspended, so that they do not accumulate.
pub(super) fn delete_expired(suspension: &SuspendedCall) -> SqlStatement<'_> {
    sqlx::query("DELETE FROM suspensions WHERE expires_at < $1 AND id <> $2")
        .bind(suspension.created_at.as_micros())
        .bind(suspension.id.as_str())
}

pub(super) fn renew_lease<'a>(
    id: &'a SuspensionId,
    fence: i64,
    until: Timestamp,
    progress: &'a StoredProgress,
) -> SqlStatement<'a> {
    sqlx::query(
        "UPDATE suspensions SET running_until = $3, progress = $4, progress_message = $5 \
         WHERE id = $1 AND outcome IS NULL AND fence = $2",
    )
    .bind(id.as_str())
    .bind(fence)
    .bind(until.as_micros())
    .bind(progress.fraction)
    .bind(&progress.message)
}

pub(super) fn take_lease(
    id: &SuspensionId,
    fence: i64,
    seen: Option<Timestamp>,
    until: Timestamp,
) -> SqlStatement<'_> {
    sqlx::query(
        "UPDATE suspensions SET running_until = $4, fence = fence + 1 WHERE id = $1 \
         AND outcome IS NULL AND fence = $2 AND running_until IS $3",
    )
    .bind(id.as_str())
    .bind(fence)
    .bind(seen.map(Timestamp::as_micros))
    .bind(until.as_micros())
}

pub(super) fn end<'a>(
    id: &'a SuspensionId,
    fence: i64,
    outcome: &Value,
    failed: bool,
) -> SqlStatement<'a> {
    sqlx::query(
        "UPDATE suspensions SET outcome = $3, failed = $4, running_until = NULL \
         WHERE id = $1 AND outcome IS NULL AND fence = $2",
    )
    .bind(id.as_str())
    .bind(fence)
    .bind(outcome.to_string())
    .bind(failed)
}
