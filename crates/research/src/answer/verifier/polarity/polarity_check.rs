//! Detects claims that reverse a statement: its negation, its direction, or the order of a
//! comparison.

use std::collections::{HashMap, HashSet};

use crate::answer::verifier::{
    ClaimProblem, ClaimProblemKind, Heuristic,
    corpus::Corpus,
    evidence_comparison::{ClaimEvidencePair, Discrepancies},
    numbers::consistency,
    sentence_features::SentenceFeatures,
    text::lexicon::{self, AxisDirection},
};

/// The opposite counts if its context fits better by this much than the context of the same.
const MIN_FIT_MARGIN: f64 = 0.15;

/// Minimum context fit for two negations with different words to be the same.
const MIN_NEGATION_FIT: f64 = 0.3;

/// Minimum context fit for `more` to be compared with `better`.
const MIN_RELATED_AXIS_FIT: f64 = 0.45;

pub(crate) fn compare(sides: &ClaimEvidencePair<'_>, findings: &mut Discrepancies) {
    compare_negation(sides, findings);
    if sides
        .corpus
        .heuristics
        .contains(Heuristic::SelfContradiction)
    {
        let own = consistency::find_self_contradiction(sides);
        findings.conflicts.extend(own);
    }
    for (at, direction) in &sides.claim.directions {
        if let Some(problem) = find_reversed_direction(sides, *at, *direction) {
            findings.conflicts.push(problem);
        }
    }
}

/// Adds a conflict if only one side negates a shared statement.
fn compare_negation(sides: &ClaimEvidencePair<'_>, findings: &mut Discrepancies) {
    let (claim, window) = (sides.claim, sides.window);
    let found = claim
        .negation_targets
        .iter()
        .any(|it| is_negated_on_one_side(sides.corpus, claim, it, window))
        || window
            .negation_targets
            .iter()
            .any(|it| is_negated_on_one_side(sides.corpus, window, it, claim));
    let unmatched = || {
        sides
            .corpus
            .heuristics
            .contains(Heuristic::UnmatchedNegations)
            && has_unmatched_negation(claim, window)
    };
    if found || unmatched() {
        let shown = first_negated_text(sides.claim_text, claim)
            .or_else(|| first_negated_text(sides.window_text, window))
            .unwrap_or_default();
        let problem = ClaimProblem::new(ClaimProblemKind::Negation, shown, None);
        findings.conflicts.push(problem);
    }
}

/// Whether the claim negates something while the window has neither a negation nor a word that
/// implies one.
fn has_unmatched_negation(claim: &SentenceFeatures, window: &SentenceFeatures) -> bool {
    let negative = |word: &str| {
        let direction = lexicon::direction(word);
        direction.is_some_and(|it| !it.up) || lexicon::is_implicit_negative(word)
    };
    !claim.negation_targets.is_empty()
        && window.negation_targets.is_empty()
        && !window.tokens.iter().any(|it| negative(&it.text))
}

/// Whether the other side contains the target of a negation and does not negate it.
fn is_negated_on_one_side(
    corpus: &Corpus,
    text: &SentenceFeatures,
    denial: &[usize],
    other: &SentenceFeatures,
) -> bool {
    let mut shared = false;
    for (place, &at) in denial.iter().enumerate() {
        let Some(there) = counterpart(corpus, text, at, other) else {
            // Both sides negate, in different words.
            let around = text.neighbors(at, at + 1);
            let mut denials = other.negation_targets.iter();
            if place == 0
                && denials.any(|it| is_about_unknown_word(corpus, other, it, text, &around))
            {
                return false;
            }
            continue;
        };
        if other.is_negated(there) || is_near_negation(other, there) {
            return false;
        }
        // Count it only if the other side's word belongs to this place and not to another one.
        shared |= counterpart(corpus, other, there, text) == Some(at);
    }
    shared
}

/// Whether the word is nearly negated: `little effect`, `added little`.
fn is_near_negation(text: &SentenceFeatures, at: usize) -> bool {
    let word = |at: usize| text.token(at).map_or("", |it| it.text.as_str());
    (at.saturating_sub(2)..=at + 1).any(|it| {
        matches!(word(it), "little" | "few" | "rarely" | "seldom")
            && it.checked_sub(1).is_none_or(|it| word(it) != "a")
    })
}

/// Whether the main target of a negation is missing in the other text, and the context of the
/// negation fits `around`.
fn is_about_unknown_word(
    corpus: &Corpus,
    text: &SentenceFeatures,
    denial: &[usize],
    other: &SentenceFeatures,
    around: &HashMap<&str, f64>,
) -> bool {
    denial.first().is_some_and(|&at| {
        counterpart(corpus, text, at, other).is_none()
            && corpus.context_fit(around, &text.neighbors(at, at + 1)) >= MIN_NEGATION_FIT
    })
}

/// The same word in the other text; if it occurs several times, the one with the best context fit.
fn counterpart(
    corpus: &Corpus,
    text: &SentenceFeatures,
    at: usize,
    other: &SentenceFeatures,
) -> Option<usize> {
    let key = text.keys.get(at)?.as_deref()?;
    let around = text.neighbors(at, at + 1);
    let places = other.keys.iter().enumerate();
    let places = places.filter(|(_, it)| it.as_deref() == Some(key));
    places
        .map(|(there, _)| {
            (
                corpus.context_fit(&around, &other.neighbors(there, there + 1)),
                there,
            )
        })
        .max_by(|one, two| one.0.total_cmp(&two.0))
        .map(|(_, there)| there)
}

/// The first negated part of a text, with its negator.
fn first_negated_text(text: &str, analysis: &SentenceFeatures) -> Option<String> {
    let from = analysis.negated.iter().position(|it| *it)?;
    let to = (from + 3).min(analysis.tokens.len());
    let span = analysis.span(from.saturating_sub(2), to)?;
    text.get(span).map(str::to_owned)
}

/// Finds a problem if a word of direction in the claim points opposite to the window.
fn find_reversed_direction(
    sides: &ClaimEvidencePair<'_>,
    at: usize,
    direction: AxisDirection,
) -> Option<ClaimProblem> {
    let (claim, window) = (sides.claim, sides.window);
    let around = claim.neighbors(at, at + 1);
    let denied = claim.is_negated(at);
    let (mut same, mut opposite): (Option<f64>, Option<(f64, usize)>) = (None, None);
    let own = |axis: &str| axis == direction.axis;
    let any_own = window.directions.iter().any(|(_, it)| own(it.axis));
    for (there, other) in &window.directions {
        let fits = sides
            .corpus
            .context_fit(&around, &window.neighbors(*there, there + 1));
        let comparable = own(other.axis)
            || (!any_own
                && sides.corpus.heuristics.contains(Heuristic::RelatedAxes)
                && fits >= MIN_RELATED_AXIS_FIT
                && are_related_axes(direction.axis, other.axis, claim));
        if !comparable || is_repeated_elsewhere(claim, at, window, *there) {
            continue;
        }
        // The negation check handles words that only one side negates.
        if window.is_negated(*there) != denied {
            continue;
        }
        let crossed = sides.corpus.heuristics.contains(Heuristic::ComparisonSides)
            && !lexicon::is_category_axis(direction.axis)
            && are_sides_crossed(claim, at, window, *there);
        let agrees = other.up == direction.up;
        // `A is above B` says the same as `B is below A`.
        if agrees != crossed {
            same = Some(same.unwrap_or(0.0).max(fits));
        } else if opposite.is_none_or(|(best, _)| fits > best) {
            opposite = Some((fits, *there));
        }
    }
    let (against, there) = opposite?;
    let kind = lexicon::is_category_axis(direction.axis);
    let worse = same.is_none_or(|same| !kind && against - same > MIN_FIT_MARGIN);
    if !worse {
        return None;
    }
    let word = |of: &SentenceFeatures, text: &str, at: usize| {
        let span = of.span(at.saturating_sub(1), (at + 2).min(of.tokens.len()));
        span.and_then(|it| text.get(it)).map(str::to_owned)
    };
    let kind = match window.directions.iter().find(|(it, _)| *it == there) {
        Some((_, other)) if other.up == direction.up => ClaimProblemKind::Order,
        _ => ClaimProblemKind::Direction,
    };
    let claimed = word(claim, sides.claim_text, at).unwrap_or_default();
    Some(ClaimProblem::new(
        kind,
        claimed,
        word(window, sides.window_text, there),
    ))
}

/// Whether directions on two axes can contradict each other: a gain is an increase, and more of
/// something is usually better.
fn are_related_axes(one: &str, other: &str, claim: &SentenceFeatures) -> bool {
    match (one, other) {
        ("amount", "keeping" | "aware" | "expense")
        | ("keeping" | "aware" | "expense", "amount") => true,
        ("amount", "quality") | ("quality", "amount") => is_all_desirable(claim),
        _ => false,
    }
}

/// Whether the claim contains nothing of which less is better.
fn is_all_desirable(claim: &SentenceFeatures) -> bool {
    !claim
        .tokens
        .iter()
        .any(|it| lexicon::is_undesirable(&it.text))
}

/// Whether the claim contains the same word elsewhere, so that it has its own counterpart: `low` in
/// `wages of low-paid workers fell`.
fn is_repeated_elsewhere(
    claim: &SentenceFeatures,
    at: usize,
    window: &SentenceFeatures,
    there: usize,
) -> bool {
    let Some(word) = window.token(there).map(|it| &it.text) else {
        return false;
    };
    let count = |of: &SentenceFeatures| of.tokens.iter().filter(|it| it.text == *word).count();
    claim.token(at).is_some_and(|it| it.text != *word)
        && count(claim) > 0
        && count(claim) >= count(window)
}

/// Whether the sides of one comparison are exchanged in the other.
fn are_sides_crossed(
    claim: &SentenceFeatures,
    at: usize,
    window: &SentenceFeatures,
    there: usize,
) -> bool {
    let (Some((left, right)), Some((said_left, said_right))) =
        (comparison_sides(claim, at), comparison_sides(window, there))
    else {
        return false;
    };
    let exchanged = |one: &HashSet<&str>, other: &HashSet<&str>, not: &HashSet<&str>| {
        one.iter().any(|it| other.contains(it) && !not.contains(it))
    };
    exchanged(&left, &said_right, &said_left)
        && exchanged(&right, &said_left, &said_right)
        && !exchanged(&right, &said_right, &said_left)
}

/// Verbs that compare their subject with their object.
const COMPARISON_VERBS: &[&str] = &[
    "outperform",
    "outperforms",
    "outperformed",
    "surpass",
    "surpasses",
    "surpassed",
    "exceed",
    "exceeds",
    "exceeded",
    "beat",
    "beats",
    "precede",
    "preceded",
    "precedes",
    "underperformed",
    "trailed",
    "lagged",
];

/// The words on both sides of `than`, or of a verb of comparison.
fn comparison_sides(text: &SentenceFeatures, at: usize) -> Option<(HashSet<&str>, HashSet<&str>)> {
    let part = text.clause_ids.get(at);
    let word = |at: usize| text.token(at).map_or("", |it| it.text.as_str());
    let verb = COMPARISON_VERBS.contains(&word(at));
    let middle = if verb {
        at
    } else {
        let than =
            (at + 1..at + 12).find(|&it| word(it) == "than" && text.clause_ids.get(it) == part)?;
        // In `benefited less than` the word `less` makes the comparison.
        let mut between = text.directions.iter();
        if between.any(|(it, _)| (at + 1..than).contains(it)) {
            return None;
        }
        than
    };
    let pick = |range: std::ops::Range<usize>| -> HashSet<&str> {
        let keys = text.keys.iter().enumerate().skip(range.start);
        keys.take(range.len())
            .filter(|(at, _)| text.clause_ids.get(*at) == part)
            .filter_map(|(_, key)| key.as_deref())
            .collect()
    };
    let (left, right) = (pick(0..middle), pick(middle + 1..text.tokens.len()));
    let is_done = verb
        && word(middle + 1) == "by"
        && (1..=3).any(|back| {
            let word = at.checked_sub(back).map(word);
            matches!(word, Some("was" | "were" | "is" | "are" | "been" | "be"))
        });
    Some(if is_done {
        (right, left)
    } else {
        (left, right)
    })
}
