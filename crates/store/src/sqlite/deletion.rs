//! Deletes sessions and chain runs, with what the invocation log and suspended calls hold of their
//! contents.
//!
//! A record without a session belongs to one if its arguments or its answer name the session or
//! something in it: a search that found it, or a failed call of one of its graphs. The answers of a
//! chain show what its reasoning steps returned as a text, in which the session is named.
//!
//! A record that is written after the deletion, because its call was still running or the record
//! waited to be written with others, is written without texts. For that the write connection keeps
//! the ids of the sessions that it deleted last; other processes recognize only the records of
//! reasoning tools, which name their sessions in known fields.

use deliberate_core::{Invocation, RunId, SessionId};
use serde_json::Value;

use super::apply::SqlStatement;

/// Whether one of two columns with JSON contains one of these ids as a text. Old databases may hold
/// other text.
macro_rules! names_one_of {
    ($first:literal, $second:literal, $ids:literal) => {
        concat!(
            "(EXISTS (SELECT 1 FROM json_tree(iif(json_valid(",
            $first,
            "), ",
            $first,
            ", 'null')) \
             WHERE atom IN (",
            $ids,
            ")) OR EXISTS (SELECT 1 FROM json_tree(iif(json_valid(",
            $second,
            "), ",
            $second,
            ", 'null')) WHERE atom IN (",
            $ids,
            ")))"
        )
    };
}

/// The ids of a session and of everything in it, and of the suspended calls that name one of them.
macro_rules! session_ids {
    () => {
        concat!(
            "WITH own (id) AS MATERIALIZED (SELECT id FROM sessions WHERE id = $1 \
         UNION ALL SELECT id FROM thoughts WHERE session_id = $1 \
         UNION ALL SELECT id FROM branches WHERE session_id = $1 \
         UNION ALL SELECT id FROM graphs WHERE session_id = $1 \
         UNION ALL SELECT id FROM graph_nodes WHERE session_id = $1 \
         UNION ALL SELECT id FROM checkpoints WHERE session_id = $1 \
         UNION ALL SELECT id FROM state_snapshots WHERE session_id = $1), \
         calls (id) AS MATERIALIZED (SELECT id FROM suspensions WHERE ",
            names_one_of!("arguments", "outcome", "SELECT id FROM own"),
            ") "
        )
    };
}

/// Creates the table of the sessions that this connection deleted last. It exists only in this
/// connection and is undone with its transactions.
pub(super) const CREATE_DELETED_SESSIONS: &str =
    "CREATE TEMP TABLE deleted_sessions (id TEXT NOT NULL)";

/// Whether the record of a call, with the parameters of its insertion, belongs to a session that
/// was deleted before, by the rules of its deletion.
macro_rules! names_deleted_session {
    () => {
        "EXISTS (SELECT 1 FROM temp.deleted_sessions gone \
         WHERE (gone.id = $2 OR $3 = 'prompt_engine' \
         AND (instr($4, gone.id) > 0 OR instr($5, gone.id) > 0)) \
         AND NOT EXISTS (SELECT 1 FROM sessions WHERE id = gone.id))"
    };
}
pub(super) use names_deleted_session;

/// Deletes the session, its suspended calls, and what the invocation log holds of its contents.
/// Thoughts of other sessions that built on it become roots of their lines.
pub(super) fn delete_session(id: &SessionId) -> SqlStatement<'_> {
    sqlx::query(concat!(
        "WITH RECURSIVE line (id, root) AS ( \
         SELECT t.id, t.id FROM thoughts gone JOIN thoughts t ON t.parent_id = gone.id \
         WHERE gone.session_id = $1 AND t.session_id <> $1 \
         UNION ALL SELECT t.id, line.root FROM thoughts t JOIN line ON t.parent_id = line.id \
         WHERE t.session_id <> $1) \
         UPDATE thoughts SET root_id = line.root FROM line WHERE line.id = thoughts.id; \
         UPDATE invocations SET input = '{}', output = NULL, error = NULL WHERE session_id = $1; ",
        session_ids!(),
        "UPDATE invocations SET input = '{}', output = NULL, error = NULL \
         WHERE session_id IS NULL AND (tool_name = 'prompt_engine' \
         AND (instr(input, $1) > 0 OR instr(output, $1) > 0) \
         OR tool_name >= 'reasoning_' AND tool_name < 'reasoning`' AND ",
        names_one_of!(
            "input",
            "output",
            "SELECT id FROM own UNION ALL SELECT id FROM calls"
        ),
        "); ",
        session_ids!(),
        "DELETE FROM suspensions WHERE id IN (SELECT id FROM calls); \
         INSERT INTO temp.deleted_sessions (id) SELECT id FROM sessions WHERE id = $1; \
         DELETE FROM temp.deleted_sessions \
         WHERE rowid <= (SELECT max(rowid) FROM temp.deleted_sessions) - 256; \
         DELETE FROM sessions WHERE id = $1"
    ))
    .bind(id.as_str())
}

/// Deletes the run, and what the invocation log holds of its contents.
pub(super) fn delete_run(id: &RunId) -> SqlStatement<'_> {
    sqlx::query(concat!(
        "UPDATE invocations SET input = '{}', output = NULL, error = NULL \
         WHERE tool_name IN ('prompt_engine', 'system_control') \
         AND EXISTS (SELECT 1 FROM chain_runs WHERE id = $1) AND ",
        names_one_of!("input", "output", "$1"),
        "; DELETE FROM chain_runs WHERE id = $1",
    ))
    .bind(id.as_str())
}

/// Returns the sessions that a record of a reasoning tool belongs to or shows, as a JSON array. If
/// one of them does not exist, it was deleted while the call was running. In the arguments of other
/// tools, `session_id` may name something else.
pub(super) fn sessions_in_record(record: &Invocation) -> String {
    let mut sessions = Vec::new();
    if record.tool_name.starts_with("reasoning_") {
        sessions.extend(record.session_id.as_ref().map(SessionId::as_str));
        if let Some(output) = &record.output {
            collect_sessions(output, &mut sessions);
        }
    }
    Value::from(sessions).to_string()
}

fn collect_sessions<'v>(value: &'v Value, sessions: &mut Vec<&'v str>) {
    match value {
        Value::Object(fields) => {
            let session = fields.get("session_id").and_then(Value::as_str);
            sessions.extend(session);
            for field in fields.values() {
                collect_sessions(field, sessions);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect_sessions(item, sessions);
            }
        }
        _ => {}
    }
}
