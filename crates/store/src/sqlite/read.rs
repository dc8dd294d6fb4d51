//! Reading: each method of the trait as one bounded query.

use std::collections::BTreeMap;

use deliberate_core::{
    Branch, BranchId, Change, Checkpoint, CheckpointId, CrossRef, Graph, GraphEdge, GraphId,
    GraphNode, Invocation, NodeId, Run, RunEvent, RunId, Session, SessionId, StateSnapshot,
    Suspension, SuspensionId, Thought, ThoughtId, Timestamp,
};
use futures::future::BoxFuture;
use serde_json::Value;
use sqlx::Row;

use super::{SqliteStore, epochs::WAY_BACK, rows::query_error, runs, search, usage};
use crate::{
    BranchEntry, Found, Page, RunFilter, Search, SessionEntry, State, Store, StoreFuture, Usage,
    WayBack, Which,
};

/// The statement for a list of which some things may be set aside.
macro_rules! of {
    ($which:expr, $from:literal, $set_aside:literal, $rest:literal) => {
        match $which {
            Which::Current => concat!($from, " AND ", $set_aside, " = 0", $rest),
            Which::All => concat!($from, $rest),
        }
    };
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
                "SELECT s.*, (SELECT count(*) FROM thoughts t WHERE t.session_id = s.id \
                 AND t.set_aside = 0) AS thought_count, (SELECT count(*) FROM graph_nodes n \
                 WHERE n.session_id = s.id AND n.set_aside = 0) AS node_count \
                 FROM sessions s ORDER BY s.updated_at DESC, s.id DESC LIMIT $1 OFFSET $2",
            )
            .bind(page.bounded_limit())
            .bind(page.offset);
            self.rows(statement).await
        })
    }

    fn thought<'a>(&'a self, id: &'a ThoughtId) -> StoreFuture<'a, Option<Thought>> {
        self.one("SELECT * FROM thoughts WHERE id = $1", id.as_str())
    }

    fn thoughts<'a>(
        &'a self,
        session: &'a SessionId,
        which: Which,
        page: Page,
    ) -> StoreFuture<'a, Vec<Thought>> {
        let sql = of!(
            which,
            "SELECT * FROM thoughts WHERE session_id = $1",
            "set_aside",
            " ORDER BY seq LIMIT $2 OFFSET $3"
        );
        self.page(sql, session.as_str(), page)
    }

    fn latest_thoughts<'a>(
        &'a self,
        session: &'a SessionId,
        limit: u32,
    ) -> StoreFuture<'a, Vec<Thought>> {
        self.page(
            "SELECT * FROM thoughts WHERE session_id = $1 AND set_aside = 0 \
             ORDER BY seq DESC LIMIT $2 OFFSET $3",
            session.as_str(),
            Page::first(limit),
        )
    }

    fn latest_on_branch<'a>(
        &'a self,
        branch: &'a BranchId,
        limit: u32,
    ) -> StoreFuture<'a, Vec<Thought>> {
        self.page(
            "SELECT * FROM thoughts WHERE branch_id = $1 AND set_aside = 0 \
             ORDER BY seq DESC LIMIT $2 OFFSET $3",
            branch.as_str(),
            Page::first(limit),
        )
    }

    fn on_branch<'a>(
        &'a self,
        branch: &'a BranchId,
        which: Which,
        page: Page,
    ) -> StoreFuture<'a, Vec<Thought>> {
        let sql = of!(
            which,
            "SELECT * FROM thoughts WHERE branch_id = $1",
            "set_aside",
            " ORDER BY seq LIMIT $2 OFFSET $3"
        );
        self.page(sql, branch.as_str(), page)
    }

    fn opening<'a>(&'a self, session: &'a SessionId) -> StoreFuture<'a, Option<Thought>> {
        self.one(
            "SELECT * FROM thoughts WHERE session_id = $1 AND set_aside = 0 \
             AND input IS NOT NULL ORDER BY seq LIMIT 1",
            session.as_str(),
        )
    }

    fn line_start<'a>(&'a self, thought: &'a ThoughtId) -> StoreFuture<'a, Option<Thought>> {
        self.one(
            "SELECT first.* FROM thoughts t JOIN thoughts first ON first.id = t.root_id \
             WHERE t.id = $1",
            thought.as_str(),
        )
    }

    fn line<'a>(&'a self, thought: &'a ThoughtId, limit: u32) -> StoreFuture<'a, Vec<Thought>> {
        self.page(
            "WITH RECURSIVE line (id, parent_id, step) AS ( \
             SELECT id, parent_id, 1 FROM thoughts WHERE id = $1 UNION ALL \
             SELECT t.id, t.parent_id, line.step + 1 FROM thoughts t \
             JOIN line ON t.id = line.parent_id WHERE line.step < $2) \
             SELECT t.* FROM line JOIN thoughts t ON t.id = line.id \
             ORDER BY line.step LIMIT $2 OFFSET $3",
            thought.as_str(),
            Page::first(limit),
        )
    }

    fn branch<'a>(&'a self, id: &'a BranchId) -> StoreFuture<'a, Option<Branch>> {
        self.one("SELECT * FROM branches WHERE id = $1", id.as_str())
    }

    fn branches<'a>(
        &'a self,
        session: &'a SessionId,
        which: Which,
        page: Page,
    ) -> StoreFuture<'a, Vec<BranchEntry>> {
        let sql = of!(
            which,
            "SELECT b.*, (SELECT count(*) FROM thoughts t WHERE t.branch_id = b.id \
             AND t.set_aside = 0) AS thought_count, (SELECT t.content FROM thoughts t \
             WHERE t.branch_id = b.id AND t.set_aside <= b.set_aside \
             ORDER BY t.seq LIMIT 1) AS opening FROM branches b WHERE b.session_id = $1",
            "b.set_aside",
            " ORDER BY b.seq LIMIT $2 OFFSET $3"
        );
        self.page(sql, session.as_str(), page)
    }

    fn cross_refs<'a>(
        &'a self,
        session: &'a SessionId,
        which: Which,
        page: Page,
    ) -> StoreFuture<'a, Vec<CrossRef>> {
        let sql = of!(
            which,
            "SELECT r.* FROM cross_refs r JOIN branches b ON b.id = r.from_branch \
             WHERE b.session_id = $1",
            "r.set_aside",
            " ORDER BY r.seq LIMIT $2 OFFSET $3"
        );
        self.page(sql, session.as_str(), page)
    }

    fn checkpoint<'a>(&'a self, id: &'a CheckpointId) -> StoreFuture<'a, Option<Checkpoint>> {
        self.one("SELECT * FROM checkpoints WHERE id = $1", id.as_str())
    }

    fn checkpoint_named<'a>(
        &'a self,
        session: &'a SessionId,
        name: &'a str,
    ) -> StoreFuture<'a, Option<CheckpointId>> {
        Box::pin(async move {
            let sql = "SELECT id FROM checkpoints WHERE session_id = $1 AND name = $2 \
                       ORDER BY seq DESC LIMIT 1";
            let id: Option<String> = sqlx::query_scalar(sql)
                .bind(session.as_str())
                .bind(name)
                .fetch_optional(self.readers().await?)
                .await
                .map_err(|error| query_error(&error))?;
            Ok(id.map(CheckpointId::from))
        })
    }

    fn checkpoints<'a>(
        &'a self,
        session: &'a SessionId,
        page: Page,
    ) -> StoreFuture<'a, Vec<Checkpoint>> {
        self.page(
            "SELECT id, session_id, branch_id, name, description, 'null' AS snapshot, kind, \
             created_at FROM checkpoints WHERE session_id = $1 ORDER BY seq DESC LIMIT $2 OFFSET $3",
            session.as_str(),
            page,
        )
    }

    fn way_back<'a>(&'a self, checkpoint: &'a CheckpointId) -> StoreFuture<'a, Option<WayBack>> {
        Box::pin(async move {
            let place = sqlx::query("SELECT session_id, epoch FROM checkpoints WHERE id = $1")
                .bind(checkpoint.as_str())
                .fetch_optional(self.readers().await?)
                .await
                .map_err(|error| query_error(&error))?;
            let Some(place) = place else { return Ok(None) };
            let damaged = |error| query_error(&error);
            let session: String = place.try_get("session_id").map_err(damaged)?;
            let epoch: i64 = place.try_get("epoch").map_err(damaged)?;
            let statement = sqlx::query(WAY_BACK).bind(session).bind(epoch);
            Ok(self.rows(statement).await?.pop())
        })
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

    fn graphs<'a>(
        &'a self,
        session: &'a SessionId,
        which: Which,
        page: Page,
    ) -> StoreFuture<'a, Vec<Graph>> {
        let sql = of!(
            which,
            "SELECT * FROM graphs WHERE session_id = $1",
            "set_aside",
            " ORDER BY seq LIMIT $2 OFFSET $3"
        );
        self.page(sql, session.as_str(), page)
    }

    fn node<'a>(&'a self, id: &'a NodeId) -> StoreFuture<'a, Option<GraphNode>> {
        self.one("SELECT * FROM graph_nodes WHERE id = $1", id.as_str())
    }

    fn nodes<'a>(
        &'a self,
        graph: &'a GraphId,
        which: Which,
        page: Page,
    ) -> StoreFuture<'a, Vec<GraphNode>> {
        let sql = of!(
            which,
            "SELECT * FROM graph_nodes WHERE graph_id = $1",
            "set_aside",
            " ORDER BY seq LIMIT $2 OFFSET $3"
        );
        self.page(sql, graph.as_str(), page)
    }

    fn edges<'a>(
        &'a self,
        graph: &'a GraphId,
        which: Which,
        page: Page,
    ) -> StoreFuture<'a, Vec<GraphEdge>> {
        let sql = of!(
            which,
            "SELECT * FROM graph_edges WHERE graph_id = $1",
            "set_aside",
            " ORDER BY seq LIMIT $2 OFFSET $3"
        );
        self.page(sql, graph.as_str(), page)
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
        Box::pin(search::search(self, search))
    }

    fn run<'a>(&'a self, id: &'a RunId) -> StoreFuture<'a, Option<Run>> {
        self.one("SELECT * FROM chain_runs WHERE id = $1", id.as_str())
    }

    fn run_with_events<'a>(
        &'a self,
        id: &'a RunId,
    ) -> StoreFuture<'a, Option<(Run, Vec<RunEvent>)>> {
        Box::pin(runs::whole(self, id, true))
    }

    fn run_without_plan<'a>(
        &'a self,
        id: &'a RunId,
    ) -> StoreFuture<'a, Option<(Run, Vec<RunEvent>)>> {
        Box::pin(runs::whole(self, id, false))
    }

    fn runs<'a>(&'a self, filter: &'a RunFilter, page: Page) -> StoreFuture<'a, Vec<Run>> {
        Box::pin(self.rows(runs::list(filter, page)))
    }

    fn newest_run<'a>(
        &'a self,
        base: &'a str,
        owner: Option<&'a str>,
    ) -> StoreFuture<'a, Option<RunId>> {
        Box::pin(runs::newest(self, base, owner))
    }

    fn last_run_number<'a>(&'a self, base: &'a str) -> StoreFuture<'a, i64> {
        Box::pin(runs::last_number(self, base))
    }

    fn engine_state<'a>(
        &'a self,
        names: &'a [&'a str],
    ) -> StoreFuture<'a, BTreeMap<String, Value>> {
        Box::pin(runs::engine_state(self, names))
    }

    fn usage(&self, since: Option<Timestamp>) -> StoreFuture<'_, Vec<Usage>> {
        Box::pin(self.rows(usage::figures(since)))
    }

    fn invocations_of<'a>(
        &'a self,
        tool: &'a str,
        since: Option<Timestamp>,
        page: Page,
    ) -> StoreFuture<'a, Vec<Invocation>> {
        Box::pin(self.rows(usage::records(tool, since, page)))
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
