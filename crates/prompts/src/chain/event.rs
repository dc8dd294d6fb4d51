//! Events of a chain run. Each event is one row that is never changed afterwards; replaying the
//! rows in order gives the progress of the run.

use deliberate_core::{ChainEvent, RunId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::gate::{GateResult, GateReview};

/// An event of a chain run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ChainRunEvent {
    /// A step received an answer.
    Answered {
        step: u32,
        text: String,
        /// Whether the run continues with this answer.
        accepted: bool,
        /// The result of the gate check, if the step has gates.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        review: Option<AnswerReview>,
    },
    /// An answer that was held by its gates received a verdict.
    Judged {
        step: u32,
        /// Whether the run continues with the answer.
        accepted: bool,
        /// The gate results after the verdict.
        review: AnswerReview,
    },
    /// A step ran its tool.
    Ran {
        step: u32,
        /// The output of the tool.
        output: Value,
    },
    /// A branch condition was decided.
    Decided {
        /// The index of the condition in the plan.
        question: usize,
        holds: bool,
        /// The reason for the decision, or who made it.
        why: String,
    },
    /// A user retried, skipped or aborted.
    Acted { action: GateAction, step: u32 },
}

/// An intervention in a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GateAction {
    /// Try again and reset the attempt count.
    Retry,
    /// Continue with the current answer.
    Skip,
    /// Abort the run.
    Abort,
}

impl GateAction {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Skip => "skip",
            Self::Abort => "abort",
        }
    }
}

/// The gate results for an answer and the decision that follows from them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerReview {
    pub review: GateReview,
    pub results: Vec<GateResult>,
}

impl ChainRunEvent {
    /// Returns the step that the event belongs to.
    pub const fn step(&self) -> Option<u32> {
        match self {
            Self::Answered { step, .. }
            | Self::Judged { step, .. }
            | Self::Ran { step, .. }
            | Self::Acted { step, .. } => Some(*step),
            Self::Decided { .. } => None,
        }
    }

    /// Converts the event into a row of the store.
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

    /// Reads an event from a row; returns `None` if this version does not know its kind.
    pub fn from_row(event: ChainEvent) -> Option<Self> {
        let mut data = event.data;
        data.as_object_mut()?
            .insert("kind".to_owned(), Value::String(event.kind));
        serde_json::from_value(data).ok()
    }
}
