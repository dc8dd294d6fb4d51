//! What can happen in a run. Each is one row, never changed afterwards; where a run stands is
//! found by reading them from the first to the last.

use deliberate_core::{ChainEvent, RunId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::gate::{GateResult, GateReview};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ChainRunEvent {
    /// A step was answered.
    Answered {
        /// Which.
        step: u32,
        /// With what.
        text: String,
        /// Whether the run goes on with it.
        accepted: bool,
        /// What its gates found, if it has any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        review: Option<AnswerReview>,
    },
    /// An answer that was held was judged.
    Judged {
        /// Whose.
        step: u32,
        /// Whether the run goes on with it.
        accepted: bool,
        /// What its gates say now.
        review: AnswerReview,
    },
    /// A step ran its tool.
    Ran {
        /// Which.
        step: u32,
        /// What the tool answered.
        output: Value,
    },
    /// A question was decided.
    Decided {
        /// Its index.
        question: usize,
        /// Yes or no.
        holds: bool,
        /// Why, or by whom.
        why: String,
    },
    /// Someone intervened.
    Acted {
        /// How.
        action: GateAction,
        /// At which step.
        step: u32,
    },
}

/// What someone who intervenes can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GateAction {
    /// Try again, counting anew.
    Retry,
    /// Go on with what there is.
    Skip,
    /// Give the run up.
    Abort,
}

impl GateAction {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Skip => "skip",
            Self::Abort => "abort",
        }
    }
}

/// What the gates of a step found of an answer, and what followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerReview {
    /// What followed.
    pub review: GateReview,
    /// What was found, gate by gate.
    pub results: Vec<GateResult>,
}

impl ChainRunEvent {
    /// The step it happened at.
    pub const fn step(&self) -> Option<u32> {
        match self {
            Self::Answered { step, .. }
            | Self::Judged { step, .. }
            | Self::Ran { step, .. }
            | Self::Acted { step, .. } => Some(*step),
            Self::Decided { .. } => None,
        }
    }

    /// As a row.
    pub fn to_row(&self, run: &RunId, seq: u32, at: Timestamp) -> ChainEvent {
        let mut data = serde_json::to_value(self).unwrap_or_default();
        let kind = data
            .as_object_mut()
            .and_then(|fields| fields.remove("kind"))
            .and_then(|kind| kind.as_str().map(str::to_owned))
            .unwrap_or_default();
        ChainEvent {
            run_id: run.clone(),
            seq,
            kind,
            step: self.step(),
            data,
            created_at: at,
        }
    }

    /// From a row; `None` if it is of a kind that this version does not know.
    pub fn from_row(event: ChainEvent) -> Option<Self> {
        let mut data = event.data;
        data.as_object_mut()?
            .insert("kind".to_owned(), Value::String(event.kind));
        serde_json::from_value(data).ok()
    }
}
