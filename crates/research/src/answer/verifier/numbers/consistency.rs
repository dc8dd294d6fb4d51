//! Checks that the numbers of a claim agree with its own words: more is more, and a rise ends
//! higher than it begins.

use super::number::{Number, NumberBound};
use crate::answer::verifier::{
    ClaimProblem, ClaimProblemKind, evidence_comparison::ClaimEvidencePair,
    sentence_features::SentenceFeatures,
};

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

/// Finds a comparison in the claim that its own numbers contradict.
pub(crate) fn find_self_contradiction(sides: &ClaimEvidencePair<'_>) -> Option<ClaimProblem> {
    let claim = sides.claim;
    claim.directions.iter().find_map(|(at, direction)| {
        if direction.axis != "amount" || claim.is_negated(*at) {
            return None;
        }
        let (first, second) = compared_numbers(claim, *at)
            .or_else(|| change_endpoints(claim, *at))
            .or_else(|| contrasted_numbers(claim, *at))?;
        let (one, other) = (first.value.to_f64(), second.value.to_f64());
        // In `lower at 3 than at 5` the first number is the lower one; in `rose from 3 to 5` the
        // second is the higher one.
        let from_to = change_endpoints(claim, *at).is_some();
        let rises = if from_to { other > one } else { one > other };
        let falls = if from_to { other < one } else { one < other };
        let wrong = if direction.up { falls } else { rises };
        wrong.then(|| {
            let text = |it: &Number| {
                let span = claim.span(it.from, it.to);
                span.and_then(|it| sides.claim_text.get(it))
                    .unwrap_or_default()
            };
            let word = claim.token(*at).map_or("", |it| it.text.as_str());
            let claimed = format!("{word}: {} and {}", text(first), text(second));
            ClaimProblem::new(ClaimProblemKind::Direction, claimed, None)
        })
    })
}

/// The numbers on both sides of `than`, if there is exactly one of the same unit on each.
fn compared_numbers(claim: &SentenceFeatures, at: usize) -> Option<(&Number, &Number)> {
    let part = claim.clause_ids.get(at);
    let word = |at: usize| claim.token(at).map_or("", |it| it.text.as_str());
    let than =
        (at + 1..at + 12).find(|&it| word(it) == "than" && claim.clause_ids.get(it) == part)?;
    let inside = |number: &&Number| claim.clause_ids.get(number.from) == part;
    let mut left = claim.numbers.iter().filter(inside);
    let mut right = left.clone().filter(|it| it.from > than);
    let first = left.find(|it| it.from > at && it.to <= than)?;
    let second = right.next()?;
    let plain = first.bound == NumberBound::Exact && second.bound == NumberBound::Exact;
    let alone = left.all(|it| it.from > than) && right.next().is_none();
    (plain && alone && first.unit == second.unit).then_some((first, second))
}

/// The numbers of `more errors, 5 against 3`, if there are no others.
fn contrasted_numbers(claim: &SentenceFeatures, at: usize) -> Option<(&Number, &Number)> {
    let [first, second] = claim.numbers.as_slice() else {
        return None;
    };
    let between = claim.tokens.get(first.to..second.from)?;
    let [word] = between else {
        return None;
    };
    let set = matches!(word.text.as_str(), "against" | "versus" | "vs");
    let only = claim
        .directions
        .iter()
        .filter(|(_, it)| it.axis == "amount");
    let fits = set && first.from > at && first.unit == second.unit && only.count() == 1;
    fits.then_some((first, second))
}

/// The numbers of `from 3 to 5` after a word of change.
fn change_endpoints(claim: &SentenceFeatures, at: usize) -> Option<(&Number, &Number)> {
    let word = |at: usize| claim.token(at).map_or("", |it| it.text.as_str());
    let from = (at + 1..at + 12).find(|&it| word(it) == "from")?;
    let first = claim.numbers.iter().find(|it| it.from == from + 1)?;
    if word(first.to) != "to" {
        return None;
    }
    let second = claim.numbers.iter().find(|it| it.from == first.to + 1)?;
    let between = claim
        .directions
        .iter()
        .any(|(it, _)| (at + 1..from).contains(it));
    (!between && first.unit == second.unit).then_some((first, second))
}
