//! Checkpoints and backtracking.
//!
//! A session's history is a tree of epochs (see `migrations/sqlite/0002_epochs.sql`). A checkpoint
//! only ends an epoch, so its cost does not depend on the session's length. A backtrack starts a
//! new epoch below the checkpoint's and gives the session's rows the values that they had on that
//! line of epochs. Nothing is deleted, so a backtrack can always be undone.

use deliberate_core::{Checkpoint, CheckpointId, SessionId};
use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};

use super::{
    apply::{SqlStatement, id_str, run},
    rows::{FromRow, query_error},
};
use crate::{BacktrackPreview, EntityCounts, StoreError};

/// Names what can change: the table, the table of its earlier values, and the columns.
macro_rules! revision_names {
    ("branch", now) => {
        "branches"
    };
    ("branch", past) => {
        "branch_revisions"
    };
    ("branch", columns) => {
        "state, updated_at"
    };
    ("branch", past_columns) => {
        "past.state, past.updated_at"
    };
    ("node", now) => {
        "graph_nodes"
    };
    ("node", past) => {
        "node_revisions"
    };
    ("node", columns) => {
        "score, is_active, is_terminal, metadata, pruned"
    };
    ("node", past_columns) => {
        "past.score, past.is_active, past.is_terminal, past.metadata, past.pruned"
    };
}
pub(super) use revision_names;

/// The beginning of a statement that saves the current values of rows. The condition follows, then
/// [`save_revision_end`].
macro_rules! save_revision {
    ($what:tt) => {
        concat!(
            "INSERT INTO ",
            $crate::sqlite::epochs::revision_names!($what, past),
            " (id, epoch, session_id, ",
            $crate::sqlite::epochs::revision_names!($what, columns),
            ") SELECT id, value_epoch, session_id, ",
            $crate::sqlite::epochs::revision_names!($what, columns),
            " FROM ",
            $crate::sqlite::epochs::revision_names!($what, now),
            " WHERE "
        )
    };
}
pub(super) use save_revision;

/// The end of such a statement. A row's value in an ended epoch is saved once.
macro_rules! save_revision_end {
    () => {
        " ON CONFLICT (id, epoch) DO NOTHING"
    };
}
pub(super) use save_revision_end;

/// The statement that saves the values of the rows that match a condition if the values are from
/// an earlier epoch than the session's.
macro_rules! save_earlier_revision {
    ($what:tt, $condition:expr) => {
        concat!(
            $crate::sqlite::epochs::save_revision!($what),
            $condition,
            " AND value_epoch <> (SELECT s.epoch FROM sessions s WHERE s.id = session_id)",
            $crate::sqlite::epochs::save_revision_end!(),
            "; "
        )
    };
}
pub(super) use save_earlier_revision;

/// The epochs from `$2` of session `$1` up to the root.
macro_rules! epoch_line {
    () => {
        "WITH RECURSIVE line (number) AS (SELECT $2 UNION ALL SELECT e.parent FROM epochs e \
         JOIN line ON e.number = line.number WHERE e.session_id = $1) "
    };
}

/// Selects the latest values on that line of the rows of session `$1`, where they differ from the
/// current ones.
macro_rules! revisions_on_line {
    ($what:tt) => {
        concat!(
            "SELECT r.*, max(r.epoch) AS latest FROM ",
            revision_names!($what, past),
            " r JOIN ",
            revision_names!($what, now),
            " n ON n.id = r.id WHERE r.session_id = $1 AND r.epoch IN (SELECT number FROM line) \
             AND (r.epoch > n.value_epoch OR n.value_epoch NOT IN (SELECT number FROM line)) \
             GROUP BY r.id"
        )
    };
}

/// Statements that restore the values that a table's rows had on the line.
macro_rules! restore_revisions {
    ($what:tt) => {
        [
            concat!(
                epoch_line!(),
                save_revision!($what),
                "id IN (SELECT id FROM (",
                revisions_on_line!($what),
                "))",
                save_revision_end!()
            ),
            concat!(
                epoch_line!(),
                "UPDATE ",
                revision_names!($what, now),
                " SET (value_epoch, ",
                revision_names!($what, columns),
                ") = (past.latest, ",
                revision_names!($what, past_columns),
                ") FROM (",
                revisions_on_line!($what),
                ") AS past WHERE ",
                revision_names!($what, now),
                ".id = past.id"
            ),
        ]
    };
}

/// The statement that sets rows aside or restores them, according to the line.
macro_rules! archive_by_line {
    ($table:literal, $of_session:literal) => {
        concat!(
            epoch_line!(),
            "UPDATE ",
            $table,
            " SET set_aside = 1 - set_aside WHERE ",
            $of_session,
            " AND set_aside <> (epoch NOT IN (SELECT number FROM line))"
        )
    };
}

/// Adds the checkpoint, ends the epoch that it names, and starts the next one. Does nothing if the
/// state that it names has been set aside meanwhile.
pub(super) fn add_checkpoint(checkpoint: &Checkpoint) -> SqlStatement<'_> {
    let statement = sqlx::query(
        "INSERT INTO checkpoints (id, session_id, branch_id, name, description, snapshot, \
         created_at, kind, epoch) \
         SELECT $1, s.id, $3, $4, $5, $6, $7, $8, s.epoch FROM sessions s WHERE s.id = $2 \
         AND NOT EXISTS (SELECT 1 FROM branches WHERE id = $3 AND set_aside = 1) \
         AND NOT EXISTS (SELECT 1 FROM thoughts WHERE id = $6 ->> 'latest_thought_id' \
         AND set_aside = 1); \
         INSERT INTO epochs (session_id, number, parent) \
         SELECT s.id, 1 + (SELECT coalesce(max(number), 0) FROM epochs WHERE session_id = s.id), \
         s.epoch FROM sessions s WHERE s.id = $2 AND changes() > 0; \
         UPDATE sessions SET epoch = (SELECT max(number) FROM epochs WHERE session_id = $2), \
         updated_at = max(updated_at, $7) WHERE id = $2 AND changes() > 0",
    );
    statement
        .bind(checkpoint.id.as_str())
        .bind(checkpoint.session_id.as_str())
        .bind(id_str(checkpoint.branch_id.as_ref()))
        .bind(&checkpoint.name)
        .bind(checkpoint.description.as_deref())
        .bind(checkpoint.snapshot.to_string())
        .bind(checkpoint.created_at.as_micros())
        .bind(checkpoint.kind.as_str())
}

/// Returns `session` to the checkpoint `to` and saves the state that it leaves as `left`.
pub(super) async fn backtrack(
    connection: &mut SqliteConnection,
    session: &SessionId,
    to: &CheckpointId,
    left: &Checkpoint,
) -> Result<(), StoreError> {
    let target = sqlx::query("SELECT epoch FROM checkpoints WHERE id = $1 AND session_id = $2")
        .bind(to.as_str())
        .bind(session.as_str())
        .fetch_optional(&mut *connection)
        .await
        .map_err(|error| query_error(&error))?;
    let Some(target) = target.filter(|_| left.session_id == *session) else {
        return Err(StoreError::Conflict {
            reason: "the checkpoint belongs to another session".to_owned(),
        });
    };
    let epoch: i64 = target
        .try_get("epoch")
        .map_err(|error| query_error(&error))?;
    if run(connection, add_checkpoint(left)).await? == 0 {
        return Err(StoreError::Conflict {
            reason: "the current state was set aside".to_owned(),
        });
    }
    // The active branch may have changed since the caller read it.
    let follows = "UPDATE checkpoints SET branch_id = (SELECT active_branch_id FROM sessions \
                   WHERE id = $1) WHERE id = $2";
    let follows = sqlx::query(follows)
        .bind(session.as_str())
        .bind(left.id.as_str());
    run(connection, follows).await?;
    let sorted = [
        archive_by_line!("thoughts", "session_id = $1"),
        archive_by_line!("branches", "session_id = $1"),
        archive_by_line!(
            "cross_refs",
            "from_branch IN (SELECT id FROM branches WHERE session_id = $1)"
        ),
        archive_by_line!("graphs", "session_id = $1"),
        archive_by_line!("graph_nodes", "session_id = $1"),
        archive_by_line!(
            "graph_edges",
            "graph_id IN (SELECT id FROM graphs WHERE session_id = $1)"
        ),
    ];
    let restored = [restore_revisions!("branch"), restore_revisions!("node")].concat();
    for statement in sorted.into_iter().chain(restored) {
        let statement = sqlx::query(statement).bind(session.as_str()).bind(epoch);
        run(connection, statement).await?;
    }
    // The epoch that `left` started becomes a child of the one that the session returns to.
    let turned = sqlx::query(
        "UPDATE epochs SET parent = $2 WHERE session_id = $1 \
         AND number = (SELECT epoch FROM sessions WHERE id = $1); \
         UPDATE sessions SET active_branch_id = (SELECT branch_id FROM checkpoints WHERE id = $3) \
         WHERE id = $1",
    )
    .bind(session.as_str())
    .bind(epoch)
    .bind(to.as_str());
    run(connection, turned).await.map(drop)
}

/// Counts the current nodes that stay on the line and whose `pruned` returning to it changes to
/// `$pruned`.
macro_rules! pruned_by_line {
    ($pruned:literal) => {
        concat!(
            "(SELECT count(*) FROM (",
            revisions_on_line!("node"),
            ") AS past JOIN graph_nodes n ON n.id = past.id WHERE n.set_aside = 0 \
             AND n.epoch IN (SELECT number FROM line) AND n.pruned <> past.pruned \
             AND past.pruned = ",
            $pruned,
            ")"
        )
    };
}

/// Counts the rows that returning to a checkpoint (`$2` its epoch, `$1` its session) would move.
pub(super) const BACKTRACK_PREVIEW: &str = concat!(
    epoch_line!(),
    "SELECT \
     (SELECT count(*) FROM thoughts WHERE session_id = $1 AND set_aside = 0 \
        AND epoch NOT IN (SELECT number FROM line)) AS thoughts_aside, \
     (SELECT count(*) FROM branches WHERE session_id = $1 AND set_aside = 0 \
        AND epoch NOT IN (SELECT number FROM line)) AS branches_aside, \
     (SELECT count(*) FROM graph_nodes WHERE session_id = $1 AND set_aside = 0 \
        AND epoch NOT IN (SELECT number FROM line)) + ",
    pruned_by_line!("1"),
    " AS nodes_aside, \
     (SELECT count(*) FROM thoughts WHERE session_id = $1 AND set_aside = 1 \
        AND epoch IN (SELECT number FROM line)) AS thoughts_back, \
     (SELECT count(*) FROM branches WHERE session_id = $1 AND set_aside = 1 \
        AND epoch IN (SELECT number FROM line)) AS branches_back, \
     (SELECT count(*) FROM graph_nodes WHERE session_id = $1 AND set_aside = 1 \
        AND epoch IN (SELECT number FROM line)) + ",
    pruned_by_line!("0"),
    " AS nodes_back"
);

/// Selects the latest graph of a checkpoint (`$2` its epoch, `$1` its session).
pub(super) const GRAPH_AT_EPOCH: &str = concat!(
    epoch_line!(),
    "SELECT * FROM graphs WHERE session_id = $1 AND epoch IN (SELECT number FROM line) \
     ORDER BY seq DESC LIMIT 1"
);

/// Selects the first `$4` nodes of graph `$3` with the values that they had at that checkpoint.
pub(super) const NODES_AT_EPOCH: &str = concat!(
    epoch_line!(),
    "SELECT n.id, n.graph_id, n.session_id, n.content, n.node_type, n.depth, n.created_at, \
     0 AS set_aside, iif(past.id IS NULL, n.score, past.score) AS score, \
     coalesce(past.is_active, n.is_active) AS is_active, \
     coalesce(past.is_terminal, n.is_terminal) AS is_terminal, \
     iif(past.id IS NULL, n.metadata, past.metadata) AS metadata, \
     coalesce(past.pruned, n.pruned) AS pruned \
     FROM graph_nodes n LEFT JOIN (",
    revisions_on_line!("node"),
    ") AS past ON past.id = n.id WHERE n.graph_id = $3 \
     AND n.epoch IN (SELECT number FROM line) ORDER BY n.seq LIMIT $4"
);

impl FromRow for BacktrackPreview {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let count = |column: &str| -> Result<u64, StoreError> {
            let count: i64 = row.try_get(column).map_err(|error| query_error(&error))?;
            Ok(u64::try_from(count).unwrap_or(0))
        };
        Ok(Self {
            set_aside: EntityCounts {
                thoughts: count("thoughts_aside")?,
                branches: count("branches_aside")?,
                nodes: count("nodes_aside")?,
            },
            restored: EntityCounts {
                thoughts: count("thoughts_back")?,
                branches: count("branches_back")?,
                nodes: count("nodes_back")?,
            },
        })
    }
}
