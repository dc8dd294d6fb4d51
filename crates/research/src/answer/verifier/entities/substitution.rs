//! Detects a claim that equals a sentence except for one noun, because no list of names is
//! complete.

use crate::answer::verifier::{
    ClaimProblem, ClaimProblemKind,
    evidence_comparison::{ClaimEvidencePair, Discrepancies},
    sentence_features::SentenceFeatures,
    text::{lexicon, tokenizer::TextTokenKind},
};

/// Words that precede nouns.
const PRECEDING_WORDS: &[&str] = &[
    "the", "a", "an", "of", "in", "on", "at", "with", "by", "from", "for", "into", "between",
    "among", "and", "or", "per", "via", "through", "during", "near", "no", "without",
];

/// Share of the rest of the claim that the sentence must contain.
const MIN_REST_OVERLAP: f64 = 0.9;

pub(crate) fn compare(sides: &ClaimEvidencePair<'_>, findings: &mut Discrepancies) {
    let (claim, window) = (sides.claim, sides.window);
    let there = window.key_set();
    for at in 0..claim.tokens.len() {
        let Some(key) = entity_key(claim, at).filter(|it| !sides.corpus.contains_word(it)) else {
            continue;
        };
        let mut rest = claim.key_set();
        rest.remove(key);
        let own = claim.key_set();
        if rest.len() < 3 || sides.corpus.overlap(&rest, &there) < MIN_REST_OVERLAP {
            continue;
        }
        let edges = |of: &SentenceFeatures, at: usize| {
            let word = |at: Option<usize>| at.and_then(|it| of.token(it)).map(|it| it.text.clone());
            (word(at.checked_sub(1)), word(Some(at + 1)))
        };
        let rival = (0..window.tokens.len()).find(|&it| {
            let other = entity_key(window, it).filter(|it| !own.contains(it));
            other.is_some() && edges(window, it) == edges(claim, at)
        });
        let shown = |of: &SentenceFeatures, text: &str, at: usize| {
            let span = of.span(at, at + 1)?;
            text.get(span).map(str::to_owned)
        };
        if let Some(rival) = rival {
            let claimed = shown(claim, sides.claim_text, at).unwrap_or_default();
            let instead = shown(window, sides.window_text, rival);
            findings
                .conflicts
                .push(ClaimProblem::new(ClaimProblemKind::Name, claimed, instead));
        }
    }
}

/// The match key of a token if it is a lower-case word in the position of a noun, between function
/// words.
fn entity_key(text: &SentenceFeatures, at: usize) -> Option<&str> {
    let token = text.token(at).filter(|it| it.kind == TextTokenKind::Word)?;
    let before = text.token(at.checked_sub(1)?)?;
    let placed =
        PRECEDING_WORDS.contains(&before.text.as_str()) || before.kind == TextTokenKind::Number;
    let next = text.token(at + 1);
    let ends =
        next.is_none_or(|it| it.kind == TextTokenKind::Break || lexicon::is_stop_word(&it.text));
    let noun = token.text.chars().count() >= 4 && lexicon::direction(&token.text).is_none();
    let key = text.keys.get(at)?.as_deref()?;
    (placed && ends && noun).then_some(key)
}
