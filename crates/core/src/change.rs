//! What a call changes. A tool returns its changes; the store makes them true all together,
//! with the record of the call, or not at all.

use serde_json::Value;

use crate::{
    Branch, BranchId, Checkpoint, CrossRef, Graph, GraphEdge, GraphNode, Invocation, Session,
    SessionId, StateSnapshot, Suspension, SuspensionId, Thought, Timestamp,
};

/// One change to what is remembered. Changes are made in the order given, so a session comes
/// before its thoughts.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A session begins.
    AddSession(Session),
    /// A session goes on: its time, title, active branch and metadata become these.
    UpdateSession(Session),
    /// A session and all that belongs to it is deleted.
    DeleteSession(SessionId),
    /// A step is added, and its session's time is set to the step's.
    AddThought(Thought),
    /// A branch is opened.
    AddBranch(Branch),
    /// A branch becomes this.
    UpdateBranch(Branch),
    /// A session follows another branch.
    FollowBranch {
        /// The session.
        session_id: SessionId,
        /// The branch it follows from now on.
        branch_id: Option<BranchId>,
        /// When.
        at: Timestamp,
    },
    /// A reference between branches is noted.
    AddCrossRef(CrossRef),
    /// A checkpoint is made.
    AddCheckpoint(Checkpoint),
    /// A state is kept.
    AddSnapshot(StateSnapshot),
    /// A graph begins.
    AddGraph(Graph),
    /// A node is added.
    AddNode(GraphNode),
    /// A node becomes this.
    UpdateNode(GraphNode),
    /// An edge is added.
    AddEdge(GraphEdge),
    /// A call is suspended, or suspended again with more replies in its journal.
    Suspend(Suspension),
    /// A suspended call has ended. Refused if it had ended before, so that a call that is
    /// resumed twice at once takes effect once.
    EndSuspension {
        /// Which one.
        id: SuspensionId,
        /// The answer it ended with.
        outcome: Value,
    },
    /// A call is recorded. Its session may be one that was never made.
    AddInvocation(Invocation),
}
