//! Clauses, words of direction, and the scope of negations.

use super::negative_prefixes::strip_negative_prefix;
use crate::answer::verifier::text::{
    lexicon::{self, AxisDirection},
    tokenizer::{LetterCase, TextToken, TextTokenKind},
};

/// Tokens that a negation reaches.
const NEGATION_WINDOW: usize = 8;

/// Words that a negation negates at most, and those of them that are its main targets.
const MAX_NEGATED: usize = 3;
const MAX_NEGATION_TARGETS: usize = 2;

/// Whether a new subject follows the word.
fn is_contrast_word(word: &str) -> bool {
    matches!(
        word,
        "but" | "while" | "whereas" | "although" | "though" | "however" | "yet" | "despite"
    )
}

/// The number of the clause that each token belongs to.
pub(crate) fn clause_ids(tokens: &[TextToken]) -> Vec<u32> {
    let mut part = 0;
    let mut all = Vec::with_capacity(tokens.len());
    for token in tokens {
        let strong = token.kind == TextTokenKind::Break
            && matches!(token.text.as_str(), ";" | "." | "—" | "?" | "!");
        if strong || (token.kind == TextTokenKind::Word && is_contrast_word(&token.text)) {
            part += 1;
        }
        all.push(part);
    }
    all
}

/// Finds the words of direction. `less strongly` is one, and points opposite to `strongly`.
pub(crate) fn find_directions(tokens: &[TextToken]) -> Vec<(usize, AxisDirection)> {
    let of = |at: usize| {
        let token = tokens.get(at).filter(|it| it.kind == TextTokenKind::Word)?;
        lexicon::direction(&token.text)
    };
    let degree = |at: usize| {
        let word = tokens.get(at).map_or("", |it| it.text.as_str());
        match word {
            "more" | "most" => Some(true),
            "less" | "least" => Some(false),
            _ => None,
        }
    };
    let mut all = Vec::new();
    for at in 0..tokens.len() {
        let Some(direction) = of(at) else {
            continue;
        };
        // In `more strongly` only `strongly` counts.
        let of_another = degree(at).is_some() && of(at + 1).is_some_and(|it| it.axis != "amount");
        if of_another {
            continue;
        }
        // `at least 5` bounds a number and has no direction.
        let back = at.checked_sub(1).and_then(|it| tokens.get(it));
        if degree(at).is_some() && back.is_some_and(|it| it.text == "at") {
            continue;
        }
        let before = at.checked_sub(1).and_then(degree);
        // `never exceeded 5` means `stayed below 5`.
        let bounds = at.checked_sub(1).is_some_and(|it| {
            tokens
                .get(it)
                .is_some_and(|it| lexicon::is_negator(&it.text))
                && bounds_number(tokens, it)
        });
        let turned = bounds || (before == Some(false) && direction.axis != "amount");
        let up = direction.up != turned;
        all.push((at, AxisDirection { up, ..direction }));
    }
    all
}

fn ends_negation(token: &TextToken) -> bool {
    let stop = matches!(token.text.as_str(), "," | ";" | ")" | "." | "—" | ":");
    token.kind == TextTokenKind::Break && stop
        || token.kind == TextTokenKind::Word && is_contrast_word(&token.text)
}

/// Whether a negator bounds a number instead of negating: `no more than 5`.
fn bounds_number(tokens: &[TextToken], at: usize) -> bool {
    let word = |at: usize| tokens.get(at).map_or("", |it| it.text.as_str());
    let more = matches!(
        word(at + 1),
        "more" | "greater" | "higher" | "longer" | "larger"
    );
    let exceeds = matches!(word(at + 1), "exceed" | "exceeding" | "exceeded");
    let number = |at: usize| {
        tokens
            .get(at)
            .is_some_and(|it| it.kind == TextTokenKind::Number)
    };
    (more && word(at + 2) == "than" && number(at + 3)) || (exceeds && number(at + 2))
}

/// Whether the word is an attribute: `a failed test` is a kind of test, `the test failed to tell`
/// is a negation.
fn is_attribute(tokens: &[TextToken], at: usize) -> bool {
    let word = |at: usize| tokens.get(at).map_or("", |it| it.text.as_str());
    let back = at.checked_sub(1);
    let number = back
        .and_then(|it| tokens.get(it))
        .is_some_and(|it| it.kind == TextTokenKind::Number);
    let before = back.map_or("", word);
    let of_noun = matches!(
        before,
        "a" | "an" | "the" | "of" | "each" | "every" | "these" | "those" | "all"
    );
    matches!(word(at), "failed" | "failing")
        && (of_noun || number)
        && tokens
            .get(at + 1)
            .is_some_and(|it| it.kind == TextTokenKind::Word)
        && !lexicon::is_stop_word(word(at + 1))
}

/// Whether the words exclude what follows: `rather than X`, `instead of X`.
fn excludes_alternative(tokens: &[TextToken], at: usize) -> bool {
    let word = |at: usize| tokens.get(at).map_or("", |it| it.text.as_str());
    matches!(
        (word(at), word(at + 1)),
        ("rather", "than") | ("instead", "of")
    )
}

/// Whether a word negates what follows it.
fn is_negation(tokens: &[TextToken], at: usize, called_wrong: &dyn Fn(usize) -> bool) -> bool {
    let word = |at: usize| tokens.get(at).map_or("", |it| it.text.as_str());
    let (own, next) = (word(at), word(at + 1));
    let in_small = tokens
        .get(at)
        .is_some_and(|it| it.case == LetterCase::Lower);
    // `no-till` is a farming method, and `PAS` is a stain.
    let other = (own == "no" && next == "-") || (own == "pas" && !in_small);
    let told = matches!(own, "refute" | "refuted") && called_wrong(at);
    lexicon::is_negator(own)
        && !other
        && !is_attribute(tokens, at)
        && !told
        && !bounds_number(tokens, at)
        && !matches!(
            next,
            "only" | "just" | "merely" | "least" | "fewer" | "less"
        )
}

/// Finds the negated tokens, and the main targets of each negation. `called_wrong` says whether the
/// text calls a token wrong: then `refuted` expresses the same and is not a second negation.
pub(crate) fn find_negations(
    tokens: &[TextToken],
    keys: &[Option<String>],
    called_wrong: &dyn Fn(usize) -> bool,
    prefixes: bool,
) -> (Vec<bool>, Vec<Vec<usize>>) {
    let mut all = vec![false; tokens.len()];
    let mut denials = Vec::new();
    let mut aside = Vec::new();
    let has_key = |at: &usize| keys.get(*at).is_some_and(Option::is_some);
    let mut mark = |denied: Vec<usize>, most: usize| {
        for at in &denied {
            if let Some(it) = all.get_mut(*at) {
                *it = true;
            }
        }
        if !denied.is_empty() {
            denials.push(denied.into_iter().take(most).collect());
        }
    };
    for (at, token) in tokens.iter().enumerate() {
        if token.kind != TextTokenKind::Word {
            continue;
        }
        let backwards = || {
            let from = at.saturating_sub(NEGATION_WINDOW);
            let before = tokens.get(from..at).unwrap_or_default();
            let stop = before.iter().rposition(ends_negation);
            stop.map_or(from, |it| from + it + 1)..at + 1
        };
        let scope = || {
            let reach = tokens.iter().skip(at + 1).take(NEGATION_WINDOW);
            let reach = reach.take_while(|it| !ends_negation(it)).count();
            at + 1..at + 1 + reach
        };
        if excludes_alternative(tokens, at) {
            // It is negated, but a claim that omits it says the same.
            aside.extend(scope().filter(has_key).take(MAX_NEGATION_TARGETS));
        } else if is_negation(tokens, at, called_wrong) {
            // In `neither A nor B did it` the negated words come last.
            let reaches_far = matches!(token.text.as_str(), "neither" | "nor" | "none");
            let (count, most) = if reaches_far {
                (NEGATION_WINDOW, NEGATION_WINDOW)
            } else {
                (MAX_NEGATED, MAX_NEGATION_TARGETS)
            };
            let denied: Vec<usize> = scope().filter(has_key).take(count).collect();
            if denied.is_empty() {
                // In `X was not.` the negated words come first.
                let before = backwards().rev().filter(has_key).take(MAX_NEGATED);
                mark(before.collect(), MAX_NEGATION_TARGETS);
            } else {
                mark(denied, most);
            }
        } else if matches!(
            token.text.as_str(),
            "unchanged" | "unaffected" | "unaltered" | "undetectable" | "unrelated"
        ) {
            let before = backwards().rev().filter(has_key).take(MAX_NEGATED);
            mark(before.collect(), MAX_NEGATION_TARGETS);
        } else if prefixes && strip_negative_prefix(&token.text).is_some() && has_key(&at) {
            mark(vec![at], 1);
        }
    }
    for at in aside {
        if let Some(it) = all.get_mut(at) {
            *it = true;
        }
    }
    (all, denials)
}
