//! Whether a claim turns round what the sentences say: what is denied, which way things go, and
//! who does it to whom.

use std::collections::{HashMap, HashSet};

use crate::answer::verifier::{
    ClaimProblem, ClaimProblemKind,
    corpus::Corpus,
    evidence_comparison::{ClaimEvidencePair, Discrepancies},
    numbers::consistency,
    sentence_features::SentenceFeatures,
    text::lexicon::{self, AxisDirection},
};

/// How much better the surroundings of the opposite must fit than those of the same.
const MIN_FIT_MARGIN: f64 = 0.15;

/// How well surroundings must fit for two negations to be the same in other words.
const MIN_NEGATION_FIT: f64 = 0.3;

/// How well surroundings must fit for `more` to be compared with `better`.
const MIN_RELATED_AXIS_FIT: f64 = 0.45;

pub(crate) fn compare(sides: &ClaimEvidencePair<'_>, findings: &mut Discrepancies) {
    compare_negation(sides, findings);
    findings
        .conflicts
        .extend(consistency::find_self_contradiction(sides));
    for (at, direction) in &sides.claim.directions {
        if let Some(problem) = find_reversed_direction(sides, *at, *direction) {
            findings.conflicts.push(problem);
        }
    }
}

/// What one side denies and the other does not.
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
    if found || has_unmatched_negation(claim, window) {
        let shown = first_negated_text(sides.claim_text, claim)
            .or_else(|| first_negated_text(sides.window_text, window))
            .unwrap_or_default();
        let problem = ClaimProblem::new(ClaimProblemKind::Negation, shown, None);
        findings.conflicts.push(problem);
    }
}

/// Whether a claim denies something, and the sentences neither deny anything nor have a word that
/// could be told as a denial.
fn has_unmatched_negation(claim: &SentenceFeatures, window: &SentenceFeatures) -> bool {
    let negative = |word: &str| {
        let direction = lexicon::direction(word);
        direction.is_some_and(|it| !it.up) || lexicon::is_implicit_negative(word)
    };
    !claim.negation_targets.is_empty()
        && window.negation_targets.is_empty()
        && !window.tokens.iter().any(|it| negative(&it.text))
}

/// Whether the other side speaks of what a negation is about, and denies none of it.
fn is_negated_on_one_side(
    corpus: &Corpus,
    text: &SentenceFeatures,
    denial: &[usize],
    other: &SentenceFeatures,
) -> bool {
    let mut shared = false;
    for (place, &at) in denial.iter().enumerate() {
        let Some(there) = counterpart(corpus, text, at, other) else {
            // Both deny, each in words of its own.
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
        // What the other side says belongs to another place, which is not denied.
        shared |= counterpart(corpus, other, there, text) == Some(at);
    }
    shared
}

/// `little effect`, `added little`: hardly any, though it is not denied.
fn is_near_negation(text: &SentenceFeatures, at: usize) -> bool {
    let word = |at: usize| text.token(at).map_or("", |it| it.text.as_str());
    (at.saturating_sub(2)..=at + 1).any(|it| {
        matches!(word(it), "little" | "few" | "rarely" | "seldom")
            && it.checked_sub(1).is_none_or(|it| word(it) != "a")
    })
}

/// Whether a negation is first about something that the other text has no word for, among the
/// words that stand around the other's own.
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

/// Where the other text speaks of the same, among the same words if it does so more than once.
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

/// The first stretch of a text that is denied, with what denies it.
fn first_negated_text(text: &str, analysis: &SentenceFeatures) -> Option<String> {
    let from = analysis.negated.iter().position(|it| *it)?;
    let to = (from + 3).min(analysis.tokens.len());
    let span = analysis.span(from.saturating_sub(2), to)?;
    text.get(span).map(str::to_owned)
}

/// Whether a word of direction in the claim goes against the sentences.
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
                && fits >= MIN_RELATED_AXIS_FIT
                && are_related_axes(direction.axis, other.axis, claim));
        if !comparable || is_repeated_elsewhere(claim, at, window, *there) {
            continue;
        }
        // What is denied on one side alone is told by the negation.
        if window.is_negated(*there) != denied {
            continue;
        }
        let crossed = !lexicon::is_category_axis(direction.axis)
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

/// Whether two axes can speak against each other: what is gained becomes more, and more of
/// something is mostly better.
fn are_related_axes(one: &str, other: &str, claim: &SentenceFeatures) -> bool {
    match (one, other) {
        ("amount", "keeping" | "aware" | "expense")
        | ("keeping" | "aware" | "expense", "amount") => true,
        ("amount", "quality") | ("quality", "amount") => is_all_desirable(claim),
        _ => false,
    }
}

/// Whether a claim speaks of nothing that is better the less there is of it.
fn is_all_desirable(claim: &SentenceFeatures) -> bool {
    !claim
        .tokens
        .iter()
        .any(|it| lexicon::is_undesirable(&it.text))
}

/// Whether the claim has that very word elsewhere, where it has its own counterpart: `low` in
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

/// Whether what stands on one side of a comparison stands on the other side of another one.
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

/// Verbs that compare what stands before them with what stands behind.
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

/// What is compared with what: the two sides of `than`, or of a verb that compares.
fn comparison_sides(text: &SentenceFeatures, at: usize) -> Option<(HashSet<&str>, HashSet<&str>)> {
    let part = text.clause_ids.get(at);
    let word = |at: usize| text.token(at).map_or("", |it| it.text.as_str());
    let verb = COMPARISON_VERBS.contains(&word(at));
    let middle = if verb {
        at
    } else {
        let than =
            (at + 1..at + 12).find(|&it| word(it) == "than" && text.clause_ids.get(it) == part)?;
        // `benefited less than`: it is `less` that compares.
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
