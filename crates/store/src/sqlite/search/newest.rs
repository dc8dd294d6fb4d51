//! The newest thoughts and nodes that a search may find, and their texts, for a search by meaning.

use serde_json::json;
use sqlx::sqlite::SqliteRow;

use super::{SqliteStore, bind_filters};
use crate::{
    SearchKey, SearchQuery, StoreError,
    sqlite::rows::{Columns, FromRow},
};

/// Parameters as in a search; `$1` is not used.
macro_rules! newest_sql {
    ($table:literal, $mode:literal) => {
        concat!(
            "SELECT id, created_at FROM ",
            $table,
            " WHERE $1 IS NULL \
             AND ($2 IS NULL OR session_id = $2) AND ($3 IS NULL OR ",
            $mode,
            " = $3) \
             AND ($4 IS NULL OR created_at >= $4) AND ($5 IS NULL OR created_at <= $5) \
             ORDER BY seq DESC LIMIT $6"
        )
    };
}

const NEWEST_THOUGHTS: &str = newest_sql!("thoughts", "mode");
const NEWEST_NODES: &str = newest_sql!("graph_nodes", "'got'");

const THOUGHT_TEXTS: &str = "SELECT id, substr(coalesce(input || char(10), ''), 1, $2) || \
    substr(content, 1, $2) AS text FROM thoughts \
    WHERE id IN (SELECT value FROM json_each($1))";
const NODE_TEXTS: &str = "SELECT id, substr(content, 1, $2) AS text FROM graph_nodes \
    WHERE id IN (SELECT value FROM json_each($1))";

/// The most entities in a list.
const MAX_ENTITIES: u32 = 10_000;

pub(in crate::sqlite) async fn newest_entities(
    store: &SqliteStore,
    search: &SearchQuery,
    limit: u32,
) -> Result<Vec<SearchKey>, StoreError> {
    let limit = limit.min(MAX_ENTITIES);
    let rows = async |sql| {
        let statement = bind_filters(sql, None, search).bind(limit);
        store.fetch_rows::<NewestRow>(statement).await
    };
    let mut all: Vec<(i64, SearchKey)> = Vec::new();
    let thoughts = rows(NEWEST_THOUGHTS).await?.into_iter();
    all.extend(thoughts.map(|row| (row.created_at, SearchKey::Thought(row.id.into()))));
    let nodes = rows(NEWEST_NODES).await?.into_iter();
    all.extend(nodes.map(|row| (row.created_at, SearchKey::Node(row.id.into()))));
    all.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    all.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(all.into_iter().map(|(_, key)| key).collect())
}

pub(in crate::sqlite) async fn search_texts(
    store: &SqliteStore,
    keys: &[SearchKey],
    max_chars: u32,
) -> Result<Vec<(SearchKey, String)>, StoreError> {
    let rows = async |sql, ids: Vec<&str>| {
        let statement = sqlx::query(sql)
            .bind(json!(ids).to_string())
            .bind(max_chars);
        store.fetch_rows::<TextRow>(statement).await
    };
    let ids = |nodes: bool| {
        let wanted = keys.iter().filter_map(move |key| match key {
            SearchKey::Thought(id) => (!nodes).then_some(id.as_str()),
            SearchKey::Node(id) => nodes.then_some(id.as_str()),
        });
        wanted.collect::<Vec<_>>()
    };
    let mut texts = Vec::with_capacity(keys.len());
    let thoughts = rows(THOUGHT_TEXTS, ids(false)).await?.into_iter();
    texts.extend(thoughts.map(|row| (SearchKey::Thought(row.id.into()), row.text)));
    let nodes = rows(NODE_TEXTS, ids(true)).await?.into_iter();
    texts.extend(nodes.map(|row| (SearchKey::Node(row.id.into()), row.text)));
    Ok(texts)
}

struct NewestRow {
    id: String,
    created_at: i64,
}

impl FromRow for NewestRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        Ok(Self {
            id: row.get("id")?,
            created_at: row.get("created_at")?,
        })
    }
}

struct TextRow {
    id: String,
    text: String,
}

impl FromRow for TextRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        Ok(Self {
            id: row.get("id")?,
            text: row.get("text")?,
        })
    }
}
