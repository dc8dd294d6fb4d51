//! Reading: each method of the trait as one bounded query.

use deliberate_core::{
    Branch, BranchId, Change, Checkpoint, CheckpointId, CrossRef, Graph, GraphEdge, GraphId,
    GraphNode, Invocation, NodeId, Session, SessionId, StateSnapshot, Suspension, SuspensionId,
    Thought, ThoughtId,
};
use futures::future::BoxFuture;
use sqlx::{Row, Sqlite, query::Query, sqlite::SqliteArguments};

use super::{
    SqliteStore,
    rows::{FromRow, query_error},
};
use crate::{Found, Page, Search, SessionEntry, State, Store, StoreError, StoreFuture};

type Statement<'q> = Query<'q, Sqlite, SqliteArguments>;

impl SqliteStore {
    fn one<'a, T: FromRow>(&'a self, sql: &'static str, id: &'a str) -> StoreFuture<'a, Option<T>> {
        Box::pin(async move {
            let row = sqlx::query(sql)
                .bind(id)
                .fetch_optional(self.readers().await?)
                .await
                .map_err(|error| query_error(&error))?;
            row.as_ref().map(T::from_row).transpose()
        })
    }

    async fn rows<T: FromRow>(&self, statement: Statement<'_>) -> Result<Vec<T>, StoreError> {
        let rows = statement
            .fetch_all(self.readers().await?)
            .await
            .map_err(|error| query_error(&error))?;
        rows.iter().map(T::from_row).collect()
    }

    /// A page of what belongs to `owner`; `sql` takes owner, limit and offset.
    fn page<'a, T: FromRow + Send + 'a>(
        &'a self,
        sql: &'static str,
        owner: &'a str,
        page: Page,
    ) -> StoreFuture<'a, Vec<T>> {
        Box::pin(self.rows_owned(sql, owner, page))
    }

    async fn rows_owned<T: FromRow>(
        &self,
        sql: &'static str,
        owner: &str,
        page: Page,
    ) -> Result<Vec<T>, StoreError> {
        let statement = sqlx::query(sql)
            .bind(owner)
            .bind(page.bounded_limit())
            .bind(page.offset);
        self.rows(statement).await
    }

    async fn count(&self, sql: &'static str) -> Result<u64, StoreError> {
        let count: i64 = sqlx::query_scalar(sql)
            .fetch_one(self.readers().await?)
            .await
            .map_err(|error| query_error(&error))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }
}

impl FromRow for SessionEntry {
    fn from_row(row: &sqlx::sqlite::SqliteRow) -> Result<Self, StoreError> {
        let thoughts: i64 = row
            .try_get("thought_count")
            .map_err(|error| query_error(&error))?;
        Ok(Self {
            session: Session::from_row(row)?,
            thoughts: u64::try_from(thoughts).unwrap_or(0),
        })
    }
}

impl FromRow for Found {
    fn from_row(row: &sqlx::sqlite::SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            thought: Thought::from_row(row)?,
            excerpt: row
                .try_get("excerpt")
                .map_err(|error| query_error(&error))?,
        })
    }
}

impl Store for SqliteStore {
    fn commit(&self, changes: Vec<Change>) -> StoreFuture<'_, ()> {
        Box::pin(async move { self.opened().await?.writer.commit(changes).await })
    }

    fn session<'a>(&'a self, id: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
        self.one("SELECT * FROM sessions WHERE id = $1", id.as_str())
    }

    fn sessions(&self, page: Page) -> StoreFuture<'_, Vec<SessionEntry>> {
        Box::pin(async move {
            let statement = sqlx::query(
                "SELECT s.*, (SELECT count(*) FROM thoughts t WHERE t.session_id = s.id) \
                 AS thought_count FROM sessions s ORDER BY s.updated_at DESC, s.id DESC \
                 LIMIT $1 OFFSET $2",
            )
            .bind(page.bounded_limit())
            .bind(page.offset);
            self.rows(statement).await
        })
    }

    fn thought<'a>(&'a self, id: &'a ThoughtId) -> StoreFuture<'a, Option<Thought>> {
        self.one("SELECT * FROM thoughts WHERE id = $1", id.as_str())
    }

    fn thoughts<'a>(&'a self, session: &'a SessionId, page: Page) -> StoreFuture<'a, Vec<Thought>> {
        self.page(
            "SELECT * FROM thoughts WHERE session_id = $1 ORDER BY seq LIMIT $2 OFFSET $3",
            session.as_str(),
            page,
        )
    }

    fn latest_thoughts<'a>(
        &'a self,
        session: &'a SessionId,
        limit: u32,
    ) -> StoreFuture<'a, Vec<Thought>> {
        self.page(
            "SELECT * FROM thoughts WHERE session_id = $1 ORDER BY seq DESC LIMIT $2 OFFSET $3",
            session.as_str(),
            Page::first(limit),
        )
    }

    fn branch<'a>(&'a self, id: &'a BranchId) -> StoreFuture<'a, Option<Branch>> {
        self.one("SELECT * FROM branches WHERE id = $1", id.as_str())
    }

    fn branches<'a>(&'a self, session: &'a SessionId, page: Page) -> StoreFuture<'a, Vec<Branch>> {
        self.page(
            "SELECT * FROM branches WHERE session_id = $1 ORDER BY seq LIMIT $2 OFFSET $3",
            session.as_str(),
            page,
        )
    }

    fn cross_refs<'a>(
        &'a self,
        session: &'a SessionId,
        page: Page,
    ) -> StoreFuture<'a, Vec<CrossRef>> {
        self.page(
            "SELECT r.* FROM cross_refs r JOIN branches b ON b.id = r.from_branch \
             WHERE b.session_id = $1 ORDER BY r.seq LIMIT $2 OFFSET $3",
            session.as_str(),
            page,
        )
    }

    fn checkpoint<'a>(&'a self, id: &'a CheckpointId) -> StoreFuture<'a, Option<Checkpoint>> {
        self.one("SELECT * FROM checkpoints WHERE id = $1", id.as_str())
    }

    fn checkpoints<'a>(
        &'a self,
        session: &'a SessionId,
        page: Page,
    ) -> StoreFuture<'a, Vec<Checkpoint>> {
        self.page(
            "SELECT * FROM checkpoints WHERE session_id = $1 ORDER BY seq LIMIT $2 OFFSET $3",
            session.as_str(),
            page,
        )
    }

    fn snapshots<'a>(
        &'a self,
        session: &'a SessionId,
        page: Page,
    ) -> StoreFuture<'a, Vec<StateSnapshot>> {
        self.page(
            "SELECT * FROM state_snapshots WHERE session_id = $1 ORDER BY seq LIMIT $2 OFFSET $3",
            session.as_str(),
            page,
        )
    }

    fn graph<'a>(&'a self, id: &'a GraphId) -> StoreFuture<'a, Option<Graph>> {
        self.one("SELECT * FROM graphs WHERE id = $1", id.as_str())
    }

    fn graphs<'a>(&'a self, session: &'a SessionId, page: Page) -> StoreFuture<'a, Vec<Graph>> {
        self.page(
            "SELECT * FROM graphs WHERE session_id = $1 ORDER BY seq LIMIT $2 OFFSET $3",
            session.as_str(),
            page,
        )
    }

    fn node<'a>(&'a self, id: &'a NodeId) -> StoreFuture<'a, Option<GraphNode>> {
        self.one("SELECT * FROM graph_nodes WHERE id = $1", id.as_str())
    }

    fn nodes<'a>(&'a self, graph: &'a GraphId, page: Page) -> StoreFuture<'a, Vec<GraphNode>> {
        self.page(
            "SELECT * FROM graph_nodes WHERE graph_id = $1 ORDER BY seq LIMIT $2 OFFSET $3",
            graph.as_str(),
            page,
        )
    }

    fn edges<'a>(&'a self, graph: &'a GraphId, page: Page) -> StoreFuture<'a, Vec<GraphEdge>> {
        self.page(
            "SELECT * FROM graph_edges WHERE graph_id = $1 ORDER BY seq LIMIT $2 OFFSET $3",
            graph.as_str(),
            page,
        )
    }

    fn invocations<'a>(
        &'a self,
        session: Option<&'a SessionId>,
        page: Page,
    ) -> StoreFuture<'a, Vec<Invocation>> {
        let Some(session) = session else {
            return self.page(
                "SELECT * FROM invocations WHERE $1 = '' ORDER BY seq DESC LIMIT $2 OFFSET $3",
                "",
                page,
            );
        };
        self.page(
            "SELECT * FROM invocations WHERE session_id = $1 ORDER BY seq DESC LIMIT $2 OFFSET $3",
            session.as_str(),
            page,
        )
    }

    fn suspension<'a>(&'a self, id: &'a SuspensionId) -> StoreFuture<'a, Option<Suspension>> {
        self.one("SELECT * FROM suspensions WHERE id = $1", id.as_str())
    }

    fn search<'a>(&'a self, search: &'a Search) -> StoreFuture<'a, Vec<Found>> {
        Box::pin(async move {
            let Some(words) = match_expression(&search.words) else {
                return Ok(Vec::new());
            };
            let statement = sqlx::query(
                "SELECT t.*, snippet(thoughts_text, -1, '[', ']', '…', 24) AS excerpt \
                 FROM thoughts_text JOIN thoughts t ON t.seq = thoughts_text.rowid \
                 WHERE thoughts_text MATCH $1 AND ($2 IS NULL OR t.session_id = $2) \
                 AND ($3 IS NULL OR t.mode = $3) \
                 ORDER BY bm25(thoughts_text), t.seq DESC LIMIT $4",
            )
            .bind(words)
            .bind(
                search
                    .session
                    .as_ref()
                    .map(deliberate_core::SessionId::as_str),
            )
            .bind(search.mode.map(deliberate_core::Mode::as_str))
            .bind(search.limit.min(Page::MOST));
            self.rows(statement).await
        })
    }

    fn state(&self) -> StoreFuture<'_, State> {
        Box::pin(async move {
            let version = self
                .count("SELECT max(version) FROM _sqlx_migrations WHERE success = 1")
                .await?;
            Ok(State {
                location: self.location(),
                schema_version: i64::try_from(version).unwrap_or(i64::MAX),
                sessions: self.count("SELECT count(*) FROM sessions").await?,
                thoughts: self.count("SELECT count(*) FROM thoughts").await?,
            })
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.let_go())
    }
}

/// The words as full-text search wants them: each one a quoted term, so that no character of
/// theirs is an operator. `None` if there is no word at all.
fn match_expression(words: &str) -> Option<String> {
    let terms: Vec<String> = words
        .split(|letter: char| !letter.is_alphanumeric() && !is_accent(letter))
        .filter(|word| !word.is_empty())
        .map(|word| format!("\"{word}\""))
        .collect();
    (!terms.is_empty()).then(|| terms.join(" "))
}

/// Whether it is an accent written apart from its letter, as in decomposed Unicode; it is part of
/// the word.
fn is_accent(letter: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&letter)
}
