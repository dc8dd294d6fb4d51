//! The clear cases, decided without asking anyone. A wrong decision costs far more than an ask, so
//! whatever is not clear is left to the router.

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

/// What a wish that was said in words is worth, a mode that was named, and a plain thing.
const INTENT_CONFIDENCE: f64 = 0.85;
const HINT_CONFIDENCE: f64 = 0.9;
const TRIVIAL_CONFIDENCE: f64 = 0.9;
/// What the content points to besides.
pub(super) const ALTERNATIVE_CONFIDENCE: f64 = 0.5;

/// What the rules say.
#[derive(Debug, PartialEq)]
pub(super) struct RuleDecision {
    pub(super) choice: ModeChoice,
    pub(super) confidence: f64,
    pub(super) rationale: String,
    /// What the content points to besides, and by what.
    pub(super) alternative: Option<(ModeChoice, String)>,
}

/// Decides, if it is clear. `may_return` says whether there is a checkpoint to return to.
pub(super) fn decide(content: &str, hints: &[String], may_return: bool) -> Option<RuleDecision> {
    if !hints.is_empty() {
        return decide_by_hints(content, hints, may_return);
    }
    if let Some(why) = trivial::trivial_reason(content) {
        return Some(RuleDecision {
            choice: ModeChoice::Direct,
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

/// Who names a mode has decided. Two names are no decision, and other hints are for the router.
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
    if choices.len() > 1 || (choice == ModeChoice::Backtracking && !may_return) {
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

/// How complex a problem is, from 0 to 1, when nobody has judged it: a coarse estimate by the kind
/// of problem, moved a little by how much is asked.
pub(super) fn estimate_complexity(choice: ModeChoice, content: &str) -> f64 {
    const PER_QUESTION: f64 = 0.05;
    const PER_CLAUSE: f64 = 0.01;
    /// Neither moves it farther than this.
    const MAX_SHIFT: f64 = 0.1;
    let kind = match choice {
        ModeChoice::Direct => 0.1,
        ModeChoice::Linear => 0.4,
        ModeChoice::Tree
        | ModeChoice::Divergent
        | ModeChoice::Reflection
        | ModeChoice::Backtracking => 0.5,
        ModeChoice::Got => 0.7,
    };
    let count = |marks: &[char]| content.chars().filter(|it| marks.contains(it)).count();
    let questions = count(&['?', '？', '؟']).saturating_sub(1) as f64 * PER_QUESTION;
    let clauses = count(&[',', ';', ':', '\n', '，', '；', '、', '：']) as f64 * PER_CLAUSE;
    let sum: f64 = kind + questions.min(MAX_SHIFT) + clauses.min(MAX_SHIFT);
    (sum * 100.0).round() / 100.0
}
