//! Looks at an answer, criterion by criterion. What can be computed is computed; what can't is
//! said to be open. A criterion that can't be looked at is never taken for a pass.

use std::collections::BTreeMap;

use super::{
    Chosen, CriterionResult, GateResult, JudgedBy, Outcome,
    budget::Budget,
    citation,
    compliance::{self, Shown},
    outcome::enforcement,
    pattern,
    schema::{self, Fit},
    wording::in_words,
};
use crate::model::{Criterion, CriterionKind, Methodology};

/// What is said of a command that may not be run.
pub const NOT_ALLOWED: &str = "commands and scripts are not allowed here; the operator can allow \
                               them, one by one, in the settings of the prompt engine";

/// How much of a methodology is enough if nobody says.
const ENOUGH: f64 = 0.5;

/// The most patterns or words of one criterion.
const MOST_PATTERNS: usize = 100;

/// What a command or a script said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// What it came to.
    pub outcome: Outcome,
    /// Why: the end of its output, or why it was not run.
    pub why: String,
}

/// What an answer is looked at with.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context<'a> {
    /// The methodology in use.
    pub methodology: Option<&'a Methodology>,
    /// Finds a methodology that a criterion names.
    pub library: Option<&'a crate::library::Library>,
    /// What the commands and scripts said: by gate id and the criterion's number in it, from 1.
    pub ran: Option<&'a BTreeMap<(String, usize), Ran>>,
}

/// What is found.
pub(super) struct Finding {
    outcome: Outcome,
    why: String,
    judgement: bool,
    warn_only: bool,
}

/// Looks at an answer with all gates of a step. All of them together are looked at within one
/// bound; what goes beyond it can't be told.
pub fn check_all(gates: &[Chosen], answer: &str, with: &Context<'_>) -> Vec<GateResult> {
    let mut budget = Budget::default();
    results(gates, |criterion, key| {
        look(criterion, answer, with, key, &mut budget)
    })
}

/// The results of all gates, of which `look` says what is found of one criterion: by gate id and
/// the criterion's number in it, from 1.
pub(super) fn results(
    gates: &[Chosen],
    mut look: impl FnMut(&Criterion, &(String, usize)) -> Finding,
) -> Vec<GateResult> {
    let mut first = 1;
    gates
        .iter()
        .map(|chosen| {
            let result = result(chosen, first, &mut look);
            first += result.criteria.len();
            result
        })
        .collect()
}

/// Looks at an answer with one gate, whose criteria are numbered from `first`.
pub fn check(chosen: &Chosen, first: usize, answer: &str, with: &Context<'_>) -> GateResult {
    let mut budget = Budget::default();
    result(chosen, first, &mut |criterion, key| {
        look(criterion, answer, with, key, &mut budget)
    })
}

fn result(
    chosen: &Chosen,
    first: usize,
    look: &mut impl FnMut(&Criterion, &(String, usize)) -> Finding,
) -> GateResult {
    let gate = &chosen.gate;
    let criteria = gate.criteria.iter().enumerate().map(|(at, criterion)| {
        let found = look(criterion, &(gate.id.clone(), at + 1));
        CriterionResult {
            number: first + at,
            index: at + 1,
            what: in_words(criterion),
            judged_by: if found.outcome == Outcome::CannotTell {
                JudgedBy::Nobody
            } else {
                JudgedBy::Server
            },
            outcome: found.outcome,
            why: found.why,
            judgement: found.judgement,
            warn_only: found.warn_only,
        }
    });
    let mut result = GateResult {
        gate: gate.id.clone(),
        name: gate.name.clone(),
        source: chosen.source,
        enforcement: enforcement(chosen),
        strict: gate.evaluation.as_ref().is_some_and(|it| it.strict),
        max_attempts: gate.retry.max_attempts,
        hints: gate.retry.improvement_hints,
        criteria: criteria.collect(),
        outcome: Outcome::Pass,
    };
    result.settle();
    result
}

fn look(
    criterion: &Criterion,
    answer: &str,
    with: &Context<'_>,
    key: &(String, usize),
    budget: &mut Budget,
) -> Finding {
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
                return open();
            }
            let mut tally = Tally::new(budget);
            tally.length(answer, *min_length, *max_length);
            tally.patterns(answer, required_patterns, true);
            tally.patterns(answer, forbidden_patterns, false);
            tally.end()
        }
        CriterionKind::PatternCheck {
            regex_patterns,
            keyword_count,
        } => {
            if regex_patterns.is_empty() && keyword_count.is_empty() {
                return open();
            }
            let mut tally = Tally::new(budget);
            tally.patterns(answer, regex_patterns, true);
            tally.words(answer, keyword_count);
            tally.end()
        }
        CriterionKind::SchemaCheck { schema } => {
            if let Err(why) = budget.take(answer) {
                return unknown(why);
            }
            match schema::fit(schema, answer) {
                Fit::Fits => computed(true, "the JSON fits".to_owned()),
                Fit::Not(why) => computed(false, why),
                Fit::Broken(why) => unknown(why),
            }
        }
        CriterionKind::CitationCheck { min_citations } => {
            if let Err(why) = budget.take(answer) {
                return unknown(why);
            }
            let found = citation::count(answer);
            computed(
                found >= *min_citations as usize,
                format!("{found} source(s) named, at least {min_citations} wanted"),
            )
        }
        CriterionKind::LlmSelfCheck { .. } => open(),
        CriterionKind::MethodologyCompliance { .. } => compliance(criterion, answer, with, budget),
        CriterionKind::ShellVerify(_) | CriterionKind::ScriptTool { .. } => {
            match with.ran.and_then(|ran| ran.get(key)) {
                Some(ran) => Finding {
                    outcome: ran.outcome,
                    why: ran.why.clone(),
                    judgement: false,
                    warn_only: false,
                },
                None => unknown(NOT_ALLOWED.to_owned()),
            }
        }
    }
}

fn compliance(
    criterion: &Criterion,
    answer: &str,
    with: &Context<'_>,
    budget: &mut Budget,
) -> Finding {
    let CriterionKind::MethodologyCompliance {
        methodology,
        min_compliance_score,
        quality_indicators,
        severity,
    } = &criterion.kind
    else {
        return open();
    };
    let named = methodology.as_deref().filter(|name| !name.is_empty());
    let meant = match (named, with.library) {
        (Some(name), Some(library)) => library.methodology(name).map(|it| &**it),
        _ => with.methodology,
    };
    let wanted = min_compliance_score.unwrap_or(ENOUGH).clamp(0.0, 1.0);
    let found = match compliance::shown(meant, quality_indicators, answer, budget) {
        Shown::Nothing => open(),
        Shown::Broken(why) => unknown(why),
        Shown::Part(score, missing) => {
            let mut why = format!("{score:.2} of the phases show, at least {wanted:.2} wanted");
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
            computed(score >= wanted, why)
        }
    };
    Finding {
        warn_only: severity
            .as_deref()
            .is_some_and(|it| it.eq_ignore_ascii_case("warn")),
        ..found
    }
}

/// What is wrong, and what could not be looked at.
struct Tally<'a> {
    budget: &'a mut Budget,
    wrong: Vec<String>,
    broken: Vec<String>,
}

impl<'a> Tally<'a> {
    const fn new(budget: &'a mut Budget) -> Self {
        Self {
            budget,
            wrong: Vec::new(),
            broken: Vec::new(),
        }
    }

    fn length(&mut self, answer: &str, least: Option<usize>, most: Option<usize>) {
        let length = answer.chars().count();
        if let Some(least) = least.filter(|least| length < *least) {
            self.wrong
                .push(format!("{length} characters, at least {least} wanted"));
        }
        if let Some(most) = most.filter(|most| length > *most) {
            self.wrong
                .push(format!("{length} characters, at most {most} wanted"));
        }
    }

    fn patterns(&mut self, answer: &str, patterns: &[String], wanted: bool) {
        self.bound(patterns.len());
        for text in patterns.iter().take(MOST_PATTERNS) {
            if !self.may_look(answer) {
                return;
            }
            match pattern::matches(text, answer) {
                Err(why) => self.broken.push(why),
                Ok(found) if found != wanted => {
                    let says = if wanted { "does not match" } else { "matches" };
                    self.wrong
                        .push(format!("the answer {says} `{}`", pattern::shown(text)));
                }
                Ok(_) => {}
            }
        }
    }

    fn words(&mut self, answer: &str, words: &BTreeMap<String, u32>) {
        self.bound(words.len());
        for (word, least) in words.iter().take(MOST_PATTERNS) {
            if !self.may_look(answer) {
                return;
            }
            match pattern::count(answer, word) {
                Err(why) => self.broken.push(why),
                Ok(times) if times < *least as usize => self.wrong.push(format!(
                    "`{}` occurs {times} time(s), at least {least} wanted",
                    pattern::shown(word)
                )),
                Ok(_) => {}
            }
        }
    }

    fn may_look(&mut self, answer: &str) -> bool {
        match self.budget.take(answer) {
            Ok(()) => true,
            Err(why) => {
                self.broken.push(why);
                false
            }
        }
    }

    fn bound(&mut self, there: usize) {
        if there > MOST_PATTERNS {
            self.broken.push(format!(
                "only the first {MOST_PATTERNS} patterns are looked for"
            ));
        }
    }

    /// What is wrong weighs more than what could not be looked at.
    fn end(self) -> Finding {
        if !self.wrong.is_empty() {
            computed(false, self.wrong.join("; "))
        } else if !self.broken.is_empty() {
            unknown(self.broken.join("; "))
        } else {
            computed(true, "as wanted".to_owned())
        }
    }
}

fn computed(passed: bool, why: String) -> Finding {
    Finding {
        outcome: if passed { Outcome::Pass } else { Outcome::Fail },
        why,
        judgement: false,
        warn_only: false,
    }
}

pub(super) fn unknown(why: String) -> Finding {
    Finding {
        outcome: Outcome::CannotTell,
        why,
        judgement: false,
        warn_only: false,
    }
}

fn open() -> Finding {
    Finding {
        judgement: true,
        ..unknown("not judged yet".to_owned())
    }
}
