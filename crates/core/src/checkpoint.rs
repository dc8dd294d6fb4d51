//! Saved states of a session.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{BranchId, CheckpointId, SessionId, SnapshotId, Timestamp};

/// A place in a session that one can return to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Its id.
    pub id: CheckpointId,
    /// The session it belongs to.
    pub session_id: SessionId,
    /// The branch that was followed then.
    pub branch_id: Option<BranchId>,
    /// What the caller called it.
    pub name: String,
    /// What the caller said of it.
    pub description: Option<String>,
    /// Where the session stood.
    pub snapshot: Value,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A state kept beside the checkpoints, such as the one before a backtrack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateSnapshot {
    /// Its id.
    pub id: SnapshotId,
    /// The session it belongs to.
    pub session_id: SessionId,
    /// The snapshot before it.
    pub parent_id: Option<SnapshotId>,
    /// What kind of state it is.
    pub snapshot_type: String,
    /// In words.
    pub description: Option<String>,
    /// The state.
    pub data: Value,
    /// When it was taken.
    pub created_at: Timestamp,
}
