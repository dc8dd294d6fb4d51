//! Runs of chains of prompts: how far each has come, and everything that happened on the way.
//! Knows nothing of prompts, gates or what an event means; who runs the chain does.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::session::branch::string_enum;
use crate::{RunId, Timestamp};

/// A run of a chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainRun {
    /// Its id: `chain-<base>#<number>`.
    pub id: RunId,
    /// What was run; runs of one base are numbered.
    pub base: String,
    /// Its number among the runs of its base.
    pub number: i64,
    /// The command that began it.
    pub command: String,
    /// What it will do, as it was planned when it began.
    pub plan: Value,
    /// Whose run it is.
    pub owner: Option<String>,
    /// Whether it goes on.
    pub state: ChainState,
    /// How many steps it has.
    pub steps: u32,
    /// The step it has come to.
    pub at_step: u32,
    /// How many events it has; the number of the newest.
    pub events: u32,
    /// When it began.
    pub created_at: Timestamp,
    /// When something last happened in it.
    pub updated_at: Timestamp,
}

/// Whether a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
// The name of the field says it; a schema has no room to say it again.
#[schemars(description = "")]
pub enum ChainState {
    /// More can happen in it.
    Open,
    /// It came to its end.
    Done,
    /// It was given up.
    Aborted,
}

/// Something that happened in a run; never changed afterwards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainEvent {
    /// The run.
    pub run_id: RunId,
    /// Its place among the run's events, from 1.
    pub seq: u32,
    /// What kind of thing happened.
    pub kind: String,
    /// The step it happened at.
    pub step: Option<u32>,
    /// What belongs to it.
    pub data: Value,
    /// When.
    pub created_at: Timestamp,
}

string_enum! {
    ChainState { Open = "open", Done = "done", Aborted = "aborted" }
}
