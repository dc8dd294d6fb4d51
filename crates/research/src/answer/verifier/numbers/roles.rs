//! Roles of numbers, determined by the words before them: amount or endpoint of a change, spread,
//! or total.

use super::number::{Number, NumberRole};
use crate::answer::verifier::text::{lexicon, tokenizer::TextToken};

/// Tokens before `by 5` that are searched for a word of change.
const MAX_LOOKBACK: usize = 5;

/// Sets the role of each number of a text.
pub(crate) fn mark_roles(tokens: &[TextToken], numbers: &mut [Number]) {
    let ends: Vec<usize> = numbers.iter().map(|it| it.to).collect();
    for number in numbers {
        let before = tokens.get(..number.from).unwrap_or_default();
        number.role = find_role(before, &ends);
        number.is_of_all = word_before(before, 1).is_some_and(|it| matches!(it, "all" | "every"))
            || (word_before(before, 2) == Some("all") && word_before(before, 1) == Some("the"));
    }
}

fn word_before(before: &[TextToken], back: usize) -> Option<&str> {
    let at = before.len().checked_sub(back)?;
    before.get(at).map(|it| it.text.as_str())
}

fn find_role(before: &[TextToken], ends: &[usize]) -> NumberRole {
    let mild = |it: &str| {
        matches!(
            it,
            "about"
                | "approximately"
                | "around"
                | "roughly"
                | "nearly"
                | "almost"
                | "some"
                | "only"
                | "just"
                | "~"
                | "$"
                | "€"
                | "£"
        )
    };
    let skipped = before.iter().rev().take_while(|it| mild(&it.text)).count();
    let before = before.get(..before.len() - skipped).unwrap_or_default();
    let moves = || {
        let near = before.iter().rev().skip(1).take(MAX_LOOKBACK);
        near.into_iter()
            .any(|it| lexicon::direction(&it.text).is_some())
    };
    match word_before(before, 1) {
        Some("±") => NumberRole::Spread,
        Some("by") if moves() => NumberRole::Change,
        Some("to" | "from") if moves() => NumberRole::Endpoint,
        Some("of") if ends.contains(&(before.len() - 1)) => NumberRole::Total,
        Some("the" | "these" | "those" | "all")
            if word_before(before, 2) == Some("of") && ends.contains(&(before.len() - 2)) =>
        {
            NumberRole::Total
        }
        _ => NumberRole::Unspecified,
    }
}
