//! The clear cases, decided without asking anyone. A wrong decision costs far more than an ask, so
//! whatever is not clear is left to the router.

mod names;
mod plain;
#[cfg(test)]
mod tests;
mod text;
mod vocabulary;
mod wishes;

use std::collections::BTreeSet;

use deliberate_core::cut_to_chars;

use super::choice::Choice;

/// What a wish that was said in words is worth, a mode that was named, and a plain thing.
const OF_A_WISH: f64 = 0.85;
const OF_A_NAME: f64 = 0.9;
const OF_PLAIN_THINGS: f64 = 0.9;
/// What the content points to besides.
pub(super) const OF_OTHERS: f64 = 0.5;

/// What the rules say.
#[derive(Debug, PartialEq)]
pub(super) struct Ruling {
    pub(super) choice: Choice,
    pub(super) confidence: f64,
    pub(super) rationale: String,
    /// What the content points to besides, and by what.
    pub(super) other: Option<(Choice, String)>,
}

/// Decides, if it is clear. `may_return` says whether there is a checkpoint to return to.
pub(super) fn decide(content: &str, hints: &[String], may_return: bool) -> Option<Ruling> {
    if !hints.is_empty() {
        return by_name(content, hints, may_return);
    }
    if let Some(why) = plain::plain(content) {
        return Some(Ruling {
            choice: Choice::Direct,
            confidence: OF_PLAIN_THINGS,
            rationale: format!("{why}; no reasoning tool is needed."),
            other: None,
        });
    }
    let (choice, words) = wishes::wish(content)?;
    Some(Ruling {
        choice,
        confidence: OF_A_WISH,
        rationale: asks_for(&words),
        other: None,
    })
}

/// Who names a mode has decided. Two names are no decision, and other hints are for the router.
fn by_name(content: &str, hints: &[String], may_return: bool) -> Option<Ruling> {
    if hints.iter().any(|hint| wishes::hesitates(hint)) {
        return None;
    }
    let named = hints
        .iter()
        .filter_map(|hint| Some((names::named_by(hint)?, hint)));
    let named: Vec<(Choice, &String)> = named.collect();
    let choices: BTreeSet<Choice> = named.iter().map(|(choice, _)| *choice).collect();
    let (choice, hint) = *named.first()?;
    if choices.len() > 1 || (choice == Choice::Backtracking && !may_return) {
        return None;
    }
    let wish = wishes::wish(content).filter(|(wished, _)| *wished != choice);
    Some(Ruling {
        choice,
        confidence: OF_A_NAME,
        rationale: format!("The hint \"{}\" names it.", cut_to_chars(hint.trim(), 60)),
        other: wish.map(|(wished, words)| (wished, asks_for(&words))),
    })
}

fn asks_for(words: &str) -> String {
    format!("The content asks for it: \"{words}\".")
}

/// How complex a problem is, from 0 to 1, when nobody has judged it: a coarse estimate by the kind
/// of problem, moved a little by how much is asked.
pub(super) fn complexity(choice: Choice, content: &str) -> f64 {
    const OF_A_QUESTION: f64 = 0.05;
    const OF_A_CLAUSE: f64 = 0.01;
    /// Neither moves it farther than this.
    const FARTHEST: f64 = 0.1;
    let kind = match choice {
        Choice::Direct => 0.1,
        Choice::Linear => 0.4,
        Choice::Tree | Choice::Divergent | Choice::Reflection | Choice::Backtracking => 0.5,
        Choice::Got => 0.7,
    };
    let count = |marks: &[char]| content.chars().filter(|it| marks.contains(it)).count();
    let questions = count(&['?', '？', '؟']).saturating_sub(1) as f64 * OF_A_QUESTION;
    let clauses = count(&[',', ';', ':', '\n', '，', '；', '、', '：']) as f64 * OF_A_CLAUSE;
    let sum: f64 = kind + questions.min(FARTHEST) + clauses.min(FARTHEST);
    (sum * 100.0).round() / 100.0
}
