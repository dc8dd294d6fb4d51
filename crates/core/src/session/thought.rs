//! Thoughts: single reasoning steps with their input and output.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{BranchId, Mode, Score, SessionId, ThoughtId, Timestamp};

/// A step of a session. Input and output are stored in one row, so a step is whole or absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Thought {
    /// The thought's id.
    pub id: ThoughtId,
    /// The session that the thought belongs to.
    pub session_id: SessionId,
    /// The caller's input, if the step started with one.
    pub input: Option<String>,
    /// The text of the reasoning.
    pub content: String,
    /// The model's confidence.
    pub confidence: Score,
    /// The mode that produced the thought.
    pub mode: Mode,
    /// The thought that this one builds on: the latest one that its model was shown.
    pub parent_id: Option<ThoughtId>,
    /// The branch of the thought, in tree mode.
    pub branch_id: Option<BranchId>,
    /// Whether a backtrack set the thought aside; it is then history and not used for reasoning.
    #[serde(default)]
    pub set_aside: bool,
    /// When the thought was created.
    pub created_at: Timestamp,
    /// Further data from the model or the mode.
    pub metadata: Option<Value>,
}
