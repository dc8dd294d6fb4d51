//! Writes and reads documents.

use std::collections::BTreeSet;

use deliberate_core::{IndexKey, StoredDocument, Timestamp};
use serde_json::Value;
use sqlx::{Row, Sqlite, SqliteConnection, query_builder::QueryBuilder, sqlite::SqliteRow};

use super::{
    SqliteStore,
    apply::run,
    chain_runs::conflict,
    rows::{Columns, FromRow, query_error},
};
use crate::{
    DocumentChange, DocumentFilter, DocumentOrder, Documents, KeyMatch, Pagination, StoreError,
    StoreFuture,
};

/// Separates the keys of a document in a result row. No key contains it.
const KEY_SEPARATOR: char = '\u{1e}';

const NEXT_SEQ: &str = "(SELECT coalesce(max(seq), 0) + 1 FROM items)";

/// Writes a document, its keys and, if given, its parts.
pub(super) async fn put(
    connection: &mut SqliteConnection,
    item: &StoredDocument,
    parts: Option<&[String]>,
) -> Result<(), StoreError> {
    if write_row(connection, item).await? == 0 {
        return Err(conflict("the document was changed or deleted meanwhile"));
    }
    delete_rows(
        connection,
        "DELETE FROM item_keys WHERE kind = $1 AND item_id = $2",
        &item.kind,
        &item.id,
    )
    .await?;
    put_keys(connection, item).await?;
    let Some(parts) = parts else {
        return Ok(());
    };
    delete_rows(connection, DELETE_PARTS, &item.kind, &item.id).await?;
    for (number, text) in parts.iter().enumerate() {
        let part = sqlx::query(
            "INSERT INTO item_parts (kind, item_id, part, text) VALUES ($1, $2, $3, $4)",
        )
        .bind(&item.kind)
        .bind(&item.id)
        .bind(i64::try_from(number).unwrap_or(i64::MAX))
        .bind(text);
        run(connection, part).await?;
    }
    Ok(())
}

const DELETE_PARTS: &str = "DELETE FROM item_parts WHERE kind = $1 AND item_id = $2";

/// Writes the document's row. A deleted document may be created again.
async fn write_row(
    connection: &mut SqliteConnection,
    item: &StoredDocument,
) -> Result<u64, StoreError> {
    let mut sql = QueryBuilder::<Sqlite>::new("");
    if item.version == 0 {
        sql.push(
            "INSERT INTO items (kind, id, version, seq, created_at, updated_at, body) SELECT ",
        );
        let mut values = sql.separated(", ");
        values
            .push_bind(&item.kind)
            .push_bind(&item.id)
            .push("1")
            .push(NEXT_SEQ);
        values
            .push_bind(item.created_at.as_micros())
            .push_bind(item.updated_at.as_micros());
        values.push_bind(item.body.to_string());
        sql.push(
            " WHERE true ON CONFLICT (kind, id) DO UPDATE SET version = items.version + 1, \
                  seq = excluded.seq, gone = 0, created_at = excluded.created_at, \
                  updated_at = excluded.updated_at, body = excluded.body WHERE items.gone = 1",
        );
    } else {
        sql.push("UPDATE items SET version = version + 1, seq = ")
            .push(NEXT_SEQ);
        sql.push(", updated_at = ")
            .push_bind(item.updated_at.as_micros());
        sql.push(", body = ").push_bind(item.body.to_string());
        sql.push(" WHERE kind = ").push_bind(&item.kind);
        sql.push(" AND id = ").push_bind(&item.id);
        sql.push(" AND gone = 0 AND version = ")
            .push_bind(item.version);
    }
    run(connection, sql.build()).await
}

async fn put_keys(
    connection: &mut SqliteConnection,
    item: &StoredDocument,
) -> Result<(), StoreError> {
    for key in item.keys.iter().collect::<BTreeSet<_>>() {
        let insert = sqlx::query(
            "INSERT INTO item_keys (kind, name, value, item_id, only) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(&item.kind)
        .bind(&key.name)
        .bind(&key.value)
        .bind(&item.id)
        .bind(key.only);
        if let Err(error) = run(connection, insert).await {
            return Err(match error {
                StoreError::Conflict { .. } => conflict(&format!(
                    "another {} has the {} {:?}",
                    item.kind, key.name, key.value
                )),
                other => other,
            });
        }
    }
    Ok(())
}

/// Deletes a document and leaves a tombstone.
pub(super) async fn remove(
    connection: &mut SqliteConnection,
    kind: &str,
    id: &str,
    at: Timestamp,
) -> Result<(), StoreError> {
    let mut sql = QueryBuilder::<Sqlite>::new("UPDATE items SET gone = 1, body = 'null', seq = ");
    sql.push(NEXT_SEQ);
    sql.push(", version = version + 1, updated_at = ")
        .push_bind(at.as_micros());
    sql.push(" WHERE gone = 0 AND kind = ").push_bind(kind);
    sql.push(" AND id = ").push_bind(id);
    if run(connection, sql.build()).await? == 0 {
        return Err(conflict("the document was deleted meanwhile"));
    }
    delete_rows(
        connection,
        "DELETE FROM item_keys WHERE kind = $1 AND item_id = $2",
        kind,
        id,
    )
    .await?;
    delete_rows(connection, DELETE_PARTS, kind, id).await
}

async fn delete_rows(
    connection: &mut SqliteConnection,
    sql: &'static str,
    kind: &str,
    id: &str,
) -> Result<(), StoreError> {
    run(connection, sqlx::query(sql).bind(kind).bind(id)).await?;
    Ok(())
}

impl Documents for SqliteStore {
    fn document<'a>(
        &'a self,
        kind: &'a str,
        id: &'a str,
    ) -> StoreFuture<'a, Option<StoredDocument>> {
        Box::pin(async move {
            let mut sql = QueryBuilder::new(SELECT_DOCUMENT);
            sql.push(" WHERE i.gone = 0 AND i.kind = ").push_bind(kind);
            sql.push(" AND i.id = ").push_bind(id);
            Ok(self.fetch_rows(sql.build()).await?.into_iter().next())
        })
    }

    fn documents<'a>(
        &'a self,
        filter: &'a DocumentFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<StoredDocument>> {
        Box::pin(async move {
            let mut sql = QueryBuilder::new(SELECT_DOCUMENT);
            push_filter(&mut sql, filter);
            push_order(&mut sql, &filter.order);
            sql.push(" LIMIT ").push_bind(page.bounded_limit());
            sql.push(" OFFSET ").push_bind(page.offset);
            self.fetch_rows(sql.build()).await
        })
    }

    fn count_documents<'a>(&'a self, filter: &'a DocumentFilter) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let mut sql = QueryBuilder::new("SELECT count(*) FROM items i");
            push_filter(&mut sql, filter);
            self.count_query(sql).await
        })
    }

    fn document_values<'a>(
        &'a self,
        kind: &'a str,
        name: &'a str,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<(String, u64)>> {
        Box::pin(async move {
            let counts = sqlx::query(
                "SELECT value, count(*) AS many FROM item_keys WHERE kind = $1 AND name = $2 \
                 GROUP BY value ORDER BY many DESC, value LIMIT $3 OFFSET $4",
            )
            .bind(kind)
            .bind(name)
            .bind(page.bounded_limit())
            .bind(page.offset);
            let counts: Vec<ValueCount> = self.fetch_rows(counts).await?;
            Ok(counts.into_iter().map(|it| (it.value, it.count)).collect())
        })
    }

    fn document_parts<'a>(
        &'a self,
        kind: &'a str,
        id: &'a str,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<String>> {
        Box::pin(async move {
            let parts = sqlx::query(
                "SELECT text FROM item_parts WHERE kind = $1 AND item_id = $2 \
                 AND part >= $4 ORDER BY part LIMIT $3",
            )
            .bind(kind)
            .bind(id)
            .bind(page.bounded_limit())
            .bind(page.offset);
            let parts: Vec<DocumentPart> = self.fetch_rows(parts).await?;
            Ok(parts.into_iter().map(|it| it.0).collect())
        })
    }

    fn changed_documents<'a>(
        &'a self,
        kind: &'a str,
        after_seq: i64,
        limit: u32,
    ) -> StoreFuture<'a, Vec<DocumentChange>> {
        let changes = sqlx::query(
            "SELECT id, seq, gone FROM items WHERE kind = $1 AND seq > $2 ORDER BY seq LIMIT $3",
        )
        .bind(kind)
        .bind(after_seq)
        .bind(Pagination::limit(limit).bounded_limit());
        Box::pin(self.fetch_rows(changes))
    }
}

impl SqliteStore {
    async fn count_query(&self, mut sql: QueryBuilder<Sqlite>) -> Result<u64, StoreError> {
        let row = sql.build().fetch_one(self.readers().await?).await;
        let row = row.map_err(|error| self.read_error(&error))?;
        let many: i64 = row.try_get(0).map_err(|error| query_error(&error))?;
        Ok(u64::try_from(many).unwrap_or(0))
    }
}

/// Reads a document with its keys in one text, because each row that leaves the database's thread
/// costs more than its contents.
const SELECT_DOCUMENT: &str = "SELECT i.kind, i.id, i.version, i.seq, i.created_at, i.updated_at, i.body, \
     (SELECT group_concat(json_array(k.name, k.value, k.only), char(30)) FROM item_keys k \
      WHERE k.kind = i.kind AND k.item_id = i.id) AS keys FROM items i";

fn push_filter(sql: &mut QueryBuilder<Sqlite>, filter: &DocumentFilter) {
    sql.push(" WHERE i.gone = 0 AND i.kind = ")
        .push_bind(filter.kind.clone());
    for wanted in &filter.keys {
        // Conditions start from the keys, which have an index. A substring match can't use it.
        sql.push(
            " AND i.id IN (SELECT k.item_id FROM item_keys k WHERE k.kind = i.kind AND k.name ",
        );
        match wanted {
            KeyMatch::OneOf { name, values } => {
                sql.push("= ").push_bind(name.clone());
                sql.push(" AND k.value IN (SELECT value FROM json_each(");
                sql.push_bind(Value::from(values.clone()).to_string());
                sql.push("))");
            }
            KeyMatch::Between { name, from, to } => {
                sql.push("= ").push_bind(name.clone());
                if let Some(from) = from {
                    sql.push(" AND k.value >= ").push_bind(from.clone());
                }
                if let Some(to) = to {
                    sql.push(" AND k.value <= ").push_bind(to.clone());
                }
            }
            KeyMatch::Contains { name, text } => {
                sql.push("= ").push_bind(name.clone());
                push_contains(sql, text);
            }
            KeyMatch::AnyContains { names, text } => {
                sql.push("IN (SELECT value FROM json_each(");
                sql.push_bind(Value::from(names.clone()).to_string());
                sql.push("))");
                push_contains(sql, text);
            }
        }
        sql.push(")");
    }
}

fn push_contains(sql: &mut QueryBuilder<Sqlite>, text: &str) {
    sql.push(" AND instr(k.value, ")
        .push_bind(text.to_owned())
        .push(") > 0");
}

fn push_order(sql: &mut QueryBuilder<Sqlite>, order: &DocumentOrder) {
    match order {
        DocumentOrder::Newest => {
            sql.push(" ORDER BY i.created_at DESC, i.id DESC");
        }
        DocumentOrder::Oldest => {
            sql.push(" ORDER BY i.created_at, i.id");
        }
        DocumentOrder::Key { name, descending } => {
            sql.push(" ORDER BY (SELECT min(k.value) FROM item_keys k WHERE k.kind = i.kind AND k.item_id = i.id AND k.name = ");
            sql.push_bind(name.clone());
            sql.push(if *descending {
                ") DESC NULLS LAST, i.id"
            } else {
                ") ASC NULLS LAST, i.id"
            });
        }
    }
}

impl FromRow for StoredDocument {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        Ok(Self {
            kind: row.get("kind")?,
            id: row.get("id")?,
            version: row.get("version")?,
            seq: row.get("seq")?,
            body: row.json("body")?,
            keys: read_keys(row.get::<Option<String>>("keys")?.as_deref().unwrap_or("")),
            created_at: row.time("created_at")?,
            updated_at: row.time("updated_at")?,
        })
    }
}

/// Parses the keys of a row. Only this module writes them; one that can't be parsed is dropped.
fn read_keys(text: &str) -> Vec<IndexKey> {
    let mut keys: Vec<IndexKey> = text
        .split(KEY_SEPARATOR)
        .filter_map(|key| serde_json::from_str::<(String, String, u8)>(key).ok())
        .map(|(name, value, only)| IndexKey {
            name,
            value,
            only: only == 1,
        })
        .collect();
    keys.sort();
    keys
}

struct ValueCount {
    value: String,
    count: u64,
}

impl FromRow for ValueCount {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        let many: i64 = row.get("many")?;
        Ok(Self {
            value: row.get("value")?,
            count: u64::try_from(many).unwrap_or(0),
        })
    }
}

struct DocumentPart(String);

impl FromRow for DocumentPart {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Columns(row).get("text").map(Self)
    }
}

impl FromRow for DocumentChange {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        Ok(Self {
            id: row.get("id")?,
            seq: row.get("seq")?,
            deleted: row.get("gone")?,
        })
    }
}
