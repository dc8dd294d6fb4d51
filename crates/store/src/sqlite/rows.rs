//! Converts rows into domain types.

use std::str::FromStr;

use deliberate_core::{
    Branch, Checkpoint, CrossRef, Graph, GraphEdge, GraphNode, Invocation, Mode, ModelUsage, Score,
    Session, StateSnapshot, StoredProgress, SuspendedCall, Thought, Timestamp,
};
use serde_json::Value;
use sqlx::{Row, sqlite::SqliteRow};

use crate::StoreError;

// Result codes of SQLite.
const SQLITE_BUSY: u32 = 5;
const SQLITE_LOCKED: u32 = 6;
const SQLITE_READONLY: u32 = 8;
const SQLITE_CORRUPT: u32 = 11;
const SQLITE_FULL: u32 = 13;
const SQLITE_NOTADB: u32 = 26;

/// A type that is created from a row whose columns have the names of its fields.
pub(super) trait FromRow: Sized {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError>;
}

/// The columns of a row. Every error names its column.
pub(super) struct Columns<'a>(pub(super) &'a SqliteRow);

impl Columns<'_> {
    pub(super) fn get<'r, T>(&'r self, column: &'static str) -> Result<T, StoreError>
    where
        T: sqlx::Decode<'r, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
    {
        self.0
            .try_get(column)
            .map_err(|error| corrupt(column, &error))
    }

    pub(super) fn id<T: From<String>>(&self, column: &'static str) -> Result<T, StoreError> {
        self.get::<String>(column).map(T::from)
    }

    pub(super) fn optional_id<T: From<String>>(
        &self,
        column: &'static str,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.get::<Option<String>>(column)?.map(T::from))
    }

    pub(super) fn time(&self, column: &'static str) -> Result<Timestamp, StoreError> {
        self.get(column).map(Timestamp::from_micros)
    }

    pub(super) fn optional_time(
        &self,
        column: &'static str,
    ) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.get::<Option<i64>>(column)?.map(Timestamp::from_micros))
    }

    pub(super) fn score(&self, column: &'static str) -> Result<Score, StoreError> {
        self.get(column).map(Score::clamped)
    }

    pub(super) fn json(&self, column: &'static str) -> Result<Value, StoreError> {
        let text: String = self.get(column)?;
        serde_json::from_str(&text).map_err(|error| corrupt(column, &error))
    }

    pub(super) fn optional_json(&self, column: &'static str) -> Result<Option<Value>, StoreError> {
        let text: Option<String> = self.get(column)?;
        text.map(|text| serde_json::from_str(&text).map_err(|error| corrupt(column, &error)))
            .transpose()
    }

    pub(super) fn parse_word<T: FromStr>(&self, column: &'static str) -> Result<T, StoreError> {
        let word: String = self.get(column)?;
        word.parse()
            .map_err(|_| corrupt(column, &format!("{word:?} is not a valid value")))
    }
}

pub(super) fn corrupt(column: &str, reason: &dyn std::fmt::Display) -> StoreError {
    StoreError::Corrupt {
        what: format!("column {column}"),
        reason: reason.to_string(),
    }
}

/// Converts a database error into a [`StoreError`].
pub(super) fn query_error(error: &sqlx::Error) -> StoreError {
    if matches!(error, sqlx::Error::PoolClosed) {
        return StoreError::Closed;
    }
    let reason = error.to_string();
    if let sqlx::Error::Database(database) = error {
        if database.is_foreign_key_violation() {
            return StoreError::Conflict {
                reason: "it refers to an entity that does not exist".to_owned(),
            };
        }
        if database.is_unique_violation() {
            return StoreError::Conflict {
                reason: "it already exists".to_owned(),
            };
        }
        if database.is_check_violation() {
            return StoreError::Conflict { reason };
        }
        // The higher bits hold the exact kind.
        let code = database
            .code()
            .and_then(|code| code.parse::<u32>().ok())
            .map(|code| code & 0xff);
        match code {
            Some(SQLITE_BUSY | SQLITE_LOCKED) => return StoreError::Busy { reason },
            Some(SQLITE_FULL) => return StoreError::DiskFull { reason },
            Some(SQLITE_READONLY) => return StoreError::ReadOnly { reason },
            Some(SQLITE_CORRUPT | SQLITE_NOTADB) => return StoreError::Damaged { reason },
            _ => {}
        }
    }
    StoreError::Query { reason }
}

impl FromRow for Session {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        Ok(Self {
            id: row.id("id")?,
            mode: row.parse_word::<Mode>("mode")?,
            title: row.get("title")?,
            created_at: row.time("created_at")?,
            updated_at: row.time("updated_at")?,
            active_branch_id: row.optional_id("active_branch_id")?,
            metadata: row.optional_json("metadata")?,
        })
    }
}

impl FromRow for Thought {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        Ok(Self {
            id: row.id("id")?,
            session_id: row.id("session_id")?,
            input: row.get("input")?,
            content: row.get("content")?,
            confidence: row.score("confidence")?,
            mode: row.parse_word("mode")?,
            parent_id: row.optional_id("parent_id")?,
            branch_id: row.optional_id("branch_id")?,
            set_aside: row.get("set_aside")?,
            created_at: row.time("created_at")?,
            metadata: row.optional_json("metadata")?,
        })
    }
}

impl FromRow for Branch {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        Ok(Self {
            id: row.id("id")?,
            session_id: row.id("session_id")?,
            name: row.get("name")?,
            parent_id: row.optional_id("parent_id")?,
            state: row.parse_word("state")?,
            confidence: row.score("confidence")?,
            priority: row.get("priority")?,
            set_aside: row.get("set_aside")?,
            created_at: row.time("created_at")?,
            updated_at: row.time("updated_at")?,
            metadata: row.optional_json("metadata")?,
        })
    }
}

impl FromRow for CrossRef {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        Ok(Self {
            id: row.id("id")?,
            from_branch: row.id("from_branch")?,
            to_branch: row.id("to_branch")?,
            ref_type: row.parse_word("ref_type")?,
            reason: row.get("reason")?,
            strength: row.score("strength")?,
            created_at: row.time("created_at")?,
        })
    }
}

impl FromRow for Checkpoint {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        Ok(Self {
            id: row.id("id")?,
            session_id: row.id("session_id")?,
            branch_id: row.optional_id("branch_id")?,
            name: row.get("name")?,
            description: row.get("description")?,
            snapshot: row.json("snapshot")?,
            kind: row.parse_word("kind")?,
            created_at: row.time("created_at")?,
        })
    }
}

impl FromRow for StateSnapshot {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        Ok(Self {
            id: row.id("id")?,
            session_id: row.id("session_id")?,
            parent_id: row.optional_id("parent_id")?,
            snapshot_type: row.get("snapshot_type")?,
            description: row.get("description")?,
            data: row.json("data")?,
            created_at: row.time("created_at")?,
        })
    }
}

impl FromRow for Graph {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        Ok(Self {
            id: row.id("id")?,
            session_id: row.id("session_id")?,
            problem: row.get("problem")?,
            config: row.json("config")?,
            set_aside: row.get("set_aside")?,
            created_at: row.time("created_at")?,
            updated_at: row.time("updated_at")?,
        })
    }
}

impl FromRow for GraphNode {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        Ok(Self {
            id: row.id("id")?,
            graph_id: row.id("graph_id")?,
            session_id: row.id("session_id")?,
            content: row.get("content")?,
            node_type: row.parse_word("node_type")?,
            score: row.get::<Option<f64>>("score")?.map(Score::clamped),
            depth: row.get("depth")?,
            is_active: row.get("is_active")?,
            is_terminal: row.get("is_terminal")?,
            pruned: row.get("pruned")?,
            set_aside: row.get("set_aside")?,
            created_at: row.time("created_at")?,
            metadata: row.optional_json("metadata")?,
        })
    }
}

impl FromRow for GraphEdge {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        Ok(Self {
            id: row.id("id")?,
            graph_id: row.id("graph_id")?,
            from_node: row.id("from_node")?,
            to_node: row.id("to_node")?,
            edge_type: row.parse_word("edge_type")?,
            weight: row.score("weight")?,
            created_at: row.time("created_at")?,
            metadata: row.optional_json("metadata")?,
        })
    }
}

impl FromRow for Invocation {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        Ok(Self {
            id: row.id("id")?,
            session_id: row.optional_id("session_id")?,
            tool_name: row.get("tool_name")?,
            principal: row.get("principal")?,
            input: row.json("input")?,
            output: row.optional_json("output")?,
            pipe_name: row.get("pipe_name")?,
            latency_ms: row.get("latency_ms")?,
            success: row.get("success")?,
            error: row.get("error")?,
            error_code: row.get("error_code")?,
            spent: ModelUsage {
                model: row.get("model")?,
                model_calls: row.get("model_calls")?,
                prompt_tokens: row.get("prompt_tokens")?,
                completion_tokens: row.get("completion_tokens")?,
                cost_usd: row.get("cost_usd")?,
            },
            created_at: row.time("created_at")?,
        })
    }
}

impl FromRow for SuspendedCall {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        Ok(Self {
            id: row.id("id")?,
            tool_name: row.get("tool_name")?,
            arguments: row.json("arguments")?,
            journal: row.json("journal")?,
            asks: row.json("asks")?,
            created_at: row.time("created_at")?,
            expires_at: row.time("expires_at")?,
            owner: row.get("owner")?,
            running_until: row.optional_time("running_until")?,
            outcome: row.optional_json("outcome")?,
            failed: row.get("failed")?,
            fence: row.get("fence")?,
            notes: row.optional_json("notes")?,
            progress: StoredProgress {
                fraction: row.get("progress")?,
                message: row.get("progress_message")?,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use sqlx::{Connection as _, SqliteConnection};

    use super::*;

    #[tokio::test]
    async fn a_full_disk_is_told_as_such() {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        let mut written = Ok(());
        for sql in [
            "PRAGMA max_page_count = 4",
            "CREATE TABLE t (text TEXT)",
            "INSERT INTO t VALUES (hex(zeroblob(100000)))",
        ] {
            let ran = sqlx::query(sql).execute(&mut connection).await;
            written = ran.map(drop).map_err(|error| query_error(&error));
        }
        let error = written.unwrap_err();
        assert_eq!(error.code(), "DiskFull", "{error}");
        assert!(error.hint().unwrap().contains("Free space"));
    }
}
