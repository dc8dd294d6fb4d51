//! The record of a call: what was asked of a tool, how it ended, what it cost.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{InvocationId, SessionId, Timestamp};

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Invocation {
    /// Its id.
    pub id: InvocationId,
    /// The session it worked on, if any.
    pub session_id: Option<SessionId>,
    /// The tool.
    pub tool_name: String,
    /// The arguments, shortened where they are very long.
    pub input: Value,
    /// The answer, shortened likewise; of a failed call, an answer of the model that could
    /// not be used.
    pub output: Option<Value>,
    /// The provider's pipe or endpoint that was asked.
    pub pipe_name: Option<String>,
    /// How long it took.
    pub latency_ms: Option<i64>,
    /// Whether it succeeded.
    pub success: bool,
    /// What went wrong.
    pub error: Option<String>,
    /// The stable code of what went wrong.
    pub error_code: Option<String>,
    /// What the model calls cost.
    pub spent: ModelUsage,
    /// When it began.
    pub created_at: Timestamp,
}

/// What asking models cost in one call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelUsage {
    /// The model that answered last.
    pub model: Option<String>,
    /// How many times a model was asked.
    pub model_calls: i64,
    /// Tokens sent.
    pub prompt_tokens: i64,
    /// Tokens received.
    pub completion_tokens: i64,
    /// In US dollars, where the provider says or the prices are set.
    pub cost_usd: Option<f64>,
}
