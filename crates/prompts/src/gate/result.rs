//! The results of checking an answer, by gate and criterion.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::GateSource;
use crate::model::Enforcement;

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// The criterion is met.
    Pass,
    /// The criterion is not met.
    Fail,
    /// Not checkable, or not judged yet.
    CannotTell,
}

impl CheckOutcome {
    /// Returns the symbol that users see.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Pass => "✓",
            Self::Fail => "✗",
            Self::CannotTell => "?",
        }
    }
}

/// Who decided the outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgedBy {
    /// The server computed it.
    Server,
    /// The client that answered.
    Client,
    /// A model that saw only the answer and the criteria.
    Model,
    /// Nobody yet.
    Nobody,
}

/// The result of one criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CriterionResult {
    /// Its number among all criteria of the step, from 1; verdicts refer to it.
    pub number: usize,
    /// Its number in its gate, from 1.
    pub index: usize,
    /// The requirement.
    pub what: String,
    /// The outcome.
    pub outcome: CheckOutcome,
    /// The reason.
    pub why: String,
    /// Who decided it.
    pub judged_by: JudgedBy,
    /// Whether it is a judgment, which a verdict can settle.
    pub judgement: bool,
    /// Whether a failure only causes a warning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warn_only: bool,
}

impl CriterionResult {
    /// Returns whether the criterion waits for a judgment.
    pub fn is_open(&self) -> bool {
        self.judgement
            && self.outcome == CheckOutcome::CannotTell
            && self.judged_by == JudgedBy::Nobody
    }
}

/// The result of one gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateResult {
    /// The id of the gate.
    pub gate: String,
    /// The display name.
    pub name: String,
    /// The source of the gate.
    pub source: GateSource,
    /// The consequence of a failure.
    #[schemars(with = "String")]
    pub enforcement: Enforcement,
    /// Whether `cannot_tell` counts as a failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// The maximum number of attempts.
    pub max_attempts: u32,
    /// Whether hints are given.
    pub hints: bool,
    /// The criteria.
    pub criteria: Vec<CriterionResult>,
    /// The worst outcome of the criteria.
    pub outcome: CheckOutcome,
}

impl GateResult {
    /// Recomputes the outcome after a criterion changed.
    pub(crate) fn update_outcome(&mut self) {
        let any = |outcome| self.criteria.iter().any(|it| it.outcome == outcome);
        self.outcome = if any(CheckOutcome::Fail) {
            CheckOutcome::Fail
        } else if any(CheckOutcome::CannotTell) {
            CheckOutcome::CannotTell
        } else {
            CheckOutcome::Pass
        };
    }
}
