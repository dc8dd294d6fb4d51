//! Sessions and the entities that belong to them.

pub(crate) mod branch;
pub(crate) mod checkpoint;
pub(crate) mod graph;
pub(crate) mod mode;
pub(crate) mod thought;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{BranchId, Mode, SessionId, Timestamp};

/// A line of reasoning that grows with each call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// The session's id.
    pub id: SessionId,
    /// The reasoning mode.
    pub mode: Mode,
    /// The title for people, taken from the first input until it is renamed.
    pub title: Option<String>,
    /// When the session started.
    pub created_at: Timestamp,
    /// When the session last changed.
    pub updated_at: Timestamp,
    /// The active branch, in tree mode.
    pub active_branch_id: Option<BranchId>,
    /// Further data, such as a provider's thread id.
    pub metadata: Option<Value>,
}
