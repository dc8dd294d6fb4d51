//! Pairs of numbers in a text.

use super::number::Number;
use crate::answer::verifier::sentence_features::SentenceFeatures;

/// Whether `other` follows `one` directly: `3 to 5`, `3% versus 5%`.
pub(crate) fn are_adjacent(text: &SentenceFeatures, one: &Number, other: &Number) -> bool {
    let between = text.tokens.get(one.to..other.from);
    between.is_some_and(|it| {
        (1..=2).contains(&it.len())
            && it.iter().all(|it| {
                matches!(
                    it.text.as_str(),
                    "to" | "and" | "versus" | "vs" | "against" | "–" | "-" | "," | "or"
                )
            })
    })
}
