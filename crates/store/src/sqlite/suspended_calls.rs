//! SQL statements for suspended and background calls.

use deliberate_core::{SuspendedCall, SuspensionId, Timestamp};
use serde_json::Value;

use super::apply::SqlStatement;

/// Stores a new suspended call or the next round of one that has not ended. The owner, tool and
/// start time stay; the next step of a call has arguments of its own.
pub(super) fn suspend(suspension: &SuspendedCall) -> SqlStatement<'_> {
    sqlx::query(
        "INSERT INTO suspensions (id, tool_name, arguments, journal, asks, created_at, \
         expires_at, outcome, owner, running_until) VALUES ($1, $2, $3, $4, $5, $6, $7, NULL, \
         $8, $9) ON CONFLICT (id) DO UPDATE SET arguments = excluded.arguments, \
         journal = excluded.journal, asks = excluded.asks, expires_at = excluded.expires_at, \
         running_until = excluded.running_until WHERE suspensions.outcome IS NULL",
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
}

/// Deletes expired calls whenever another is suspended, so that they do not accumulate.
pub(super) fn delete_expired(suspension: &SuspendedCall) -> SqlStatement<'_> {
    sqlx::query("DELETE FROM suspensions WHERE expires_at < $1 AND id <> $2")
        .bind(suspension.created_at.as_micros())
        .bind(suspension.id.as_str())
}

pub(super) fn renew_lease(
    id: &SuspensionId,
    seen: Option<Timestamp>,
    until: Timestamp,
) -> SqlStatement<'_> {
    sqlx::query(
        "UPDATE suspensions SET running_until = $2 WHERE id = $1 AND outcome IS NULL \
         AND running_until IS $3",
    )
    .bind(id.as_str())
    .bind(until.as_micros())
    .bind(seen.map(Timestamp::as_micros))
}

pub(super) fn end<'a>(id: &'a SuspensionId, outcome: &Value, failed: bool) -> SqlStatement<'a> {
    sqlx::query(
        "UPDATE suspensions SET outcome = $2, failed = $3, running_until = NULL \
         WHERE id = $1 AND outcome IS NULL",
    )
    .bind(id.as_str())
    .bind(outcome.to_string())
    .bind(failed)
}
