//! The reply of a call.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::gate::{GateResult, GateSource};

/// The reply of `prompt_engine`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct EngineReply {
    /// The text to read and act on.
    pub said: String,
    /// The run, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain_id: Option<String>,
    /// The state of the run: `step`, `review`, `question`, `done`, `aborted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The steps to answer now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<u32>,
    /// The number of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_steps: Option<u32>,
    /// The gates that the answer must pass, with their sources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<AppliedGate>,
    /// The gate results for the last answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub review: Vec<GateResult>,
    /// The result of each step, once the run has ended.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub results: Map<String, Value>,
    /// The last answer in full, if the server's model gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Notes for the caller.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The arguments of the next part of the call, if it continues automatically.
    #[serde(skip)]
    pub next: Option<Value>,
}

/// A gate and its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AppliedGate {
    /// Its id.
    pub id: String,
    /// Its source.
    pub from: GateSource,
}
