//! A thought: one step, with what was asked and what was answered.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{BranchId, Mode, Score, SessionId, ThoughtId, Timestamp};

/// One step of a session. Input and output live in one row, so a step is whole or absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Thought {
    /// Its id.
    pub id: ThoughtId,
    /// The session it belongs to.
    pub session_id: SessionId,
    /// What the caller gave to think about, where the step began with something given.
    pub input: Option<String>,
    /// The reasoning itself.
    pub content: String,
    /// How sure the model was.
    pub confidence: Score,
    /// The mode that made it.
    pub mode: Mode,
    /// The thought it built on: the latest one its model was shown.
    pub parent_id: Option<ThoughtId>,
    /// The branch it is on, in tree mode.
    pub branch_id: Option<BranchId>,
    /// Whether a backtrack went back behind it: history, no longer part of the reasoning.
    #[serde(default)]
    pub set_aside: bool,
    /// When it was thought.
    pub created_at: Timestamp,
    /// Whatever else the model or the mode said about it.
    pub metadata: Option<Value>,
}
