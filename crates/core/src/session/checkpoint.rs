//! Saved states of a session.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::branch::string_enum;
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
    /// Who made it.
    pub kind: CheckpointKind,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Who made a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
// The name of the field says it; a schema has no room to say it again.
#[schemars(description = "")]
pub enum CheckpointKind {
    /// Someone asked for it.
    Asked,
    /// A backtrack left this place; returning to it undoes the backtrack.
    Undo,
}

string_enum! {
    CheckpointKind { Asked = "asked", Undo = "undo" }
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
