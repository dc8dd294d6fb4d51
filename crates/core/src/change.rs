//! What a call changes. A tool returns its changes; the store makes them true all together,
//! with the record of the call, or not at all.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Branch, BranchId, BranchState, ChainEvent, ChainRun, ChainState, Checkpoint, CheckpointId,
    CrossRef, Graph, GraphEdge, GraphId, GraphNode, Invocation, NodeId, RunId, Score, Session,
    SessionId, StateSnapshot, StoredDocument, SuspendedCall, SuspensionId, Thought, Timestamp,
};

/// One change to what is remembered. Changes are made in the order given, so a session comes
/// before its thoughts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// A session begins.
    AddSession(Session),
    /// A session gets another title.
    RenameSession {
        /// The session.
        session_id: SessionId,
        /// What it is called from now on.
        title: String,
        /// When.
        at: Timestamp,
    },
    /// A session's conversation with the provider is another one, or none.
    KeepThread {
        /// The session.
        session_id: SessionId,
        /// The provider's name for the conversation.
        thread: Option<String>,
    },
    /// A session and all that belongs to it is deleted.
    DeleteSession(SessionId),
    /// A step is added, and its session's time is set to the step's. Refused if what it builds on
    /// was set aside meanwhile.
    AddThought(Thought),
    /// A branch is opened. Refused if the one it grows from was set aside meanwhile.
    AddBranch(Branch),
    /// A branch is open again, completed or given up. Refused if it was set aside.
    SetBranchState {
        /// The branch.
        id: BranchId,
        /// What it is from now on.
        state: BranchState,
        /// When.
        at: Timestamp,
    },
    /// A session follows another branch. Refused if that was set aside meanwhile.
    FollowBranch {
        /// The session.
        session_id: SessionId,
        /// The branch it follows from now on.
        branch_id: Option<BranchId>,
        /// When.
        at: Timestamp,
    },
    /// A reference between branches is noted. Refused if one of them was set aside meanwhile.
    AddCrossRef(CrossRef),
    /// A checkpoint is made: what is current now can be returned to.
    AddCheckpoint(Checkpoint),
    /// The session returns to where it stood at a checkpoint: what came later is set aside, what
    /// was changed or set aside since is as it was. Changes after this one belong to the new way.
    Backtrack {
        /// The session.
        session_id: SessionId,
        /// Where it returns to.
        to: CheckpointId,
        /// The place it leaves, to which it can be brought back likewise.
        left: Checkpoint,
    },
    /// A state is kept.
    AddSnapshot(StateSnapshot),
    /// A graph begins.
    AddGraph(Graph),
    /// A node is added. Refused if its graph was set aside meanwhile.
    AddNode(GraphNode),
    /// Parts of a node become these; the others stay what they are by then, for others may have
    /// worked on it while a model thought. Refused if it was pruned or set aside.
    MarkNode {
        /// The node.
        id: NodeId,
        /// What changes.
        marks: NodeUpdate,
        /// When.
        at: Timestamp,
    },
    /// Nodes are pruned: no longer worked on, still there.
    PruneNodes {
        /// Their graph.
        graph_id: GraphId,
        /// Which ones.
        nodes: Vec<NodeId>,
        /// When.
        at: Timestamp,
    },
    /// An edge is added. Refused if one of its ends was set aside meanwhile.
    AddEdge(GraphEdge),
    /// Nothing changes, but all the others are refused unless this still holds.
    Require(Precondition),
    /// A call is suspended, or suspended again with more replies in its journal.
    Suspend(SuspendedCall),
    /// A suspended call has ended. Refused if it had ended before, so that a call that is
    /// resumed twice at once takes effect once.
    EndSuspension {
        /// Which one.
        id: SuspensionId,
        /// The answer it ended with.
        outcome: Value,
        /// Whether the answer is that it failed.
        failed: bool,
    },
    /// A call that can be picked up is being run. Refused if it has ended, or if someone else has
    /// said so since.
    RunOn {
        /// Which one.
        id: SuspensionId,
        /// What was last said, as this one knows it.
        seen: Option<Timestamp>,
        /// Until when.
        until: Timestamp,
    },
    /// A run of a chain begins, with no events yet whatever it says. Refused if one of its id or of
    /// its base and number was begun before.
    BeginRun(ChainRun),
    /// Something happened in a run, which comes to this by it. Refused unless the run is open and
    /// the event is the one that follows its newest, so that of several who go on with a run at
    /// once one does.
    AddRunEvent {
        /// What happened.
        event: ChainEvent,
        /// Whether the run goes on.
        state: ChainState,
        /// The step it has come to.
        at_step: u32,
    },
    /// Of the ended runs of a base only the newest stay. Open ones do not count: they stay unless
    /// nobody went on with them for long.
    ForgetRuns {
        /// The base.
        base: String,
        /// How many ended ones stay.
        keep: u32,
        /// Open ones that last changed before this are forgotten.
        idle_since: Timestamp,
    },
    /// A run and its events are deleted.
    DeleteRun(RunId),
    /// Something that is kept under a name (a setting of the prompt engine, the pins of a server's
    /// tools) is another one, or none. Refused if there would be too many.
    SetState {
        /// Its name.
        key: String,
        /// What it is from now on.
        value: Option<Value>,
        /// When.
        at: Timestamp,
    },
    /// An item is written, with what it is found by. Refused unless its version is that of the one
    /// there (0 if there is none), or if another has what only one may have.
    PutItem {
        /// The item; its `version` is the one that was seen.
        item: StoredDocument,
        /// Its long texts, in their order, in place of those before; `None` leaves them as they are.
        parts: Option<Vec<String>>,
    },
    /// An item and its texts are deleted. Refused unless it is there.
    DropItem {
        /// Its kind.
        kind: String,
        /// Its id.
        id: String,
        /// When.
        at: Timestamp,
    },
    /// A call is recorded. Its session may be one that was never made.
    AddInvocation(Invocation),
}

/// What changes in a node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeUpdate {
    /// Its quality.
    pub score: Option<Score>,
    /// Whether it may still be worked on.
    pub is_active: Option<bool>,
    /// Whether it is a conclusion.
    pub is_terminal: Option<bool>,
    /// Fields that join those of its metadata; one that is null goes away.
    pub notes: Option<Value>,
}

/// What a call saw and relies on. Models take their time, and others work meanwhile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Precondition {
    /// The branch is open and not set aside.
    OpenBranch(BranchId),
    /// The node is neither pruned nor set aside.
    UsableNode(NodeId),
    /// The node is usable, and no conclusion.
    OpenNode(NodeId),
    /// The session has no checkpoint of this name.
    FreeName {
        /// The session.
        session_id: SessionId,
        /// The name.
        name: String,
    },
    /// The graph has no more nodes than this that are not pruned.
    NodesAtMost {
        /// The graph.
        graph_id: GraphId,
        /// How many.
        most: u32,
    },
}
