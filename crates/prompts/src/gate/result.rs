//! What was found of an answer: per gate, and in it per criterion.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::GateSource;
use crate::model::Enforcement;

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// It is as it should be.
    Pass,
    /// It is not.
    Fail,
    /// Nobody could say, or nobody did yet.
    CannotTell,
}

impl CheckOutcome {
    /// The sign people see.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Pass => "✓",
            Self::Fail => "✗",
            Self::CannotTell => "?",
        }
    }
}

/// Who found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgedBy {
    /// The server computed it.
    Server,
    /// Whoever answered said so.
    Client,
    /// A model that saw only the answer and the criteria said so.
    Model,
    /// Nobody yet.
    Nobody,
}

/// What was found of one criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CriterionResult {
    /// Its number among all criteria of the step, from 1: what a verdict names it by.
    pub number: usize,
    /// Its number in its gate, from 1.
    pub index: usize,
    /// What it asks for.
    pub what: String,
    /// What was found.
    pub outcome: CheckOutcome,
    /// Why.
    pub why: String,
    /// Who found it.
    pub judged_by: JudgedBy,
    /// Whether it is a judgement, which a verdict can settle.
    pub judgement: bool,
    /// Whether a failure is said but never holds the work up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warn_only: bool,
}

impl CriterionResult {
    /// Whether it waits for somebody's judgement.
    pub fn is_open(&self) -> bool {
        self.judgement
            && self.outcome == CheckOutcome::CannotTell
            && self.judged_by == JudgedBy::Nobody
    }
}

/// What was found of one gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateResult {
    /// The id of the gate.
    pub gate: String,
    /// Its name for people.
    pub name: String,
    /// Where it came from.
    pub source: GateSource,
    /// What happens if it fails.
    #[schemars(with = "String")]
    pub enforcement: Enforcement,
    /// Whether "can't tell" counts as a failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// How many answers it may take.
    pub max_attempts: u32,
    /// Whether hints are given.
    pub hints: bool,
    /// Its criteria.
    pub criteria: Vec<CriterionResult>,
    /// The worst of them.
    pub outcome: CheckOutcome,
}

impl GateResult {
    /// Finds the outcome again, after a criterion changed.
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
