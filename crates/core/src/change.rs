//! The changes that a call makes. A tool returns its changes; the store commits them together
//! with the call's log record in one transaction, or not at all.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Branch, BranchId, BranchState, ChainEvent, ChainRun, ChainState, Checkpoint, CheckpointId,
    CrossRef, Graph, GraphEdge, GraphId, GraphNode, Invocation, NodeId, RunId, Score, Session,
    SessionId, StateSnapshot, StoredDocument, StoredProgress, SuspendedCall, SuspensionId, Thought,
    Timestamp,
};

/// One change to the stored data. Changes are applied in the order given, so a session comes
/// before its thoughts. A change that is rejected is a conflict and rolls back the whole commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// Adds a session.
    AddSession(Session),
    /// Changes a session's title.
    RenameSession {
        /// The session to rename.
        session_id: SessionId,
        /// The new title.
        title: String,
        /// The time of the change.
        at: Timestamp,
    },
    /// Sets or removes the provider's conversation of a session.
    #[serde(rename = "KeepThread")]
    SetProviderThread {
        /// The session that uses the conversation.
        session_id: SessionId,
        /// The provider's id of the conversation.
        thread: Option<String>,
    },
    /// Deletes a session and everything that belongs to it.
    DeleteSession(SessionId),
    /// Adds a thought and sets its session's time to the thought's. Rejected if the thought or
    /// branch that it builds on has been set aside meanwhile.
    AddThought(Thought),
    /// Adds a branch. Rejected if its parent branch has been set aside meanwhile.
    AddBranch(Branch),
    /// Reopens, completes or abandons a branch. Rejected if it is set aside.
    SetBranchState {
        /// The branch to change.
        id: BranchId,
        /// The new state.
        state: BranchState,
        /// The time of the change.
        at: Timestamp,
    },
    /// Sets a session's active branch. Rejected if the branch has been set aside meanwhile.
    #[serde(rename = "FollowBranch")]
    SetActiveBranch {
        /// The session to change.
        session_id: SessionId,
        /// The new active branch.
        branch_id: Option<BranchId>,
        /// The time of the change.
        at: Timestamp,
    },
    /// Adds a reference between branches. Rejected if one has been set aside meanwhile.
    AddCrossRef(CrossRef),
    /// Adds a checkpoint, so that a backtrack can return to the current state.
    AddCheckpoint(Checkpoint),
    /// Returns a session to a checkpoint: everything later is set aside, everything that was
    /// changed or set aside since is restored. Later changes of the commit apply to the new epoch.
    Backtrack {
        /// The session to return.
        session_id: SessionId,
        /// The checkpoint to return to.
        to: CheckpointId,
        /// A checkpoint of the state that the session leaves, so that the backtrack can be undone.
        left: Checkpoint,
    },
    /// Adds a snapshot of a session's state.
    AddSnapshot(StateSnapshot),
    /// Adds a graph.
    AddGraph(Graph),
    /// Adds a node. Rejected if its graph has been set aside meanwhile.
    AddNode(GraphNode),
    /// Updates the given parts of a node. The other parts keep their stored values, because another
    /// call may have changed them meanwhile. Rejected if the node is pruned or set aside.
    #[serde(rename = "MarkNode")]
    UpdateNode {
        /// The node to update.
        id: NodeId,
        /// The parts to update.
        marks: NodeUpdate,
        /// The time of the change.
        at: Timestamp,
    },
    /// Prunes nodes: they stay stored, but are not worked on any more.
    PruneNodes {
        /// The graph of the nodes.
        graph_id: GraphId,
        /// The nodes to prune.
        nodes: Vec<NodeId>,
        /// The time of the change.
        at: Timestamp,
    },
    /// Adds an edge. Rejected if one of its nodes has been set aside meanwhile.
    AddEdge(GraphEdge),
    /// Changes nothing, but rejects the commit unless the precondition still holds.
    #[serde(rename = "Require")]
    Check(Precondition),
    /// Stores a suspended or background call, or stores it again with another step or round. Rejected
    /// if the stored call has ended, or if its fence is not the one before that of this row.
    Suspend(SuspendedCall),
    /// Ends a suspended or background call. Rejected if it has already ended or has another fence,
    /// so that a call that is resumed twice at once takes effect once.
    EndSuspension {
        /// The call to end.
        id: SuspensionId,
        /// The fence under which the work was begun.
        fence: i64,
        /// The result of the call.
        outcome: Value,
        /// Whether the result is an error.
        failed: bool,
    },
    /// Renews the lease of a call and stores its progress. Rejected if the call has ended or has
    /// another fence.
    #[serde(rename = "RunOn")]
    RenewLease {
        /// The leased call.
        id: SuspensionId,
        /// The fence that this worker has.
        fence: i64,
        /// The new lease expiry.
        until: Timestamp,
        /// What the worker has done so far.
        progress: StoredProgress,
    },
    /// Takes the expired lease of a call, which gets the next fence. Rejected if the call has ended,
    /// or if another worker has taken or renewed the lease since.
    TakeLease {
        /// The call to lease.
        id: SuspensionId,
        /// The fence that this worker has read.
        fence: i64,
        /// The lease expiry that this worker has read.
        seen: Option<Timestamp>,
        /// The new lease expiry.
        until: Timestamp,
    },
    /// Adds a chain run without events, whatever its `events` says. Rejected if a run with the same
    /// id, or the same base and number, exists.
    #[serde(rename = "BeginRun")]
    StartRun(ChainRun),
    /// Adds an event to a chain run and updates the run's state. Rejected unless the run is open
    /// and the event directly follows its newest one, so that one of several concurrent calls
    /// continues the run.
    AddRunEvent {
        /// The event to add.
        event: ChainEvent,
        /// The run's state after the event.
        state: ChainState,
        /// The step that the run has reached.
        at_step: u32,
    },
    /// Deletes all but the newest ended runs of a base. Open runs do not count and stay, unless
    /// they have been idle for long.
    #[serde(rename = "ForgetRuns")]
    PruneRuns {
        /// The base of the runs.
        base: String,
        /// The number of ended runs that stay.
        keep: u32,
        /// Open runs that last changed before this are deleted.
        idle_since: Timestamp,
    },
    /// Deletes a chain run and its events.
    DeleteRun(RunId),
    /// Sets or removes a named value, such as a setting of the prompt engine or the definition pins
    /// of an upstream server. Rejected if there would be too many.
    SetState {
        /// The value's name.
        key: String,
        /// The new value; `None` removes it.
        value: Option<Value>,
        /// The time of the change.
        at: Timestamp,
    },
    /// Writes a document with its index keys. Rejected unless its version equals the stored one (0
    /// if there is none), or if another document has one of its unique keys.
    #[serde(rename = "PutItem")]
    PutDocument {
        /// The document; its `version` is the one that the caller read.
        item: StoredDocument,
        /// The long texts, in order, that replace the stored ones; `None` leaves those unchanged.
        parts: Option<Vec<String>>,
    },
    /// Deletes a document and its texts. Rejected if it does not exist.
    #[serde(rename = "DropItem")]
    DeleteDocument {
        /// The document's kind.
        kind: String,
        /// The document's id.
        id: String,
        /// The time of the change.
        at: Timestamp,
    },
    /// Adds a record to the invocation log. Its session need not exist.
    AddInvocation(Invocation),
}

/// The parts of a node that an update changes; `None` leaves a part unchanged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeUpdate {
    /// The new score.
    pub score: Option<Score>,
    /// Whether the node may still be worked on.
    pub is_active: Option<bool>,
    /// Whether the node is a conclusion.
    pub is_terminal: Option<bool>,
    /// Fields that are merged into the metadata; a null value removes the field.
    pub notes: Option<Value>,
}

/// A fact that a call read and relies on. Other calls may change it while a model answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Precondition {
    /// The branch is open and not set aside.
    OpenBranch(BranchId),
    /// The node is neither pruned nor set aside.
    UsableNode(NodeId),
    /// The node is usable and not a conclusion.
    OpenNode(NodeId),
    /// The session has no checkpoint of this name.
    FreeName {
        /// The session whose checkpoints are checked.
        session_id: SessionId,
        /// The name that must be free.
        name: String,
    },
    /// The graph has at most this many nodes that are not pruned.
    NodesAtMost {
        /// The graph whose nodes are counted.
        graph_id: GraphId,
        /// The limit.
        most: u32,
    },
}
