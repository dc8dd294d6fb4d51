//! What follows from what was found: the work goes on, goes on with a word of warning, or stays
//! where it is. Attempts are counted by answers, never by verdicts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Chosen, CriterionResult, GateResult, JudgedBy, Outcome, Source};
use crate::model::{Enforcement, GateKind, Severity};

/// The most hints.
const MOST_HINTS: usize = 3;

/// How many answers were looked at, and how many may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attempts {
    /// Answers that were looked at, this one too.
    pub used: u32,
    /// How many may be.
    pub limit: u32,
}

impl Attempts {
    /// Whether the next answer would be one too many.
    pub const fn are_used_up(self) -> bool {
        self.used >= self.limit
    }
}

/// A criterion that stands in the way, or is worth a word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failing {
    /// The id of its gate.
    pub gate: String,
    /// Where that came from.
    pub source: Source,
    /// Its number among all criteria of the step, from 1.
    pub number: usize,
    /// What it asks for.
    pub what: String,
    /// What was found.
    pub outcome: Outcome,
    /// Why.
    pub why: String,
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// The work goes on.
    Pass,
    /// The work goes on, with a warning.
    Advance {
        /// What was not as it should be.
        warnings: Vec<Failing>,
    },
    /// The work stays where it is.
    Hold {
        /// What stands in the way.
        failed: Vec<Failing>,
        /// What is worth a word besides.
        warnings: Vec<Failing>,
        /// Whether a verdict on this answer is needed: nothing failed so far.
        waiting_for_verdict: bool,
    },
}

/// A review of one answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    /// What follows.
    pub decision: Decision,
    /// The attempts.
    pub attempts: Attempts,
    /// What would help, up to three sentences.
    pub hints: Vec<String>,
}

impl Review {
    /// Whether the work stays and only a person's word can change that: retry, skip or abort.
    pub fn is_stuck(&self) -> bool {
        matches!(
            &self.decision,
            Decision::Hold {
                waiting_for_verdict: false,
                ..
            }
        ) && self.attempts.are_used_up()
    }

    /// Whether nothing failed and the work stays only because something can't be checked, so that
    /// another answer would not help.
    pub fn is_uncheckable(&self) -> bool {
        matches!(
            &self.decision,
            Decision::Hold { failed, .. }
                if !failed.is_empty() && failed.iter().all(|it| it.outcome == Outcome::CannotTell)
        )
    }
}

/// What happens if a gate fails: what it says itself; else the work stays if the user asked for
/// the gate; else its severity decides. A gate that only guides never holds anything up unless
/// it says so.
pub(super) fn enforcement(chosen: &Chosen) -> Enforcement {
    let gate = &chosen.gate;
    if let Some(said) = gate.enforcement {
        return said;
    }
    if chosen.was_asked() {
        return Enforcement::Blocking;
    }
    match (gate.kind, gate.severity) {
        (GateKind::Guidance, _) | (_, Severity::Low) => Enforcement::Informational,
        (_, Severity::Critical) => Enforcement::Blocking,
        (_, Severity::High | Severity::Medium) => Enforcement::Advisory,
    }
}

/// What follows from the results for the answer that is the `used`-th of its step. `retries` is
/// what the step says about the limit.
///
/// A criterion that nobody can settle holds the work up only if its gate is strict or the user
/// asked for the gate; else it is a warning.
pub fn decide(results: &[GateResult], used: u32, retries: Option<u32>) -> Review {
    let mut failed = Vec::new();
    let mut warnings = Vec::new();
    let mut open = false;
    for gate in results {
        let blocking = gate.enforcement == Enforcement::Blocking;
        for criterion in &gate.criteria {
            let holds = blocking && !criterion.warn_only;
            match criterion.outcome {
                Outcome::Pass => {}
                Outcome::CannotTell if criterion.is_open() => open |= holds,
                Outcome::Fail if holds => failed.push(failing(gate, criterion)),
                Outcome::CannotTell if holds && (gate.strict || gate.source.was_asked()) => {
                    failed.push(failing(gate, criterion));
                }
                Outcome::Fail | Outcome::CannotTell => {
                    if gate.enforcement != Enforcement::Informational {
                        warnings.push(failing(gate, criterion));
                    }
                }
            }
        }
    }
    let hints = hints(results, &failed);
    let decision = if !failed.is_empty() || open {
        Decision::Hold {
            waiting_for_verdict: failed.is_empty(),
            failed,
            warnings,
        }
    } else if warnings.is_empty() {
        Decision::Pass
    } else {
        Decision::Advance { warnings }
    };
    Review {
        decision,
        attempts: Attempts {
            used,
            limit: limit(results, retries),
        },
        hints,
    }
}

/// What the step says, else the most that one of the gates that can hold it up allows.
fn limit(results: &[GateResult], retries: Option<u32>) -> u32 {
    let gates = results
        .iter()
        .filter(|it| it.enforcement == Enforcement::Blocking)
        .map(|it| it.max_attempts)
        .max();
    retries.or(gates).unwrap_or(2).max(1)
}

fn failing(gate: &GateResult, criterion: &CriterionResult) -> Failing {
    Failing {
        gate: gate.gate.clone(),
        source: gate.source,
        number: criterion.number,
        what: criterion.what.clone(),
        outcome: criterion.outcome,
        why: criterion.why.clone(),
    }
}

fn hints(results: &[GateResult], failed: &[Failing]) -> Vec<String> {
    let wants_hints = |failing: &&Failing| {
        let gate = results.iter().find(|it| it.gate == failing.gate);
        gate.is_none_or(|it| it.hints)
    };
    failed
        .iter()
        .filter(wants_hints)
        .filter(|it| it.outcome == Outcome::Fail)
        .take(MOST_HINTS)
        .map(|it| {
            let why: String = it.why.chars().take(200).collect();
            format!("{}: {why}", it.what.chars().take(200).collect::<String>())
        })
        .collect()
}

impl CriterionResult {
    /// A failure that somebody's verdict adds.
    pub(super) fn refused(number: usize, index: usize, why: String, by: JudgedBy) -> Self {
        Self {
            number,
            index,
            what: "the answer as a whole".to_owned(),
            outcome: Outcome::Fail,
            why,
            judged_by: by,
            judgement: true,
            warn_only: false,
        }
    }
}
