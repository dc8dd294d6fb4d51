//! Decides clear cases without a model, in eight languages: a text or a hint that names the way to
//! think, and trivial contents. Everything else is left to the router.

mod explicit;
mod phrases;
#[cfg(test)]
mod tests;
mod text;
mod trivial;

use std::collections::BTreeSet;

use deliberate_core::truncate_chars;

use super::mode_choice::ModeChoice;

/// The confidence of each decision of the rules.
const RULE_CONFIDENCE: f64 = 0.9;
/// The confidence of a mode that is named as an alternative without a figure.
pub(super) const ALTERNATIVE_CONFIDENCE: f64 = 0.5;

/// The decision of the rules.
#[derive(Debug, PartialEq)]
pub(super) struct RuleDecision {
    pub(super) choice: ModeChoice,
    pub(super) confidence: f64,
    pub(super) rationale: String,
    /// The mode that the content asks for next to a hint, with the rationale.
    pub(super) alternative: Option<(ModeChoice, String)>,
}

/// Decides if the case is clear. `may_return` tells whether the session has a checkpoint.
pub(super) fn decide(content: &str, hints: &[String], may_return: bool) -> Option<RuleDecision> {
    if hints.iter().any(|hint| explicit::has_negation(hint)) {
        return None;
    }
    let is_possible = |choice: ModeChoice| may_return || !choice.routing.requires_checkpoint;
    let requested = explicit::find_request(content);
    let requested = requested.filter(|(choice, _)| is_possible(*choice));
    let requested = requested.map(|(choice, words)| {
        let words = truncate_chars(&words, 60);
        (choice, format!("The content asks for it: \"{words}\"."))
    });
    let named = hints
        .iter()
        .filter_map(|hint| Some((explicit::find_in_hint(hint)?, hint)));
    let named: Vec<(ModeChoice, &String)> = named.collect();
    if let Some((choice, hint)) = named.first().copied() {
        let choices: BTreeSet<ModeChoice> = named.iter().map(|(choice, _)| *choice).collect();
        let hint = truncate_chars(hint.trim(), 60);
        return (choices.len() == 1 && is_possible(choice)).then(|| RuleDecision {
            choice,
            confidence: RULE_CONFIDENCE,
            rationale: format!("The hint \"{hint}\" names it."),
            alternative: requested.filter(|(other, _)| *other != choice),
        });
    }
    let (choice, rationale) = requested.or_else(|| {
        let why = trivial::trivial_reason(content)?;
        let why = format!("{why}; no reasoning tool is needed.");
        Some((ModeChoice::direct(), why))
    })?;
    Some(RuleDecision {
        choice,
        confidence: RULE_CONFIDENCE,
        rationale,
        alternative: None,
    })
}

/// Estimates the complexity of a problem, from 0 to 1, if no model has judged it: the typical value
/// of the mode, adjusted by the number of questions and clauses.
pub(super) fn estimate_complexity(choice: ModeChoice, content: &str) -> f64 {
    const PER_QUESTION: f64 = 0.05;
    const PER_CLAUSE: f64 = 0.01;
    /// The largest adjustment by questions and by clauses, each.
    const MAX_SHIFT: f64 = 0.1;
    let count = |marks: &[char]| content.chars().filter(|it| marks.contains(it)).count();
    let questions = count(&['?', '？', '؟']).saturating_sub(1) as f64 * PER_QUESTION;
    let clauses = count(&[',', ';', ':', '\n', '，', '；', '、', '：']) as f64 * PER_CLAUSE;
    let sum = choice.routing.complexity + questions.min(MAX_SHIFT) + clauses.min(MAX_SHIFT);
    (sum * 100.0).round() / 100.0
}
