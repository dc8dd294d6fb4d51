//! Detects claims that state as a fact what the window refutes or leaves open. A claim that repeats
//! the condition or the rejection is correct.

use super::modality::{Modality, is_hedged_alike};
use crate::answer::verifier::{
    ClaimProblem, ClaimProblemKind,
    evidence_comparison::{ClaimEvidencePair, Discrepancies},
    numbers::equality::{NumberMatch, compare_numbers as same},
    sentence_features::SentenceFeatures,
};

/// A claim relies on qualified text if at least this share of it is only there.
const MIN_MODAL_SHARE: f64 = 0.2;

/// A claim calls something wrong if it does so for at least this share of its words.
const MIN_REFUTED_SHARE: f64 = 0.5;

pub(crate) fn compare(sides: &ClaimEvidencePair<'_>, findings: &mut Discrepancies) {
    let problem =
        |kind| ClaimProblem::new(kind, sides.claim_text, Some(sides.window_text.to_owned()));
    let refuted = sides.claim.has_modality(Modality::Refuted);
    if !refuted && relies_on_modality(sides, Modality::Refuted) {
        findings.conflicts.push(problem(ClaimProblemKind::Refuted));
    }
    let open = refuted
        || sides.claim.has_modality(Modality::Hypothetical)
        || is_hedged_alike(&sides.claim.tokens, &sides.window.tokens);
    if !open && relies_on_modality(sides, Modality::Hypothetical) {
        findings.missing.push(problem(ClaimProblemKind::Condition));
    }
    let denied =
        sides.window.has_modality(Modality::Refuted) || !sides.window.negation_targets.is_empty();
    if refuted
        && !denied
        && share_only_in_modality(sides, sides.claim, Modality::Refuted) >= MIN_REFUTED_SHARE
    {
        findings.conflicts.push(problem(ClaimProblemKind::Refuted));
    }
}

/// Whether the window contains the claim only in this modality.
fn relies_on_modality(sides: &ClaimEvidencePair<'_>, frame: Modality) -> bool {
    let window = sides.window;
    if !window.has_modality(frame) {
        return false;
    }
    let number = sides.claim.numbers.iter().any(|mine| {
        let there = window.numbers.iter();
        let mut there = there
            .filter(|it| same(mine, it) == NumberMatch::Same)
            .peekable();
        there.peek().is_some() && there.all(|it| window.modality(it.from) == Some(frame))
    });
    number || share_only_in_modality(sides, window, frame) >= MIN_MODAL_SHARE
}

/// Weighted share of the claim's words that a text contains only in this modality.
fn share_only_in_modality(
    sides: &ClaimEvidencePair<'_>,
    text: &SentenceFeatures,
    frame: Modality,
) -> f64 {
    let (mut all, mut alone) = (0.0, 0.0);
    for key in sides.claim.key_set() {
        let weight = sides.corpus.word_weight(key);
        all += weight;
        let places = text.keys.iter().enumerate();
        let mut places = places
            .filter(|(_, it)| it.as_deref() == Some(key))
            .map(|(at, _)| text.modality(at) == Some(frame))
            .peekable();
        if places.peek().is_some() && places.all(|it| it) {
            alone += weight;
        }
    }
    if all > 0.0 { alone / all } else { 0.0 }
}
