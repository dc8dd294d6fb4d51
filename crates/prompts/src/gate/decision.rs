//! What follows from what was found: the work goes on, goes on with a word of warning, or stays
//! where it is. Attempts are counted by answers, never by verdicts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CheckOutcome, CriterionResult, GateResult, GateSource, JudgedBy, SelectedGate};
use crate::model::{Enforcement, GateKind, GateSeverity};

/// The most hints.
const MAX_HINTS: usize = 3;

/// How many answers were looked at, and how many may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewAttempts {
    /// Answers that were looked at, this one too.
    pub used: u32,
    /// How many may be.
    pub limit: u32,
}

impl ReviewAttempts {
    /// Whether the next answer would be one too many.
    pub const fn is_exhausted(self) -> bool {
        self.used >= self.limit
    }
}

/// A criterion that stands in the way, or is worth a word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedCriterion {
    /// The id of its gate.
    pub gate: String,
    /// Where that came from.
    pub source: GateSource,
    /// Its number among all criteria of the step, from 1.
    pub number: usize,
    /// What it asks for.
    pub what: String,
    /// What was found.
    pub outcome: CheckOutcome,
    /// Why.
    pub why: String,
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum GateDecision {
    /// The work goes on.
    Pass,
    /// The work goes on, with a warning.
    Advance {
        /// What was not as it should be.
        warnings: Vec<FailedCriterion>,
    },
    /// The work stays where it is.
    Hold {
        /// What stands in the way.
        failed: Vec<FailedCriterion>,
        /// What is worth a word besides.
        warnings: Vec<FailedCriterion>,
        /// Whether a verdict on this answer is needed: nothing failed so far.
        waiting_for_verdict: bool,
    },
}

/// A review of one answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateReview {
    /// What follows.
    pub decision: GateDecision,
    /// The attempts.
    pub attempts: ReviewAttempts,
    /// What would help, up to three sentences.
    pub hints: Vec<String>,
}

impl GateReview {
    /// Whether the work stays and only a person's word can change that: retry, skip or abort.
    pub fn is_stuck(&self) -> bool {
        matches!(
            &self.decision,
            GateDecision::Hold {
                waiting_for_verdict: false,
                ..
            }
        ) && self.attempts.is_exhausted()
    }

    /// Whether nothing failed and the work stays only because something can't be checked, so that
    /// another answer would not help.
    pub fn is_uncheckable(&self) -> bool {
        matches!(
            &self.decision,
            GateDecision::Hold { failed, .. }
                if !failed.is_empty() && failed.iter().all(|it| it.outcome == CheckOutcome::CannotTell)
        )
    }
}

/// What happens if a gate fails: what it says itself; else the work stays if the user asked for
/// the gate; else its severity decides. A gate that only guides never holds anything up unless
/// it says so.
pub(super) fn enforcement(chosen: &SelectedGate) -> Enforcement {
    let gate = &chosen.gate;
    if let Some(said) = gate.enforcement {
        return said;
    }
    if chosen.is_requested() {
        return Enforcement::Blocking;
    }
    match (gate.kind, gate.severity) {
        (GateKind::Guidance, _) | (_, GateSeverity::Low) => Enforcement::Informational,
        (_, GateSeverity::Critical) => Enforcement::Blocking,
        (_, GateSeverity::High | GateSeverity::Medium) => Enforcement::Advisory,
    }
}

/// What follows from the results for the answer that is the `used`-th of its step. `retries` is
/// what the step says about the limit.
///
/// A criterion that nobody can settle holds the work up only if its gate is strict or the user
/// asked for the gate; else it is a warning.
pub fn decide_review(results: &[GateResult], used: u32, retries: Option<u32>) -> GateReview {
    let mut failed = Vec::new();
    let mut warnings = Vec::new();
    let mut open = false;
    for gate in results {
        let blocking = gate.enforcement == Enforcement::Blocking;
        for criterion in &gate.criteria {
            let holds = blocking && !criterion.warn_only;
            match criterion.outcome {
                CheckOutcome::Pass => {}
                CheckOutcome::CannotTell if criterion.is_open() => open |= holds,
                CheckOutcome::Fail if holds => failed.push(failed_criterion(gate, criterion)),
                CheckOutcome::CannotTell
                    if holds && (gate.strict || gate.source.is_requested()) =>
                {
                    failed.push(failed_criterion(gate, criterion));
                }
                CheckOutcome::Fail | CheckOutcome::CannotTell => {
                    if gate.enforcement != Enforcement::Informational {
                        warnings.push(failed_criterion(gate, criterion));
                    }
                }
            }
        }
    }
    let hints = improvement_hints(results, &failed);
    let decision = if !failed.is_empty() || open {
        GateDecision::Hold {
            waiting_for_verdict: failed.is_empty(),
            failed,
            warnings,
        }
    } else if warnings.is_empty() {
        GateDecision::Pass
    } else {
        GateDecision::Advance { warnings }
    };
    GateReview {
        decision,
        attempts: ReviewAttempts {
            used,
            limit: attempt_limit(results, retries),
        },
        hints,
    }
}

/// What the step says, else the most that one of the gates that can hold it up allows.
fn attempt_limit(results: &[GateResult], retries: Option<u32>) -> u32 {
    let gates = results
        .iter()
        .filter(|it| it.enforcement == Enforcement::Blocking)
        .map(|it| it.max_attempts)
        .max();
    retries.or(gates).unwrap_or(2).max(1)
}

fn failed_criterion(gate: &GateResult, criterion: &CriterionResult) -> FailedCriterion {
    FailedCriterion {
        gate: gate.gate.clone(),
        source: gate.source,
        number: criterion.number,
        what: criterion.what.clone(),
        outcome: criterion.outcome,
        why: criterion.why.clone(),
    }
}

fn improvement_hints(results: &[GateResult], failed: &[FailedCriterion]) -> Vec<String> {
    let wants_hints = |failing: &&FailedCriterion| {
        let gate = results.iter().find(|it| it.gate == failing.gate);
        gate.is_none_or(|it| it.hints)
    };
    failed
        .iter()
        .filter(wants_hints)
        .filter(|it| it.outcome == CheckOutcome::Fail)
        .take(MAX_HINTS)
        .map(|it| {
            let why: String = it.why.chars().take(200).collect();
            format!("{}: {why}", it.what.chars().take(200).collect::<String>())
        })
        .collect()
}

impl CriterionResult {
    /// A failure that somebody's verdict adds.
    pub(super) fn from_failed_verdict(
        number: usize,
        index: usize,
        why: String,
        by: JudgedBy,
    ) -> Self {
        Self {
            number,
            index,
            what: "the answer as a whole".to_owned(),
            outcome: CheckOutcome::Fail,
            why,
            judged_by: by,
            judgement: true,
            warn_only: false,
        }
    }
}
