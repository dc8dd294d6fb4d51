//! The contract every backend keeps.

use std::collections::BTreeMap;

use deliberate_core::{
    Branch, BranchId, ChainEvent, ChainRun, ChainState, Change, Checkpoint, CheckpointId, CrossRef,
    Graph, GraphEdge, GraphId, GraphNode, Invocation, Mode, NodeId, RunId, Session, SessionId,
    StateSnapshot, SuspendedCall, SuspensionId, Thought, ThoughtId, Timestamp,
};
use futures::future::BoxFuture;
use serde_json::Value;

use crate::{Documents, StoreError};

/// What the store promises: the thing, or why it could not be read or written. A thing that is
/// not there reads as `None`.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// What is remembered. Shared by all calls; every method may be called at any time from any
/// task.
///
/// Promises: a commit that returned `Ok` survives the death of the process and, in full
/// durability, of the machine; a commit that returned `Err` left nothing. Reads see every
/// commit that returned before they began. Lists are bounded by their [`Pagination`], and leave out what
/// a backtrack set aside unless [`EpochFilter::All`] is asked for.
pub trait Store: Documents {
    /// Makes all changes true, in their order, or none. Once begun it is not undone by dropping
    /// the future.
    fn commit(&self, changes: Vec<Change>) -> StoreFuture<'_, ()>;

    /// The session of that id.
    fn session<'a>(&'a self, id: &'a SessionId) -> StoreFuture<'a, Option<Session>>;

    /// Sessions, the last changed first.
    fn sessions(&self, page: Pagination) -> StoreFuture<'_, Vec<SessionEntry>>;

    /// The thought of that id.
    fn thought<'a>(&'a self, id: &'a ThoughtId) -> StoreFuture<'a, Option<Thought>>;

    /// A session's thoughts, oldest first.
    fn thoughts<'a>(
        &'a self,
        session: &'a SessionId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<Thought>>;

    /// A session's latest current thoughts, newest first. Costs the same however long the session
    /// is.
    fn latest_thoughts<'a>(
        &'a self,
        session: &'a SessionId,
        limit: u32,
    ) -> StoreFuture<'a, Vec<Thought>>;

    /// A branch's latest current thoughts, newest first.
    fn latest_branch_thoughts<'a>(
        &'a self,
        branch: &'a BranchId,
        limit: u32,
    ) -> StoreFuture<'a, Vec<Thought>>;

    /// The thoughts on a branch, oldest first.
    fn branch_thoughts<'a>(
        &'a self,
        branch: &'a BranchId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<Thought>>;

    /// A session's first current thought that began with something given, which says what it all
    /// is about.
    fn first_prompt<'a>(&'a self, session: &'a SessionId) -> StoreFuture<'a, Option<Thought>>;

    /// The thought that the line of this one began with.
    fn root_of<'a>(&'a self, thought: &'a ThoughtId) -> StoreFuture<'a, Option<Thought>>;

    /// The thought, what it built on, what that built on: newest first.
    fn ancestors<'a>(&'a self, thought: &'a ThoughtId, limit: u32)
    -> StoreFuture<'a, Vec<Thought>>;

    /// The branch of that id.
    fn branch<'a>(&'a self, id: &'a BranchId) -> StoreFuture<'a, Option<Branch>>;

    /// A session's branches, oldest first.
    fn branches<'a>(
        &'a self,
        session: &'a SessionId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<BranchEntry>>;

    /// The references between a session's branches, oldest first.
    fn cross_refs<'a>(
        &'a self,
        session: &'a SessionId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<CrossRef>>;

    /// The checkpoint of that id.
    fn checkpoint<'a>(&'a self, id: &'a CheckpointId) -> StoreFuture<'a, Option<Checkpoint>>;

    /// A session's checkpoint of that name; the newest of them.
    fn checkpoint_by_name<'a>(
        &'a self,
        session: &'a SessionId,
        name: &'a str,
    ) -> StoreFuture<'a, Option<CheckpointId>>;

    /// A session's checkpoints, newest first, without their snapshots.
    fn checkpoints<'a>(
        &'a self,
        session: &'a SessionId,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<Checkpoint>>;

    /// What returning to a checkpoint would move now; `None` if there is none of that id.
    fn preview_backtrack<'a>(
        &'a self,
        checkpoint: &'a CheckpointId,
    ) -> StoreFuture<'a, Option<BacktrackPreview>>;

    /// A session's kept states, oldest first.
    fn snapshots<'a>(
        &'a self,
        session: &'a SessionId,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<StateSnapshot>>;

    /// The graph of that id.
    fn graph<'a>(&'a self, id: &'a GraphId) -> StoreFuture<'a, Option<Graph>>;

    /// A session's graphs, oldest first.
    fn graphs<'a>(
        &'a self,
        session: &'a SessionId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<Graph>>;

    /// The node of that id.
    fn node<'a>(&'a self, id: &'a NodeId) -> StoreFuture<'a, Option<GraphNode>>;

    /// A graph's nodes, oldest first.
    fn nodes<'a>(
        &'a self,
        graph: &'a GraphId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<GraphNode>>;

    /// A graph's edges, oldest first.
    fn edges<'a>(
        &'a self,
        graph: &'a GraphId,
        which: EpochFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<GraphEdge>>;

    /// Records of calls, newest first; of one session if one is given.
    fn invocations<'a>(
        &'a self,
        session: Option<&'a SessionId>,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<Invocation>>;

    /// The suspended call of that id, ended or not, expired or not.
    fn suspended_call<'a>(&'a self, id: &'a SuspensionId)
    -> StoreFuture<'a, Option<SuspendedCall>>;

    /// Thoughts and nodes that hold all the words, best match first, set aside or not.
    fn search<'a>(&'a self, search: &'a SearchQuery) -> StoreFuture<'a, Vec<SearchHit>>;

    /// The run of that id.
    fn run<'a>(&'a self, id: &'a RunId) -> StoreFuture<'a, Option<ChainRun>>;

    /// The run of that id and all that happened in it, in order, as they were at one moment.
    fn run_with_events<'a>(
        &'a self,
        id: &'a RunId,
    ) -> StoreFuture<'a, Option<(ChainRun, Vec<ChainEvent>)>>;

    /// Likewise, for those who know the plan, which never changes: it may be `null`.
    fn run_without_plan<'a>(
        &'a self,
        id: &'a RunId,
    ) -> StoreFuture<'a, Option<(ChainRun, Vec<ChainEvent>)>> {
        self.run_with_events(id)
    }

    /// Runs, the last changed first, with `null` for their plans.
    fn runs<'a>(
        &'a self,
        filter: &'a ChainRunFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<ChainRun>>;

    /// The run of that base with the highest number, among those of one owner or, without one,
    /// among all.
    fn newest_run<'a>(
        &'a self,
        base: &'a str,
        owner: Option<&'a str>,
    ) -> StoreFuture<'a, Option<RunId>>;

    /// The highest number among the runs of that base, 0 if there is none. A number that was the
    /// highest is free again once its run is deleted.
    fn last_run_number<'a>(&'a self, base: &'a str) -> StoreFuture<'a, i64>;

    /// What was set under these names, or under any if there are none. No more is kept than
    /// [`Pagination::MAX`].
    fn settings<'a>(&'a self, names: &'a [&'a str]) -> StoreFuture<'a, BTreeMap<String, Value>>;

    /// How much each tool was used, by calls not older than this; the most used first.
    fn tool_usage(&self, since: Option<Timestamp>) -> StoreFuture<'_, Vec<ToolUsage>>;

    /// Records of a tool's calls that are not older than this, by when they began, newest first.
    fn tool_invocations<'a>(
        &'a self,
        tool: &'a str,
        since: Option<Timestamp>,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<Invocation>>;

    /// Where it is and how much is in it.
    fn info(&self) -> StoreFuture<'_, StoreInfo>;

    /// Finishes what was begun and lets go of the files. Later calls fail.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// A part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pagination {
    /// How many to leave out at the start.
    pub offset: u32,
    /// How many to give at the most.
    pub limit: u32,
}

impl Pagination {
    /// The most that one read gives.
    pub const MAX: u32 = 1_000;

    /// The first `limit`.
    pub const fn limit(limit: u32) -> Self {
        Self { offset: 0, limit }
    }

    /// `limit`, brought under [`Pagination::MAX`].
    pub fn bounded_limit(self) -> u32 {
        self.limit.min(Self::MAX)
    }
}

/// Which things of a session a list holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EpochFilter {
    /// Those that are part of the reasoning now.
    Current,
    /// Those that a backtrack set aside, too.
    All,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEntry {
    /// The session.
    pub session: Session,
    /// How many current thoughts it has.
    pub thoughts: u64,
    /// How many current nodes its graphs have.
    pub nodes: u64,
}

/// A branch in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchEntry {
    /// The branch.
    pub branch: Branch,
    /// How many current thoughts are on it.
    pub thoughts: u64,
    /// The text of the first thought on it; a current one, if the branch is current.
    pub first_text: Option<String>,
}

/// What returning to a checkpoint moves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BacktrackPreview {
    /// Out of the reasoning, into history.
    pub set_aside: EntityCounts,
    /// Out of history, into the reasoning.
    pub restored: EntityCounts,
}

/// How many of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EntityCounts {
    /// Thoughts.
    pub thoughts: u64,
    /// Branches.
    pub branches: u64,
    /// Nodes of graphs.
    pub nodes: u64,
}

/// Which runs a list holds: those that all of this is true of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChainRunFilter {
    /// Only of this base.
    pub base: Option<String>,
    /// Only in this state.
    pub state: Option<ChainState>,
    /// Only of this owner; `Some(None)` is those that are nobody's.
    pub owner: Option<Option<String>>,
}

/// How much a tool was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUsage {
    /// The tool.
    pub tool: String,
    /// How often it was called.
    pub calls: u64,
    /// How many of those failed.
    pub failed: u64,
    /// How long they took together, in milliseconds.
    pub total_ms: u64,
    /// How long the longest took.
    pub max_ms: u64,
}

/// What to look for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// Words; all must occur. Punctuation and operators mean nothing.
    pub text: String,
    /// Only in this session.
    pub session: Option<SessionId>,
    /// Only thoughts of this mode; nodes are of mode `got`.
    pub mode: Option<Mode>,
    /// Only what is not older than this.
    pub since: Option<Timestamp>,
    /// Only what is not younger than this.
    pub until: Option<Timestamp>,
    /// How many at the most.
    pub limit: u32,
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// What it is.
    pub entity: SearchEntity,
    /// The passage that matched, with `[` and `]` around the words.
    pub excerpt: String,
}

/// What can be found.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchEntity {
    /// A thought.
    Thought(Thought),
    /// A node of a graph.
    Node(GraphNode),
}

/// Where a store is and how much is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreInfo {
    /// The file or server, without secrets.
    pub location: String,
    /// The version of its tables.
    pub schema_version: i64,
    /// Sessions in it.
    pub sessions: u64,
    /// Thoughts in it.
    pub thoughts: u64,
}
