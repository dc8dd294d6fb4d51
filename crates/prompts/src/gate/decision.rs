//! Decides the consequence of the gate results: the run advances, advances with warnings, or is
//! held. Attempts are counted by answers, never by verdicts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CheckOutcome, CriterionResult, GateResult, GateSource, JudgedBy, SelectedGate};
use crate::model::{Enforcement, GateKind, GateSeverity};

/// The most hints in a review.
const MAX_HINTS: usize = 3;

/// The number of checked answers and its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewAttempts {
    /// Checked answers, including this one.
    pub used: u32,
    /// The maximum number of attempts.
    pub limit: u32,
}

impl ReviewAttempts {
    /// Returns whether no further answer is allowed.
    pub const fn is_exhausted(self) -> bool {
        self.used >= self.limit
    }
}

/// A criterion that failed or causes a warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedCriterion {
    /// The id of its gate.
    pub gate: String,
    /// The source of the gate.
    pub source: GateSource,
    /// Its number among all criteria of the step, from 1.
    pub number: usize,
    /// The requirement.
    pub what: String,
    /// The outcome.
    pub outcome: CheckOutcome,
    /// The reason.
    pub why: String,
}

/// The consequence of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum GateDecision {
    /// The run advances.
    Pass,
    /// The run advances with warnings.
    Advance {
        /// The criteria that were not met.
        warnings: Vec<FailedCriterion>,
    },
    /// The run is held.
    Hold {
        /// The criteria that hold the run.
        failed: Vec<FailedCriterion>,
        /// The criteria that only cause warnings.
        warnings: Vec<FailedCriterion>,
        /// Whether a verdict on this answer is needed: nothing failed so far.
        waiting_for_verdict: bool,
    },
}

/// The review of one answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateReview {
    /// The decision.
    pub decision: GateDecision,
    /// The attempts.
    pub attempts: ReviewAttempts,
    /// Up to three hints for a better answer.
    pub hints: Vec<String>,
}

impl GateReview {
    /// Returns whether the run is held and only retry, skip or abort can change that.
    pub fn is_stuck(&self) -> bool {
        matches!(
            &self.decision,
            GateDecision::Hold {
                waiting_for_verdict: false,
                ..
            }
        ) && self.attempts.is_exhausted()
    }

    /// Returns whether nothing failed and the run is held only because criteria cannot be checked,
    /// so that another answer would not help.
    pub fn is_uncheckable(&self) -> bool {
        matches!(
            &self.decision,
            GateDecision::Hold { failed, .. }
                if !failed.is_empty() && failed.iter().all(|it| it.outcome == CheckOutcome::CannotTell)
        )
    }
}

/// Returns the consequence of a failed gate: its own setting; else blocking if the user requested
/// the gate; else by severity. A guidance gate never blocks unless it says so itself.
pub(super) fn enforcement(chosen: &SelectedGate) -> Enforcement {
    let gate = &chosen.gate;
    if let Some(enforcement) = gate.enforcement {
        return enforcement;
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

/// Decides the consequence of the results for the answer that is the `used`-th of its step.
/// `retries` is the attempt limit of the step.
///
/// A criterion that cannot be checked holds the run only if its gate is strict or was requested by
/// the user; else it is a warning.
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

/// Returns the limit of the step, else the highest limit of the blocking gates.
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
    /// Returns the failed criterion that stands for a FAIL verdict on the whole answer.
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
