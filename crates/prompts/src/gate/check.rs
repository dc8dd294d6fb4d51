//! Checks an answer criterion by criterion. Criteria that code can compute are computed; the others
//! stay open. A criterion that cannot be checked never counts as passed.

use std::collections::BTreeMap;

use super::{
    CheckOutcome, CriterionResult, GateResult, JudgedBy, SelectedGate,
    check_budget::CheckBudget,
    criteria::{
        citation,
        description::describe_criterion,
        json_schema::{self, SchemaMatch},
        methodology::{self, ComplianceScore},
        pattern,
    },
    decision::enforcement,
};
use crate::model::{Criterion, CriterionKind, Methodology};

/// The reason given for a command that may not be run.
pub const COMMANDS_NOT_ALLOWED: &str = "commands and scripts are not allowed here; the operator \
                                        can allow them, one by one, in the settings of the prompt \
                                        engine";

/// The compliance score that a methodology needs when the criterion sets none.
const DEFAULT_MIN_COMPLIANCE: f64 = 0.5;

/// The most patterns or keywords of one criterion.
const MAX_PATTERNS: usize = 100;

/// The result of a command or script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalCheckResult {
    pub outcome: CheckOutcome,
    /// The end of its output, or the reason why it was not run.
    pub reason: String,
}

/// The methodologies and external results that a check needs.
#[derive(Debug, Clone, Copy, Default)]
pub struct CheckContext<'a> {
    pub methodology: Option<&'a Methodology>,
    /// The library in which a methodology named by a criterion is looked up.
    pub library: Option<&'a crate::library::PromptLibrary>,
    /// The results of commands and scripts, by gate id and the criterion's number in the gate, from
    /// 1.
    pub external_results: Option<&'a BTreeMap<(String, usize), ExternalCheckResult>>,
}

pub(super) struct CriterionFinding {
    outcome: CheckOutcome,
    reason: String,
    is_judgment: bool,
    warn_only: bool,
}

/// Checks an answer against all gates of a step. All gates share one budget; criteria beyond it
/// cannot be told.
pub fn check_all(gates: &[SelectedGate], answer: &str, with: &CheckContext<'_>) -> Vec<GateResult> {
    let mut budget = CheckBudget::default();
    gate_results(gates, |criterion, key| {
        check_criterion(criterion, answer, with, key, &mut budget)
    })
}

/// Builds the results of all gates. `look` checks one criterion, given the gate id and the
/// criterion's number in the gate, from 1.
pub(super) fn gate_results(
    gates: &[SelectedGate],
    mut look: impl FnMut(&Criterion, &(String, usize)) -> CriterionFinding,
) -> Vec<GateResult> {
    let mut first = 1;
    gates
        .iter()
        .map(|gate| {
            let result = gate_result(gate, first, &mut look);
            first += result.criteria.len();
            result
        })
        .collect()
}

fn gate_result(
    selected_gate: &SelectedGate,
    first: usize,
    look: &mut impl FnMut(&Criterion, &(String, usize)) -> CriterionFinding,
) -> GateResult {
    let gate = &selected_gate.gate;
    let criteria = gate.criteria.iter().enumerate().map(|(at, criterion)| {
        let found = look(criterion, &(gate.id.clone(), at + 1));
        CriterionResult {
            number: first + at,
            index: at + 1,
            what: describe_criterion(criterion),
            judged_by: if found.outcome == CheckOutcome::CannotTell {
                JudgedBy::Nobody
            } else {
                JudgedBy::Server
            },
            outcome: found.outcome,
            why: found.reason,
            judgement: found.is_judgment,
            warn_only: found.warn_only,
        }
    });
    let mut result = GateResult {
        gate: gate.id.clone(),
        name: gate.name.clone(),
        source: selected_gate.source,
        enforcement: enforcement(selected_gate),
        strict: gate.evaluation.as_ref().is_some_and(|it| it.strict),
        max_attempts: gate.retry.max_attempts,
        hints: gate.retry.improvement_hints,
        criteria: criteria.collect(),
        outcome: CheckOutcome::Pass,
    };
    result.update_outcome();
    result
}

fn check_criterion(
    criterion: &Criterion,
    answer: &str,
    with: &CheckContext<'_>,
    key: &(String, usize),
    budget: &mut CheckBudget,
) -> CriterionFinding {
    match &criterion.kind {
        CriterionKind::ContentCheck {
            min_length,
            max_length,
            required_patterns,
            forbidden_patterns,
        } => {
            let nothing = min_length.is_none()
                && max_length.is_none()
                && required_patterns.is_empty()
                && forbidden_patterns.is_empty();
            if nothing {
                return open_finding();
            }
            let mut tally = CriterionChecker::new(budget);
            tally.check_length(answer, *min_length, *max_length);
            tally.check_patterns(answer, required_patterns, true);
            tally.check_patterns(answer, forbidden_patterns, false);
            tally.into_finding()
        }
        CriterionKind::PatternCheck {
            regex_patterns,
            keyword_count,
        } => {
            if regex_patterns.is_empty() && keyword_count.is_empty() {
                return open_finding();
            }
            let mut tally = CriterionChecker::new(budget);
            tally.check_patterns(answer, regex_patterns, true);
            tally.check_keywords(answer, keyword_count);
            tally.into_finding()
        }
        CriterionKind::SchemaCheck { schema } => {
            if let Err(why) = budget.take(answer) {
                return unknown_finding(why);
            }
            match json_schema::match_schema(schema, answer) {
                SchemaMatch::Valid => {
                    computed_finding(true, "the JSON matches the schema".to_owned())
                }
                SchemaMatch::Invalid(why) => computed_finding(false, why),
                SchemaMatch::BadSchema(why) => unknown_finding(why),
            }
        }
        CriterionKind::CitationCheck { min_citations } => {
            if let Err(why) = budget.take(answer) {
                return unknown_finding(why);
            }
            let found = citation::count_sources(answer);
            computed_finding(
                found >= *min_citations as usize,
                format!("{found} source(s) named, at least {min_citations} needed"),
            )
        }
        CriterionKind::LlmSelfCheck { .. } => open_finding(),
        CriterionKind::MethodologyCompliance { .. } => {
            check_compliance(criterion, answer, with, budget)
        }
        CriterionKind::ShellVerify(_) | CriterionKind::ScriptTool { .. } => {
            match with.external_results.and_then(|ran| ran.get(key)) {
                Some(result) => CriterionFinding {
                    outcome: result.outcome,
                    reason: result.reason.clone(),
                    is_judgment: false,
                    warn_only: false,
                },
                None => unknown_finding(COMMANDS_NOT_ALLOWED.to_owned()),
            }
        }
    }
}

fn check_compliance(
    criterion: &Criterion,
    answer: &str,
    with: &CheckContext<'_>,
    budget: &mut CheckBudget,
) -> CriterionFinding {
    let CriterionKind::MethodologyCompliance {
        methodology,
        min_compliance_score,
        quality_indicators,
        severity,
    } = &criterion.kind
    else {
        return open_finding();
    };
    let named = methodology.as_deref().filter(|name| !name.is_empty());
    let meant = match (named, with.library) {
        (Some(name), Some(library)) => library.methodology(name).map(|it| &**it),
        _ => with.methodology,
    };
    let wanted = min_compliance_score
        .unwrap_or(DEFAULT_MIN_COMPLIANCE)
        .clamp(0.0, 1.0);
    let found = match methodology::score_compliance(meant, quality_indicators, answer, budget) {
        ComplianceScore::NotComputable => open_finding(),
        ComplianceScore::Invalid(why) => unknown_finding(why),
        ComplianceScore::Scored(score, missing) => {
            let mut why = format!("{score:.2} of the phases found, at least {wanted:.2} needed");
            if !missing.is_empty() {
                why.push_str(": ");
                why.push_str(
                    &missing
                        .iter()
                        .take(8)
                        .cloned()
                        .collect::<Vec<_>>()
                        .join("; "),
                );
            }
            computed_finding(score >= wanted, why)
        }
    };
    CriterionFinding {
        warn_only: severity
            .as_deref()
            .is_some_and(|it| it.eq_ignore_ascii_case("warn")),
        ..found
    }
}

/// Collects the failures of one criterion and the checks that could not be made.
struct CriterionChecker<'a> {
    budget: &'a mut CheckBudget,
    failures: Vec<String>,
    errors: Vec<String>,
}

impl<'a> CriterionChecker<'a> {
    const fn new(budget: &'a mut CheckBudget) -> Self {
        Self {
            budget,
            failures: Vec::new(),
            errors: Vec::new(),
        }
    }

    fn check_length(&mut self, answer: &str, least: Option<usize>, most: Option<usize>) {
        let length = answer.chars().count();
        if let Some(least) = least.filter(|least| length < *least) {
            self.failures
                .push(format!("{length} characters, at least {least} needed"));
        }
        if let Some(most) = most.filter(|most| length > *most) {
            self.failures
                .push(format!("{length} characters, at most {most} allowed"));
        }
    }

    fn check_patterns(&mut self, answer: &str, patterns: &[String], wanted: bool) {
        self.check_pattern_count(patterns.len());
        for text in patterns.iter().take(MAX_PATTERNS) {
            if !self.take_budget(answer) {
                return;
            }
            match pattern::matches(text, answer) {
                Err(why) => self.errors.push(why),
                Ok(found) if found != wanted => {
                    let says = if wanted { "does not match" } else { "matches" };
                    self.failures.push(format!(
                        "the answer {says} `{}`",
                        pattern::display_pattern(text)
                    ));
                }
                Ok(_) => {}
            }
        }
    }

    fn check_keywords(&mut self, answer: &str, words: &BTreeMap<String, u32>) {
        self.check_pattern_count(words.len());
        for (word, least) in words.iter().take(MAX_PATTERNS) {
            if !self.take_budget(answer) {
                return;
            }
            match pattern::count_phrase(answer, word) {
                Err(why) => self.errors.push(why),
                Ok(times) if times < *least as usize => self.failures.push(format!(
                    "`{}` occurs {times} time(s), at least {least} needed",
                    pattern::display_pattern(word)
                )),
                Ok(_) => {}
            }
        }
    }

    fn take_budget(&mut self, answer: &str) -> bool {
        match self.budget.take(answer) {
            Ok(()) => true,
            Err(why) => {
                self.errors.push(why);
                false
            }
        }
    }

    fn check_pattern_count(&mut self, there: usize) {
        if there > MAX_PATTERNS {
            self.errors.push(format!(
                "only the first {MAX_PATTERNS} patterns are checked"
            ));
        }
    }

    /// Turns the tally into a finding. A failure outweighs a check that could not be made.
    fn into_finding(self) -> CriterionFinding {
        if !self.failures.is_empty() {
            computed_finding(false, self.failures.join("; "))
        } else if !self.errors.is_empty() {
            unknown_finding(self.errors.join("; "))
        } else {
            computed_finding(true, "as wanted".to_owned())
        }
    }
}

fn computed_finding(passed: bool, why: String) -> CriterionFinding {
    CriterionFinding {
        outcome: if passed {
            CheckOutcome::Pass
        } else {
            CheckOutcome::Fail
        },
        reason: why,
        is_judgment: false,
        warn_only: false,
    }
}

pub(super) fn unknown_finding(why: String) -> CriterionFinding {
    CriterionFinding {
        outcome: CheckOutcome::CannotTell,
        reason: why,
        is_judgment: false,
        warn_only: false,
    }
}

fn open_finding() -> CriterionFinding {
    CriterionFinding {
        is_judgment: true,
        ..unknown_finding("not judged yet".to_owned())
    }
}
