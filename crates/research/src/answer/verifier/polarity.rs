//! What two sentences with the same words can differ in: a negation, a direction, a condition.

use super::{
    ClaimProblem, ClaimProblemKind, Heuristic,
    evidence_comparison::ClaimEvidencePair,
    sentence_features::{SentenceFeatures, opposite_key},
    text::{
        lexicon::{self, WordForce},
        tokenizer::{LetterCase, TextTokenKind},
    },
};

/// Verbs that leave open what the next verb says.
const MODAL_VERBS: [&str; 4] = ["may", "might", "could", "would"];

/// Tokens after a word within which the word that it turns must come.
const TARGET_DISTANCE: usize = 4;

/// The opposite counts if its context fits better by this much than the context of the same.
const MIN_FIT_MARGIN: f64 = 0.15;

/// A difference in polarity.
#[derive(Debug, Clone)]
pub(crate) enum PolarityDifference {
    /// The window says the opposite.
    Opposite(ClaimProblem),
    /// The window leaves open what the claim states.
    Open(ClaimProblem),
    /// The claim says more, or it may.
    Unclear,
}

/// Finds what the window's clauses add to the words that a claim takes from them: a negation, a
/// rejection or a condition. Neither hides another.
pub(crate) fn find_omission(pair: &ClaimEvidencePair<'_>) -> Option<ClaimProblem> {
    let window = relevant_clauses(pair.claim, pair.window);
    let adds = |force: WordForce| {
        words_of_force(pair.claim, force, &|_| true).is_empty()
            && !words_of_force(pair.window, force, &window).is_empty()
    };
    let kinds = [
        (WordForce::Negates, ClaimProblemKind::Negation),
        (WordForce::Refutes, ClaimProblemKind::Refuted),
        (WordForce::Hedges, ClaimProblemKind::Condition),
    ];
    let (_, kind) = kinds.into_iter().find(|(force, _)| adds(*force))?;
    let instead = Some(pair.window_text.to_owned());
    Some(ClaimProblem::new(kind, pair.claim_text, instead))
}

/// Finds the gravest difference.
pub(crate) fn find_difference(pair: &ClaimEvidencePair<'_>) -> Option<PolarityDifference> {
    let on = |it: Heuristic| pair.corpus.heuristics.contains(it);
    let window = relevant_clauses(pair.claim, pair.window);
    let has = |force: WordForce| {
        let claimed = words_of_force(pair.claim, force, &|_| true);
        let said = words_of_force(pair.window, force, &window);
        (claimed, said)
    };
    let problem = |kind, at: Option<usize>, of: &SentenceFeatures, text: &str| {
        let shown = at.and_then(|at| of.span(at, (at + 4).min(of.tokens.len())));
        let shown = shown.and_then(|it| text.get(it)).unwrap_or(pair.claim_text);
        ClaimProblem::new(kind, shown, Some(pair.window_text.to_owned()))
    };
    if on(Heuristic::Negations) {
        let (claimed, said) = has(WordForce::Negates);
        if claimed.is_empty() != said.is_empty() {
            let kind = ClaimProblemKind::Negation;
            let problem = match claimed.first() {
                Some(&at) => problem(kind, Some(at), pair.claim, pair.claim_text),
                None => problem(kind, said.first().copied(), pair.window, pair.window_text),
            };
            return Some(PolarityDifference::Opposite(problem));
        }
    }
    let mut refuted = false;
    if on(Heuristic::Modality) {
        let (claimed, said) = has(WordForce::Refutes);
        refuted = !claimed.is_empty();
        if claimed.is_empty() != said.is_empty() {
            return Some(PolarityDifference::Opposite(problem(
                ClaimProblemKind::Refuted,
                None,
                pair.claim,
                pair.claim_text,
            )));
        }
    }
    if on(Heuristic::Directions)
        && let Some(problem) = find_reversed_direction(pair, &window)
    {
        return Some(PolarityDifference::Opposite(problem));
    }
    // What both call wrong is not left open.
    if on(Heuristic::Modality) && !refuted {
        let (hedged, open) = has(WordForce::Hedges);
        let (softened, soft) = has(WordForce::Softens);
        let is_plain = hedged.is_empty() && softened.is_empty();
        if is_plain && !open.is_empty() {
            return Some(PolarityDifference::Open(problem(
                ClaimProblemKind::Condition,
                None,
                pair.claim,
                pair.claim_text,
            )));
        }
        if is_plain && !soft.is_empty() {
            return Some(PolarityDifference::Unclear);
        }
    }
    if on(Heuristic::Quantifiers) {
        let (claimed, said) = has(WordForce::Quantifies);
        let word = |of: &SentenceFeatures, at: usize| of.token(at).map(|it| it.text.clone());
        let there: Vec<Option<String>> = said.iter().map(|&it| word(pair.window, it)).collect();
        if claimed
            .iter()
            .any(|&it| !there.contains(&word(pair.claim, it)))
        {
            return Some(PolarityDifference::Unclear);
        }
    }
    None
}

/// Whether a token of the window is in a clause that shares words with the claim: more than half as
/// many as the clause that shares the most, or the next word is one of the claim.
fn relevant_clauses<'a>(
    claim: &'a SentenceFeatures,
    window: &'a SentenceFeatures,
) -> impl Fn(usize) -> bool + 'a {
    let wanted = claim.key_set();
    let clauses = window.clause_ids.last().map_or(0, |it| *it as usize + 1);
    let mut shared = vec![0_usize; clauses];
    for (key, clause) in window.keys.iter().zip(&window.clause_ids) {
        if key.as_deref().is_some_and(|it| wanted.contains(it))
            && let Some(count) = shared.get_mut(*clause as usize)
        {
            *count += 1;
        }
    }
    let most = shared.iter().copied().max().unwrap_or_default();
    move |at| {
        let clause = window.clause_ids.get(at);
        let count = clause.and_then(|it| shared.get(*it as usize));
        let mut keys = window
            .keys
            .iter()
            .skip(at + 1)
            .take(TARGET_DISTANCE)
            .flatten();
        let turns_shared_word = keys
            .next()
            .is_some_and(|it| opposite_key(it).is_none() && wanted.contains(it.as_str()));
        // `They smoulder, and could burn`: a modal verb only concerns its own verb.
        let modal = window
            .token(at)
            .is_some_and(|it| MODAL_VERBS.contains(&it.text.as_str()));
        turns_shared_word || (!modal && count.is_some_and(|it| it * 2 > most || *it == most))
    }
}

/// The tokens with this force.
fn words_of_force(
    text: &SentenceFeatures,
    force: WordForce,
    within: &dyn Fn(usize) -> bool,
) -> Vec<usize> {
    let words = text.tokens.iter().enumerate();
    let words = words.filter(|(at, token)| {
        token.kind == TextTokenKind::Word
            && lexicon::force(&token.text) == Some(force)
            && !(token.text == "may" && token.case != LetterCase::Lower)
            && !(force == WordForce::Negates && is_no_negation(text, *at))
            && within(*at)
    });
    words.map(|(at, _)| at).collect()
}

/// Whether a negator bounds a number or belongs to a fixed phrase: `no more than 5`, `not only`,
/// `no-till`, `a failed test`.
fn is_no_negation(text: &SentenceFeatures, at: usize) -> bool {
    let word = |at: Option<usize>| at.and_then(|it| text.token(it)).map_or("", |it| &it.text);
    let next = word(Some(at + 1));
    let number = (at + 2..at + 4).any(|it| text.numbers.iter().any(|number| number.from == it));
    let own = word(Some(at));
    (own == "rather" && next != "than")
        || (own == "instead" && next != "of")
        || matches!(next, "only" | "just" | "merely" | "least" | "-" | "whether")
        || (number
            && matches!(
                next,
                "more"
                    | "fewer"
                    | "less"
                    | "later"
                    | "longer"
                    | "greater"
                    | "higher"
                    | "exceed"
                    | "exceeding"
                    | "exceeded"
            ))
        || (matches!(own, "failed" | "failing")
            && matches!(
                word(at.checked_sub(1)),
                "a" | "the" | "of" | "each" | "these" | "all"
            ))
}

/// Finds a word of direction in the claim that the window has only in the opposite direction, or
/// whose context fits the opposite better.
fn find_reversed_direction(
    pair: &ClaimEvidencePair<'_>,
    within: &dyn Fn(usize) -> bool,
) -> Option<ClaimProblem> {
    let (claim, window) = (pair.claim, pair.window);
    claim.directions.iter().find_map(|(at, direction)| {
        let around = claim.neighbors(*at, at + 1);
        let (mut same, mut opposite): (Option<f64>, Option<(f64, usize)>) = (None, None);
        for (there, other) in window.directions.iter().filter(|(it, _)| within(*it)) {
            if other.axis != direction.axis {
                continue;
            }
            let near = window.neighbors(*there, there + 1);
            let fits = pair.corpus.context_fit(&around, &near);
            if other.up == direction.up {
                same = Some(same.unwrap_or(0.0).max(fits));
            } else if opposite.is_none_or(|(best, _)| fits > best) {
                opposite = Some((fits, *there));
            }
        }
        let (against, there) = opposite?;
        if same.is_some_and(|same| against - same <= MIN_FIT_MARGIN) {
            return None;
        }
        let word = |of: &SentenceFeatures, text: &str, at: usize| {
            let span = of.span(at.saturating_sub(1), (at + 2).min(of.tokens.len()));
            span.and_then(|it| text.get(it)).map(str::to_owned)
        };
        Some(ClaimProblem::new(
            ClaimProblemKind::Direction,
            word(claim, pair.claim_text, *at).unwrap_or_default(),
            word(window, pair.window_text, there),
        ))
    })
}
