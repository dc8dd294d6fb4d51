//! Short ids: the number of an entity within its session, in the order of insertion.

use std::collections::BTreeMap;

use deliberate_core::SessionId;
use sqlx::Row;

use crate::sqlite::{SqliteStore, rows::query_error};
use crate::{ReferenceKind, StoreError};

/// The shortest beginning of an id that is looked for.
const MIN_PREFIX: usize = 4;

/// The statements of a kind of entity.
struct ReferenceSql {
    exact: &'static str,
    /// The row of a number within a session.
    numbered: Option<&'static str>,
    /// The rows whose id begins with a text, in a session if one is given.
    prefix: &'static str,
}

macro_rules! reference_sql {
    ($table:literal) => {
        ReferenceSql {
            exact: concat!("SELECT id FROM ", $table, " WHERE id = $1"),
            numbered: Some(concat!(
                "SELECT id FROM ",
                $table,
                " WHERE session_id = $1 ORDER BY seq LIMIT 1 OFFSET $2"
            )),
            prefix: concat!(
                "SELECT id FROM ",
                $table,
                " WHERE id > $1 AND id < $1 || char(1114111) \
                 AND ($2 IS NULL OR session_id = $2) LIMIT 2"
            ),
        }
    };
}

const fn statements(kind: ReferenceKind) -> ReferenceSql {
    match kind {
        ReferenceKind::Session => ReferenceSql {
            exact: "SELECT id FROM sessions WHERE id = $1",
            numbered: None,
            prefix: "SELECT id FROM sessions WHERE id > $1 AND id < $1 || char(1114111) \
                     AND ($2 IS NULL OR id = $2) LIMIT 2",
        },
        ReferenceKind::Thought => reference_sql!("thoughts"),
        ReferenceKind::Branch => reference_sql!("branches"),
        ReferenceKind::Node => reference_sql!("graph_nodes"),
        ReferenceKind::Checkpoint => reference_sql!("checkpoints"),
        ReferenceKind::Graph => reference_sql!("graphs"),
    }
}

impl SqliteStore {
    pub(in crate::sqlite) async fn fetch_short_ids(
        &self,
        ids: &[String],
    ) -> Result<BTreeMap<String, String>, StoreError> {
        let wanted = serde_json::Value::from(ids).to_string();
        let rows = sqlx::query(
            "WITH wanted AS (SELECT value AS id FROM json_each($1)) \
             SELECT e.id, 't' || (SELECT count(*) FROM thoughts x WHERE x.session_id = e.session_id \
               AND x.seq <= e.seq) AS short FROM wanted JOIN thoughts e USING (id) \
             UNION ALL SELECT e.id, 'b' || (SELECT count(*) FROM branches x \
               WHERE x.session_id = e.session_id AND x.seq <= e.seq) \
               FROM wanted JOIN branches e USING (id) \
             UNION ALL SELECT e.id, 'n' || (SELECT count(*) FROM graph_nodes x \
               WHERE x.session_id = e.session_id AND x.seq <= e.seq) \
               FROM wanted JOIN graph_nodes e USING (id) \
             UNION ALL SELECT e.id, 'c' || (SELECT count(*) FROM checkpoints x \
               WHERE x.session_id = e.session_id AND x.seq <= e.seq) \
               FROM wanted JOIN checkpoints e USING (id) \
             UNION ALL SELECT e.id, 'g' || (SELECT count(*) FROM graphs x \
               WHERE x.session_id = e.session_id AND x.seq <= e.seq) \
               FROM wanted JOIN graphs e USING (id)",
        )
        .bind(wanted)
        .fetch_all(self.readers().await?)
        .await
        .map_err(|error| self.read_error(&error))?;
        rows.iter()
            .map(|row| {
                let column = |name| row.try_get(name).map_err(|error| query_error(&error));
                Ok((column("id")?, column("short")?))
            })
            .collect()
    }

    pub(in crate::sqlite) async fn find_references(
        &self,
        kind: ReferenceKind,
        session: Option<&SessionId>,
        text: &str,
    ) -> Result<Vec<String>, StoreError> {
        let sql = statements(kind);
        let exact = self
            .fetch_ids(sqlx::query_scalar(sql.exact).bind(text))
            .await?;
        if !exact.is_empty() {
            return Ok(exact);
        }
        let number = kind
            .letter()
            .and_then(|letter| text.strip_prefix(letter)?.parse::<u32>().ok())
            .and_then(|number| number.checked_sub(1));
        if let (Some(number), Some(sql), Some(session)) = (number, sql.numbered, session) {
            let query = sqlx::query_scalar(sql).bind(session.as_str()).bind(number);
            return self.fetch_ids(query).await;
        }
        if text.chars().count() < MIN_PREFIX {
            return Ok(Vec::new());
        }
        let query = sqlx::query_scalar(sql.prefix)
            .bind(text)
            .bind(session.map(SessionId::as_str));
        self.fetch_ids(query).await
    }

    async fn fetch_ids(
        &self,
        query: sqlx::query::QueryScalar<'_, sqlx::Sqlite, String, sqlx::sqlite::SqliteArguments>,
    ) -> Result<Vec<String>, StoreError> {
        query
            .fetch_all(self.readers().await?)
            .await
            .map_err(|error| self.read_error(&error))
    }
}
