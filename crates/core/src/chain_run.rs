//! Chain runs and their events. The module does not know prompts or gates, nor what an event
//! means: the chain engine does.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::session::branch::string_enum;
use crate::{RunId, Timestamp};

/// One run of a prompt chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainRun {
    /// The id, `chain-<base>#<number>`.
    pub id: RunId,
    /// The prompt or chain that runs. Runs with the same base are numbered.
    pub base: String,
    /// The run's number among the runs of its base.
    pub number: i64,
    /// The command that started the run.
    pub command: String,
    /// The plan that was made when the run started.
    pub plan: Value,
    /// The principal that owns the run.
    pub owner: Option<String>,
    /// Whether the run is open, done or aborted.
    pub state: ChainState,
    /// The number of steps in the plan.
    pub steps: u32,
    /// The step that the run has reached.
    pub at_step: u32,
    /// The number of events, which is also the `seq` of the newest.
    pub events: u32,
    /// When the run started.
    pub created_at: Timestamp,
    /// When the newest event was added.
    pub updated_at: Timestamp,
}

/// The state of a chain run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
// The field's name describes it. Repeating that in the schema would cost clients tokens.
#[schemars(description = "")]
pub enum ChainState {
    /// It can continue.
    Open,
    /// It is complete.
    Done,
    /// It was aborted.
    Aborted,
}

/// An event of a chain run. Events are never changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainEvent {
    /// The run that the event belongs to.
    pub run_id: RunId,
    /// The position among the run's events, from 1.
    pub seq: u32,
    /// The kind of event, in the chain engine's vocabulary.
    pub kind: String,
    /// The step that the event concerns.
    pub step: Option<u32>,
    /// The event's data, in the chain engine's format.
    pub data: Value,
    /// When the event happened.
    pub created_at: Timestamp,
}

string_enum! {
    ChainState { Open = "open", Done = "done", Aborted = "aborted" }
}
