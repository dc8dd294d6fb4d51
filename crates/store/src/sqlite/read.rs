//! Implements the reads of [`Store`], each as one bounded query.

use std::collections::BTreeMap;

use deliberate_core::{
    Branch, BranchId, ChainEvent, ChainRun, Change, Checkpoint, CheckpointId, CrossRef, Graph,
    GraphEdge, GraphId, GraphNode, Invocation, NodeId, RunId, Session, SessionId, StateSnapshot,
    SuspendedCall, SuspensionId, Thought, ThoughtId, Timestamp,
};
use futures::future::BoxFuture;
use serde_json::Value;

use super::{
    SqliteStore, chain_runs,
    epochs::{BACKTRACK_PREVIEW, GRAPH_AT_EPOCH, NODES_AT_EPOCH},
    search, tool_stats,
};
use crate::{
    BacktrackPreview, BranchEntry, ChainRunFilter, EpochFilter, Pagination, ReferenceKind,
    SearchKey, SearchQuery, SearchResults, SessionEntry, Store, StoreFuture, StoreInfo,
};

/// The statement for a list that may include rows that are set aside.
macro_rules! list_sql {
    ($which:expr, $from:literal, $set_aside:literal, $rest:literal) => {
        match $which {
            EpochFilter::Current => concat!($from, " AND ", $set_aside, " = 0", $rest),
            EpochFilter::All => concat!($from, $rest),
        }
    };
}

impl Store for SqliteStore {
    fn commit(&self, changes: Vec<Change>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let outcome = match self.writer().await {
                Ok(writer) => return writer.commit(changes).await,
                Err(error) => error,
            };
            self.condition.record_write(Some(&outcome));
            Err(outcome)
        })
    }

    fn session<'a>(&'a self, id: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
        self.fetch_one("SELECT * FROM sessions WHERE id = $1", id.as_str())
    }

    fn sessions(&self, page: Pagination) -> StoreFuture<'_, Vec<SessionEntry>> {
        Box::pin(async move {
            let statement = sqlx::query(
                "SELECT s.*, (SELECT count(*) FROM thoughts t WHERE t.session_id = s.id \
                 AND t.set_aside = 0) AS thought_count, (SELECT count(*) FROM graph_nodes n \
                 WHERE n.session_id = s.id AND n.set_aside = 0) AS node_count \
                 FROM sessions s ORDER BY s.updated_at DESC, s.id DESC LIMIT $1 OFFSET $2",
            )
            .bind(page.bounded_limit())
            .bind(page.offset);
            self.fetch_rows(statement).await
        })
    }

    fn thought<'a>(&'a self, id: &'a ThoughtId) -> StoreFuture<'a, Option<Thought>> {
        self.fetch_one("SELECT * FROM thoughts WHERE id = $1", id.as_str())
    }

    fn thoughts<'a>(
        &'a self,
        session: &'a SessionId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<Thought>> {
        let sql = list_sql!(
            which,
            "SELECT * FROM thoughts WHERE session_id = $1",
            "set_aside",
            " ORDER BY seq LIMIT $2 OFFSET $3"
        );
        self.fetch_page(sql, session.as_str(), page)
    }

    fn short_ids<'a>(&'a self, ids: &'a [String]) -> StoreFuture<'a, BTreeMap<String, String>> {
        Box::pin(self.fetch_short_ids(ids))
    }

    fn resolve_reference<'a>(
        &'a self,
        kind: ReferenceKind,
        session: Option<&'a SessionId>,
        text: &'a str,
    ) -> StoreFuture<'a, Vec<String>> {
        Box::pin(self.find_references(kind, session, text))
    }

    fn latest_thoughts<'a>(
        &'a self,
        session: &'a SessionId,
        limit: u32,
    ) -> StoreFuture<'a, Vec<Thought>> {
        self.fetch_page(
            "SELECT * FROM thoughts WHERE session_id = $1 AND set_aside = 0 \
             ORDER BY seq DESC LIMIT $2 OFFSET $3",
            session.as_str(),
            Pagination::limit(limit),
        )
    }

    fn latest_branch_thoughts<'a>(
        &'a self,
        branch: &'a BranchId,
        limit: u32,
    ) -> StoreFuture<'a, Vec<Thought>> {
        self.fetch_page(
            "SELECT * FROM thoughts WHERE branch_id = $1 AND set_aside = 0 \
             ORDER BY seq DESC LIMIT $2 OFFSET $3",
            branch.as_str(),
            Pagination::limit(limit),
        )
    }

    fn branch_thoughts<'a>(
        &'a self,
        branch: &'a BranchId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<Thought>> {
        let sql = list_sql!(
            which,
            "SELECT * FROM thoughts WHERE branch_id = $1",
            "set_aside",
            " ORDER BY seq LIMIT $2 OFFSET $3"
        );
        self.fetch_page(sql, branch.as_str(), page)
    }

    fn first_prompt<'a>(&'a self, session: &'a SessionId) -> StoreFuture<'a, Option<Thought>> {
        self.fetch_one(
            "SELECT * FROM thoughts WHERE session_id = $1 AND set_aside = 0 \
             AND input IS NOT NULL ORDER BY seq LIMIT 1",
            session.as_str(),
        )
    }

    fn root_thought<'a>(&'a self, thought: &'a ThoughtId) -> StoreFuture<'a, Option<Thought>> {
        self.fetch_one(
            "SELECT first.* FROM thoughts t JOIN thoughts first ON first.id = t.root_id \
             WHERE t.id = $1",
            thought.as_str(),
        )
    }

    fn ancestors<'a>(
        &'a self,
        thought: &'a ThoughtId,
        limit: u32,
    ) -> StoreFuture<'a, Vec<Thought>> {
        self.fetch_page(
            "WITH RECURSIVE line (id, parent_id, step) AS ( \
             SELECT id, parent_id, 1 FROM thoughts WHERE id = $1 UNION ALL \
             SELECT t.id, t.parent_id, line.step + 1 FROM thoughts t \
             JOIN line ON t.id = line.parent_id WHERE line.step < $2) \
             SELECT t.* FROM line JOIN thoughts t ON t.id = line.id \
             ORDER BY line.step LIMIT $2 OFFSET $3",
            thought.as_str(),
            Pagination::limit(limit),
        )
    }

    fn branch<'a>(&'a self, id: &'a BranchId) -> StoreFuture<'a, Option<Branch>> {
        self.fetch_one("SELECT * FROM branches WHERE id = $1", id.as_str())
    }

    fn branches<'a>(
        &'a self,
        session: &'a SessionId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<BranchEntry>> {
        let sql = list_sql!(
            which,
            "SELECT b.*, (SELECT count(*) FROM thoughts t WHERE t.branch_id = b.id \
             AND t.set_aside = 0) AS thought_count, (SELECT t.content FROM thoughts t \
             WHERE t.branch_id = b.id AND t.set_aside <= b.set_aside \
             ORDER BY t.seq LIMIT 1) AS opening FROM branches b WHERE b.session_id = $1",
            "b.set_aside",
            " ORDER BY b.seq LIMIT $2 OFFSET $3"
        );
        self.fetch_page(sql, session.as_str(), page)
    }

    fn cross_refs<'a>(
        &'a self,
        session: &'a SessionId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<CrossRef>> {
        let sql = list_sql!(
            which,
            "SELECT r.* FROM cross_refs r JOIN branches b ON b.id = r.from_branch \
             WHERE b.session_id = $1",
            "r.set_aside",
            " ORDER BY r.seq LIMIT $2 OFFSET $3"
        );
        self.fetch_page(sql, session.as_str(), page)
    }

    fn checkpoint<'a>(&'a self, id: &'a CheckpointId) -> StoreFuture<'a, Option<Checkpoint>> {
        self.fetch_one("SELECT * FROM checkpoints WHERE id = $1", id.as_str())
    }

    fn checkpoint_by_name<'a>(
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
                .map_err(|error| self.read_error(&error))?;
            Ok(id.map(CheckpointId::from))
        })
    }

    fn checkpoints<'a>(
        &'a self,
        session: &'a SessionId,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<Checkpoint>> {
        self.fetch_page(
            "SELECT id, session_id, branch_id, name, description, 'null' AS snapshot, kind, \
             created_at FROM checkpoints WHERE session_id = $1 ORDER BY seq DESC LIMIT $2 OFFSET $3",
            session.as_str(),
            page,
        )
    }

    fn preview_backtrack<'a>(
        &'a self,
        checkpoint: &'a CheckpointId,
    ) -> StoreFuture<'a, Option<BacktrackPreview>> {
        Box::pin(async move {
            let Some((session, epoch)) = self.checkpoint_epoch(checkpoint).await? else {
                return Ok(None);
            };
            let statement = sqlx::query(BACKTRACK_PREVIEW).bind(session).bind(epoch);
            Ok(self.fetch_rows(statement).await?.pop())
        })
    }

    fn graph_at_checkpoint<'a>(
        &'a self,
        checkpoint: &'a CheckpointId,
    ) -> StoreFuture<'a, Option<(Graph, Vec<GraphNode>)>> {
        Box::pin(async move {
            let Some((session, epoch)) = self.checkpoint_epoch(checkpoint).await? else {
                return Ok(None);
            };
            let statement = sqlx::query(GRAPH_AT_EPOCH).bind(&session).bind(epoch);
            let Some(graph) = self.fetch_rows::<Graph>(statement).await?.pop() else {
                return Ok(None);
            };
            let statement = sqlx::query(NODES_AT_EPOCH).bind(&session).bind(epoch);
            let statement = statement.bind(graph.id.as_str()).bind(Pagination::MAX);
            let nodes = self.fetch_rows(statement).await?;
            let graph = Graph {
                set_aside: false,
                ..graph
            };
            Ok(Some((graph, nodes)))
        })
    }

    fn snapshots<'a>(
        &'a self,
        session: &'a SessionId,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<StateSnapshot>> {
        self.fetch_page(
            "SELECT * FROM state_snapshots WHERE session_id = $1 ORDER BY seq LIMIT $2 OFFSET $3",
            session.as_str(),
            page,
        )
    }

    fn graph<'a>(&'a self, id: &'a GraphId) -> StoreFuture<'a, Option<Graph>> {
        self.fetch_one("SELECT * FROM graphs WHERE id = $1", id.as_str())
    }

    fn graphs<'a>(
        &'a self,
        session: &'a SessionId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<Graph>> {
        let sql = list_sql!(
            which,
            "SELECT * FROM graphs WHERE session_id = $1",
            "set_aside",
            " ORDER BY seq LIMIT $2 OFFSET $3"
        );
        self.fetch_page(sql, session.as_str(), page)
    }

    fn node<'a>(&'a self, id: &'a NodeId) -> StoreFuture<'a, Option<GraphNode>> {
        self.fetch_one("SELECT * FROM graph_nodes WHERE id = $1", id.as_str())
    }

    fn nodes<'a>(
        &'a self,
        graph: &'a GraphId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<GraphNode>> {
        let sql = list_sql!(
            which,
            "SELECT * FROM graph_nodes WHERE graph_id = $1",
            "set_aside",
            " ORDER BY seq LIMIT $2 OFFSET $3"
        );
        self.fetch_page(sql, graph.as_str(), page)
    }

    fn edges<'a>(
        &'a self,
        graph: &'a GraphId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<GraphEdge>> {
        let sql = list_sql!(
            which,
            "SELECT * FROM graph_edges WHERE graph_id = $1",
            "set_aside",
            " ORDER BY seq LIMIT $2 OFFSET $3"
        );
        self.fetch_page(sql, graph.as_str(), page)
    }

    fn invocations<'a>(
        &'a self,
        session: Option<&'a SessionId>,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<Invocation>> {
        let Some(session) = session else {
            return self.fetch_page(
                "SELECT * FROM invocations WHERE $1 = '' ORDER BY seq DESC LIMIT $2 OFFSET $3",
                "",
                page,
            );
        };
        self.fetch_page(
            "SELECT * FROM invocations WHERE session_id = $1 ORDER BY seq DESC LIMIT $2 OFFSET $3",
            session.as_str(),
            page,
        )
    }

    fn suspended_call<'a>(
        &'a self,
        id: &'a SuspensionId,
    ) -> StoreFuture<'a, Option<SuspendedCall>> {
        self.fetch_one("SELECT * FROM suspensions WHERE id = $1", id.as_str())
    }

    fn search<'a>(&'a self, search: &'a SearchQuery) -> StoreFuture<'a, SearchResults> {
        Box::pin(search::search(self, search))
    }

    fn newest_entities<'a>(
        &'a self,
        search: &'a SearchQuery,
        limit: u32,
    ) -> StoreFuture<'a, Vec<SearchKey>> {
        Box::pin(search::newest_entities(self, search, limit))
    }

    fn search_texts<'a>(
        &'a self,
        keys: &'a [SearchKey],
        max_chars: u32,
    ) -> StoreFuture<'a, Vec<(SearchKey, String)>> {
        Box::pin(search::search_texts(self, keys, max_chars))
    }

    fn run<'a>(&'a self, id: &'a RunId) -> StoreFuture<'a, Option<ChainRun>> {
        self.fetch_one("SELECT * FROM chain_runs WHERE id = $1", id.as_str())
    }

    fn run_with_events<'a>(
        &'a self,
        id: &'a RunId,
    ) -> StoreFuture<'a, Option<(ChainRun, Vec<ChainEvent>)>> {
        Box::pin(chain_runs::fetch_run(self, id, true))
    }

    fn run_without_plan<'a>(
        &'a self,
        id: &'a RunId,
    ) -> StoreFuture<'a, Option<(ChainRun, Vec<ChainEvent>)>> {
        Box::pin(chain_runs::fetch_run(self, id, false))
    }

    fn runs<'a>(
        &'a self,
        filter: &'a ChainRunFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<ChainRun>> {
        Box::pin(self.fetch_rows(chain_runs::list(filter, page)))
    }

    fn newest_run<'a>(
        &'a self,
        base: &'a str,
        owner: Option<&'a str>,
    ) -> StoreFuture<'a, Option<RunId>> {
        Box::pin(chain_runs::newest(self, base, owner))
    }

    fn last_run_number<'a>(&'a self, base: &'a str) -> StoreFuture<'a, i64> {
        Box::pin(chain_runs::last_number(self, base))
    }

    fn settings<'a>(&'a self, names: &'a [&'a str]) -> StoreFuture<'a, BTreeMap<String, Value>> {
        Box::pin(chain_runs::settings(self, names))
    }

    fn tool_invocations<'a>(
        &'a self,
        tool: &'a str,
        since: Option<Timestamp>,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<Invocation>> {
        Box::pin(self.fetch_rows(tool_stats::invocations_by_tool(tool, since, page)))
    }

    fn info(&self) -> StoreFuture<'_, StoreInfo> {
        Box::pin(async move {
            let version = self
                .fetch_count("SELECT max(version) FROM _sqlx_migrations WHERE success = 1")
                .await?;
            Ok(StoreInfo {
                location: self.location(),
                schema_version: i64::try_from(version).unwrap_or(i64::MAX),
                sessions: self.fetch_count("SELECT count(*) FROM sessions").await?,
                thoughts: self.fetch_count("SELECT count(*) FROM thoughts").await?,
                write_failure: self.write_failure().await,
            })
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.shutdown())
    }
}
