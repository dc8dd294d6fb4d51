//! What a call is answered.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::gate::{GateResult, GateSource};

/// What `prompt_engine` answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct EngineReply {
    /// What to read and act on.
    pub said: String,
    /// The run, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain_id: Option<String>,
    /// How the run stands: `step`, `review`, `question`, `done`, `aborted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The steps that are to be answered now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<u32>,
    /// How many steps there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_steps: Option<u32>,
    /// The gates that the answer must pass, and where each came from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<AppliedGate>,
    /// What the gates found of the last answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub review: Vec<GateResult>,
    /// What came of each step, once the run is over.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub results: Map<String, Value>,
    /// The last answer in full, if the server's model gave it: nobody else has seen it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// What the caller should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What the next leg is called with, if the call goes on by itself.
    #[serde(skip)]
    pub next: Option<Value>,
}

/// A gate, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AppliedGate {
    /// Its id.
    pub id: String,
    /// Where it came from.
    pub from: GateSource,
}
