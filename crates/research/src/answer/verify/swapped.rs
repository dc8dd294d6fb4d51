//! A thing put in the place of another in a sentence that is else the same: no list of names has
//! all of them.

use super::{
    Problem, ProblemKind,
    analysis::Analysis,
    compare::{Findings, Sides},
    lexicon,
    tokens::Kind,
};

/// Words before things.
const BEFORE: &[&str] = &[
    "the", "a", "an", "of", "in", "on", "at", "with", "by", "from", "for", "into", "between",
    "among", "and", "or", "per", "via", "through", "during", "near", "no", "without",
];

/// How much of the rest of the claim must stand there.
const ELSE_THE_SAME: f64 = 0.9;

pub(super) fn compare(sides: &Sides<'_>, findings: &mut Findings) {
    let (claim, window) = (sides.claim, sides.window);
    let there = window.key_set();
    for at in 0..claim.tokens.len() {
        let Some(key) = thing(claim, at).filter(|it| !sides.corpus.has(it)) else {
            continue;
        };
        let mut rest = claim.key_set();
        rest.remove(key);
        let own = claim.key_set();
        if rest.len() < 3 || sides.corpus.overlap(&rest, &there) < ELSE_THE_SAME {
            continue;
        }
        let edges = |of: &Analysis, at: usize| {
            let word = |at: Option<usize>| at.and_then(|it| of.token(it)).map(|it| it.text.clone());
            (word(at.checked_sub(1)), word(Some(at + 1)))
        };
        let rival = (0..window.tokens.len()).find(|&it| {
            let other = thing(window, it).filter(|it| !own.contains(it));
            other.is_some() && edges(window, it) == edges(claim, at)
        });
        let shown = |of: &Analysis, text: &str, at: usize| {
            let span = of.span(at, at + 1)?;
            text.get(span).map(str::to_owned)
        };
        if let Some(rival) = rival {
            let claimed = shown(claim, sides.text, at).unwrap_or_default();
            let instead = shown(window, sides.said, rival);
            findings
                .conflicts
                .push(Problem::new(ProblemKind::Name, claimed, instead));
        }
    }
}

/// What a token is matched by, if it is a word in lower case where things stand: between words of
/// grammar.
fn thing(text: &Analysis, at: usize) -> Option<&str> {
    let token = text.token(at).filter(|it| it.kind == Kind::Word)?;
    let before = text.token(at.checked_sub(1)?)?;
    let placed = BEFORE.contains(&before.text.as_str()) || before.kind == Kind::Number;
    let next = text.token(at + 1);
    let ends = next.is_none_or(|it| it.kind == Kind::Break || lexicon::is_light(&it.text));
    let noun = token.text.chars().count() >= 4 && lexicon::direction(&token.text).is_none();
    let key = text.keys.get(at)?.as_deref()?;
    (placed && ends && noun).then_some(key)
}
