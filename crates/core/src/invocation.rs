//! Records of the invocation log: a tool call, its outcome and its cost.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{InvocationId, SessionId, Timestamp};

/// A record of one tool call in the invocation log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Invocation {
    /// The record's id.
    pub id: InvocationId,
    /// The session that the call worked on, if any.
    pub session_id: Option<SessionId>,
    /// The name of the tool.
    pub tool_name: String,
    /// The name of the principal that called; `None` for the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The arguments, truncated if they are very long.
    pub input: Value,
    /// The answer, truncated likewise. For a failed call, the model's answer that could not be
    /// used.
    pub output: Option<Value>,
    /// The provider's pipe or endpoint that received the model requests.
    pub pipe_name: Option<String>,
    /// The duration of the call.
    pub latency_ms: Option<i64>,
    /// Whether the call succeeded.
    pub success: bool,
    /// The error message.
    pub error: Option<String>,
    /// The error code, as text because a record may come from another version.
    pub error_code: Option<String>,
    /// The cost of the call's model requests.
    pub spent: ModelUsage,
    /// When the call started.
    pub created_at: Timestamp,
}

/// The model requests of one call: their number, tokens and cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelUsage {
    /// The model that gave the last answer.
    pub model: Option<String>,
    /// The number of model requests.
    pub model_calls: i64,
    /// The tokens sent.
    pub prompt_tokens: i64,
    /// The tokens received.
    pub completion_tokens: i64,
    /// The cost in US dollars, if the provider reports it or prices are configured.
    pub cost_usd: Option<f64>,
}
