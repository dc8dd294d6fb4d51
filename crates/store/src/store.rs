//! The trait that every backend implements, and the types of its reads.

use std::collections::BTreeMap;

use deliberate_core::{
    Branch, BranchId, ChainEvent, ChainRun, ChainState, Change, Checkpoint, CheckpointId, CrossRef,
    Graph, GraphEdge, GraphId, GraphNode, Invocation, NodeId, RunId, Session, SessionId,
    StateSnapshot, SuspendedCall, SuspensionId, Thought, ThoughtId, Timestamp,
};
use futures::future::BoxFuture;
use serde_json::Value;

use crate::{Documents, SearchKey, SearchQuery, SearchResults, StoreError, UsageReports};

/// The future of a read or commit. A read of an entity that does not exist returns `None`.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// The store of all data. All calls share it; any task may call any method at any time.
///
/// Guarantees: a commit that returned `Ok` survives a crash of the process and, with full
/// durability, of the machine. A commit that returned `Err` left nothing. Reads see every commit
/// that returned before they began. Lists are bounded by their [`Pagination`], and omit the data
/// that a backtrack set aside unless [`EpochFilter::All`] is given.
pub trait Store: Documents + UsageReports {
    /// Commits all changes in order, or none. Dropping the future does not undo a commit that has
    /// begun.
    fn commit(&self, changes: Vec<Change>) -> StoreFuture<'_, ()>;

    /// Returns the session of that id.
    fn session<'a>(&'a self, id: &'a SessionId) -> StoreFuture<'a, Option<Session>>;

    /// Lists sessions, the last changed first.
    fn sessions(&self, page: Pagination) -> StoreFuture<'_, Vec<SessionEntry>>;

    /// Returns the thought of that id.
    fn thought<'a>(&'a self, id: &'a ThoughtId) -> StoreFuture<'a, Option<Thought>>;

    /// Lists a session's thoughts, oldest first.
    fn thoughts<'a>(
        &'a self,
        session: &'a SessionId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<Thought>>;

    /// Lists a session's latest current thoughts, newest first. The cost does not depend on the
    /// session's length.
    fn latest_thoughts<'a>(
        &'a self,
        session: &'a SessionId,
        limit: u32,
    ) -> StoreFuture<'a, Vec<Thought>>;

    /// Lists a branch's latest current thoughts, newest first.
    fn latest_branch_thoughts<'a>(
        &'a self,
        branch: &'a BranchId,
        limit: u32,
    ) -> StoreFuture<'a, Vec<Thought>>;

    /// Returns the short ids of those of these entities that have one: `t3` is the third thought of
    /// its session, `b2` the second branch, `n5` the fifth node, `c1` the first checkpoint, `g1` the
    /// first graph.
    fn short_ids<'a>(&'a self, ids: &'a [String]) -> StoreFuture<'a, BTreeMap<String, String>>;

    /// Returns the ids that `text` may stand for, at most two: the id itself, else a short id within
    /// `session`, else the beginning of an id.
    fn resolve_reference<'a>(
        &'a self,
        kind: ReferenceKind,
        session: Option<&'a SessionId>,
        text: &'a str,
    ) -> StoreFuture<'a, Vec<String>>;

    /// Lists the thoughts on a branch, oldest first.
    fn branch_thoughts<'a>(
        &'a self,
        branch: &'a BranchId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<Thought>>;

    /// Returns a session's first current thought that has an input, which states the session's
    /// subject.
    fn first_prompt<'a>(&'a self, session: &'a SessionId) -> StoreFuture<'a, Option<Thought>>;

    /// Returns the first thought of the line that leads to this one.
    fn root_thought<'a>(&'a self, thought: &'a ThoughtId) -> StoreFuture<'a, Option<Thought>>;

    /// Lists the thought and its ancestors, newest first.
    fn ancestors<'a>(&'a self, thought: &'a ThoughtId, limit: u32)
    -> StoreFuture<'a, Vec<Thought>>;

    /// Returns the branch of that id.
    fn branch<'a>(&'a self, id: &'a BranchId) -> StoreFuture<'a, Option<Branch>>;

    /// Lists a session's branches, oldest first.
    fn branches<'a>(
        &'a self,
        session: &'a SessionId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<BranchEntry>>;

    /// Lists the references between a session's branches, oldest first.
    fn cross_refs<'a>(
        &'a self,
        session: &'a SessionId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<CrossRef>>;

    /// Returns the checkpoint of that id.
    fn checkpoint<'a>(&'a self, id: &'a CheckpointId) -> StoreFuture<'a, Option<Checkpoint>>;

    /// Returns a session's newest checkpoint of that name.
    fn checkpoint_by_name<'a>(
        &'a self,
        session: &'a SessionId,
        name: &'a str,
    ) -> StoreFuture<'a, Option<CheckpointId>>;

    /// Lists a session's checkpoints, newest first, without their snapshots.
    fn checkpoints<'a>(
        &'a self,
        session: &'a SessionId,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<Checkpoint>>;

    /// Counts what returning to a checkpoint would move; `None` if there is no such checkpoint.
    fn preview_backtrack<'a>(
        &'a self,
        checkpoint: &'a CheckpointId,
    ) -> StoreFuture<'a, Option<BacktrackPreview>>;

    /// Returns the latest graph that a session had at a checkpoint, with its nodes as they were
    /// there, oldest first; `None` if it had none.
    fn graph_at_checkpoint<'a>(
        &'a self,
        checkpoint: &'a CheckpointId,
    ) -> StoreFuture<'a, Option<(Graph, Vec<GraphNode>)>>;

    /// Lists a session's snapshots, oldest first.
    fn snapshots<'a>(
        &'a self,
        session: &'a SessionId,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<StateSnapshot>>;

    /// Returns the graph of that id.
    fn graph<'a>(&'a self, id: &'a GraphId) -> StoreFuture<'a, Option<Graph>>;

    /// Lists a session's graphs, oldest first.
    fn graphs<'a>(
        &'a self,
        session: &'a SessionId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<Graph>>;

    /// Returns the node of that id.
    fn node<'a>(&'a self, id: &'a NodeId) -> StoreFuture<'a, Option<GraphNode>>;

    /// Lists a graph's nodes, oldest first.
    fn nodes<'a>(
        &'a self,
        graph: &'a GraphId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<GraphNode>>;

    /// Lists a graph's edges, oldest first.
    fn edges<'a>(
        &'a self,
        graph: &'a GraphId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<GraphEdge>>;

    /// Lists records of the invocation log, newest first; of one session if one is given.
    fn invocations<'a>(
        &'a self,
        session: Option<&'a SessionId>,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<Invocation>>;

    /// Returns the suspended or background call of that id, even if it has ended or expired.
    fn suspended_call<'a>(&'a self, id: &'a SuspensionId)
    -> StoreFuture<'a, Option<SuspendedCall>>;

    /// Finds thoughts and nodes by their words, set aside or not: first those with all words, then
    /// those with some, each best match first.
    fn search<'a>(&'a self, search: &'a SearchQuery) -> StoreFuture<'a, SearchResults>;

    /// Lists the thoughts and nodes that pass the filters of a search, newest first, whatever their
    /// words.
    fn newest_entities<'a>(
        &'a self,
        search: &'a SearchQuery,
        limit: u32,
    ) -> StoreFuture<'a, Vec<SearchKey>>;

    /// Returns the texts of these thoughts and nodes, in any order: the first characters of the
    /// input and of the content. Those that do not exist are left out.
    fn search_texts<'a>(
        &'a self,
        keys: &'a [SearchKey],
        max_chars: u32,
    ) -> StoreFuture<'a, Vec<(SearchKey, String)>>;

    /// Returns the chain run of that id.
    fn run<'a>(&'a self, id: &'a RunId) -> StoreFuture<'a, Option<ChainRun>>;

    /// Returns the chain run of that id and all its events in order, read at one moment.
    fn run_with_events<'a>(
        &'a self,
        id: &'a RunId,
    ) -> StoreFuture<'a, Option<(ChainRun, Vec<ChainEvent>)>>;

    /// Returns the same, but the plan may be `null`: it never changes, so a caller may know it.
    fn run_without_plan<'a>(
        &'a self,
        id: &'a RunId,
    ) -> StoreFuture<'a, Option<(ChainRun, Vec<ChainEvent>)>> {
        self.run_with_events(id)
    }

    /// Lists chain runs, the last changed first, with `null` for their plans.
    fn runs<'a>(
        &'a self,
        filter: &'a ChainRunFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<ChainRun>>;

    /// Returns the run of that base with the highest number, among those of one owner or, if no
    /// owner is given, among all.
    fn newest_run<'a>(
        &'a self,
        base: &'a str,
        owner: Option<&'a str>,
    ) -> StoreFuture<'a, Option<RunId>>;

    /// Returns the highest number among the runs of that base, 0 if there is none. A number that
    /// was the highest is free again once its run is deleted.
    fn last_run_number<'a>(&'a self, base: &'a str) -> StoreFuture<'a, i64>;

    /// Returns the values of these names, or all values if no name is given. At most
    /// [`Pagination::MAX`] values are stored.
    fn settings<'a>(&'a self, names: &'a [&'a str]) -> StoreFuture<'a, BTreeMap<String, Value>>;

    /// Lists the records of a tool's calls since that time, by start time, newest first.
    fn tool_invocations<'a>(
        &'a self,
        tool: &'a str,
        since: Option<Timestamp>,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<Invocation>>;

    /// Returns the store's location, schema version and size.
    fn info(&self) -> StoreFuture<'_, StoreInfo>;

    /// Finishes running work and closes the files. Later calls fail.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// The kinds of entities that can be referred to by a short id or the beginning of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceKind {
    /// A session; it has no short id.
    Session,
    /// A thought, `t1`.
    Thought,
    /// A branch, `b1`.
    Branch,
    /// A node of a graph, `n1`.
    Node,
    /// A checkpoint, `c1`.
    Checkpoint,
    /// A graph, `g1`.
    Graph,
}

impl ReferenceKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Session,
        Self::Thought,
        Self::Branch,
        Self::Node,
        Self::Checkpoint,
        Self::Graph,
    ];

    /// Returns the letter of the kind's short ids.
    pub const fn letter(self) -> Option<char> {
        match self {
            Self::Session => None,
            Self::Thought => Some('t'),
            Self::Branch => Some('b'),
            Self::Node => Some('n'),
            Self::Checkpoint => Some('c'),
            Self::Graph => Some('g'),
        }
    }
}

/// The part of a list that a read returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pagination {
    /// The number of entries to skip.
    pub offset: u32,
    /// The largest number of entries to return.
    pub limit: u32,
}

impl Pagination {
    /// The largest limit of one read.
    pub const MAX: u32 = 1_000;

    /// Selects the first `limit` entries.
    pub const fn limit(limit: u32) -> Self {
        Self { offset: 0, limit }
    }

    /// Returns the limit, capped at [`Pagination::MAX`].
    pub fn bounded_limit(self) -> u32 {
        self.limit.min(Self::MAX)
    }
}

/// Selects current data only, or data that is set aside too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EpochFilter {
    /// Data that is not set aside.
    Current,
    /// All data, including what a backtrack set aside.
    All,
}

/// A session in a list, with its size.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEntry {
    /// The session itself.
    pub session: Session,
    /// The number of current thoughts.
    pub thoughts: u64,
    /// The number of current nodes in its graphs.
    pub nodes: u64,
}

/// A branch in a list, with its size.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchEntry {
    /// The branch itself.
    pub branch: Branch,
    /// The number of current thoughts on it.
    pub thoughts: u64,
    /// The text of its first thought; a current one, if the branch is current.
    pub first_text: Option<String>,
}

/// The number of entities that returning to a checkpoint moves. A node that is pruned counts as set
/// aside, and one that is no longer pruned as restored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BacktrackPreview {
    /// Entities that the backtrack sets aside.
    pub set_aside: EntityCounts,
    /// Entities that the backtrack restores.
    pub restored: EntityCounts,
}

/// The number of entities of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EntityCounts {
    /// The number of thoughts.
    pub thoughts: u64,
    /// The number of branches.
    pub branches: u64,
    /// The number of graph nodes.
    pub nodes: u64,
}

/// Selects the chain runs of a list; all conditions must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChainRunFilter {
    /// Only runs of this base.
    pub base: Option<String>,
    /// Only runs in this state.
    pub state: Option<ChainState>,
    /// Only runs of this owner; `Some(None)` selects runs without an owner.
    pub owner: Option<Option<String>>,
}

/// The location and size of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreInfo {
    /// The file or server, without secrets.
    pub location: String,
    /// The version of its tables.
    pub schema_version: i64,
    /// The number of sessions.
    pub sessions: u64,
    /// The number of thoughts.
    pub thoughts: u64,
    /// Why commits fail at present, if they do. Reads may still work.
    pub write_failure: Option<StoreError>,
}
