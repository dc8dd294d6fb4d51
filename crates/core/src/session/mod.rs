//! A session: the context that groups thoughts.

pub(crate) mod branch;
pub(crate) mod checkpoint;
pub(crate) mod graph;
pub(crate) mod mode;
pub(crate) mod thought;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{BranchId, Mode, SessionId, Timestamp};

/// A line of reasoning that grows by calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// How it reasons.
    pub mode: Mode,
    /// What a person sees in a list; taken from the first input until renamed.
    pub title: Option<String>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The branch that is being followed, in tree mode.
    pub active_branch_id: Option<BranchId>,
    /// Whatever else belongs to it, such as a provider's thread id.
    pub metadata: Option<Value>,
}
