//! Checkpoints and snapshots of a session.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::branch::string_enum;
use crate::{BranchId, CheckpointId, SessionId, SnapshotId, Timestamp};

/// A state of a session that a backtrack can return to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The checkpoint's id.
    pub id: CheckpointId,
    /// The session that the checkpoint belongs to.
    pub session_id: SessionId,
    /// The branch that was active at the time.
    pub branch_id: Option<BranchId>,
    /// The name that the caller gave.
    pub name: String,
    /// The description that the caller gave.
    pub description: Option<String>,
    /// The session's state at the time.
    pub snapshot: Value,
    /// Whether a caller or a backtrack created the checkpoint.
    pub kind: CheckpointKind,
    /// When the checkpoint was created.
    pub created_at: Timestamp,
}

/// The origin of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
// The field's name describes it. Repeating that in the schema would cost clients tokens.
#[schemars(description = "")]
pub enum CheckpointKind {
    /// Created by a caller.
    Asked,
    /// Created by a backtrack; returning to it undoes that.
    Undo,
}

string_enum! {
    CheckpointKind { Asked = "asked", Undo = "undo" }
}

/// A stored state that is not a checkpoint, such as the one before a backtrack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateSnapshot {
    /// The snapshot's id.
    pub id: SnapshotId,
    /// The session that the snapshot belongs to.
    pub session_id: SessionId,
    /// The previous snapshot.
    pub parent_id: Option<SnapshotId>,
    /// The kind of state.
    pub snapshot_type: String,
    /// A description for people.
    pub description: Option<String>,
    /// The state itself.
    pub data: Value,
    /// When the snapshot was taken.
    pub created_at: Timestamp,
}
