//! Decides clear cases without a model. A wrong decision costs far more than a model request, so
//! everything that is not clear is left to the router.

mod explicit_hints;
mod intents;
#[cfg(test)]
mod tests;
mod text;
mod trivial;
mod vocabulary;

use std::collections::BTreeSet;

use deliberate_core::truncate_chars;

use super::mode_choice::ModeChoice;
pub(crate) use vocabulary::{CODE_WORDS, IntentPattern};

/// The confidence of a decision by an instruction, by a hint that names a mode, and by a trivial
/// content.
const INTENT_CONFIDENCE: f64 = 0.85;
const HINT_CONFIDENCE: f64 = 0.9;
const TRIVIAL_CONFIDENCE: f64 = 0.9;
/// The confidence of the mode that the content asks for next to a hint.
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
    if !hints.is_empty() {
        return decide_by_hints(content, hints, may_return);
    }
    if let Some(why) = trivial::trivial_reason(content) {
        return Some(RuleDecision {
            choice: ModeChoice::direct(),
            confidence: TRIVIAL_CONFIDENCE,
            rationale: format!("{why}; no reasoning tool is needed."),
            alternative: None,
        });
    }
    let (choice, words) = intents::detect_intent(content)?;
    Some(RuleDecision {
        choice,
        confidence: INTENT_CONFIDENCE,
        rationale: intent_rationale(&words),
        alternative: None,
    })
}

/// Decides by a hint that names a mode. Hints that name two modes, and all other hints, are left to
/// the router.
fn decide_by_hints(content: &str, hints: &[String], may_return: bool) -> Option<RuleDecision> {
    if hints.iter().any(|hint| intents::has_negation(hint)) {
        return None;
    }
    let named = hints
        .iter()
        .filter_map(|hint| Some((explicit_hints::mode_from_hint(hint)?, hint)));
    let named: Vec<(ModeChoice, &String)> = named.collect();
    let choices: BTreeSet<ModeChoice> = named.iter().map(|(choice, _)| *choice).collect();
    let (choice, hint) = *named.first()?;
    if choices.len() > 1 || (choice.routing.requires_checkpoint && !may_return) {
        return None;
    }
    let wish = intents::detect_intent(content).filter(|(wished, _)| *wished != choice);
    Some(RuleDecision {
        choice,
        confidence: HINT_CONFIDENCE,
        rationale: format!("The hint \"{}\" names it.", truncate_chars(hint.trim(), 60)),
        alternative: wish.map(|(wished, words)| (wished, intent_rationale(&words))),
    })
}

fn intent_rationale(words: &str) -> String {
    format!("The content asks for it: \"{words}\".")
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
