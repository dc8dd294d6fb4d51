//! What a stretch of text says, taken apart: its words by what they are matched by, its numbers,
//! its names, which way its words point, and what in it is negated.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use super::{
    denied::denied,
    frames::{Frame, frames},
    lexicon::{self, Direction},
    marks::{directions, negated, parts},
    number::Number,
    numerals::numbers,
    stem::stem,
    terms::is_term,
    tokens::{Case, Kind, Token, tokens},
};

/// A text taken apart.
#[derive(Debug, Clone, Default)]
pub(super) struct Analysis {
    pub(super) tokens: Vec<Token>,
    pub(super) numbers: Vec<Number>,
    /// What each token is matched by; nothing for those that say nothing of the matter.
    pub(super) keys: Vec<Option<String>>,
    /// Whether each token is negated.
    pub(super) negated: Vec<bool>,
    /// For each negation, the tokens that it is most about.
    pub(super) denials: Vec<Vec<usize>>,
    /// Which part of the text each token is in; parts end where another thing is spoken of.
    pub(super) parts: Vec<u32>,
    /// Tokens that are names.
    pub(super) names: Vec<usize>,
    /// Tokens that may be names: they begin a sentence, and nobody knows them as words.
    pub(super) maybe_names: Vec<usize>,
    /// Tokens that point one way or the other.
    pub(super) directions: Vec<(usize, Direction)>,
    /// How each token is held: as a fact, or called wrong, or left open.
    frames: Vec<Option<Frame>>,
}

/// How far around a token its neighbours are looked at.
const NEIGHBOURS: usize = 10;

/// At this distance a neighbour counts for half.
const HALF_AWAY: f64 = 4.0;

/// What is known of a word from elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// It is written as a name.
    Name,
    /// It is written as a common word.
    Word,
    /// Nothing.
    Nothing,
}

impl Analysis {
    /// Takes a text apart. `known` says what a word in lower case is elsewhere.
    pub(super) fn of(text: &str, known: &dyn Fn(&str) -> Known) -> Self {
        let tokens = tokens(text);
        let numbers = numbers(text, &tokens);
        let in_number = in_numbers(&tokens, &numbers);
        let keys: Vec<Option<String>> = tokens
            .iter()
            .zip(&in_number)
            .map(|(token, in_number)| key(token, *in_number))
            .collect();
        let (names, maybe_names) = names(&tokens, &in_number, known);
        let frames = frames(&tokens);
        let wrong = |at: usize| frames.get(at).copied().flatten() == Some(Frame::Refuted);
        let (negated, denials) = negated(&tokens, &keys, &wrong);
        Self {
            directions: directions(&tokens),
            frames,
            negated,
            denials,
            parts: parts(&tokens),
            names,
            maybe_names,
            keys,
            numbers,
            tokens,
        }
    }

    /// Each thing it speaks of, once.
    pub(super) fn key_set(&self) -> HashSet<&str> {
        self.keys.iter().flatten().map(String::as_str).collect()
    }

    /// What stands around tokens, in the same part of the text, and how near, 0 to 1.
    pub(super) fn around(&self, from: usize, to: usize) -> HashMap<&str, f64> {
        let part = self.parts.get(from);
        let start = from.saturating_sub(NEIGHBOURS);
        let mut near = HashMap::new();
        let keys = self.keys.iter().enumerate().skip(start);
        for (at, key) in keys.take(to + NEIGHBOURS - start) {
            if (from..to).contains(&at) || self.parts.get(at) != part {
                continue;
            }
            let away = if at < from { from - at } else { at + 1 - to };
            let nearness = HALF_AWAY / (HALF_AWAY + away as f64);
            if let Some(key) = key {
                let best: &mut f64 = near.entry(key.as_str()).or_default();
                *best = best.max(nearness);
            }
        }
        near
    }

    pub(super) fn token(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at)
    }

    pub(super) fn frame(&self, at: usize) -> Option<Frame> {
        self.frames.get(at).copied().flatten()
    }

    pub(super) fn has_frame(&self, frame: Frame) -> bool {
        self.frames.contains(&Some(frame))
    }

    pub(super) fn is_negated(&self, at: usize) -> bool {
        self.negated.get(at).copied().unwrap_or(false)
    }

    /// The bytes that tokens take up.
    pub(super) fn span(&self, from: usize, to: usize) -> Option<Range<usize>> {
        let first = self.tokens.get(from)?;
        let last = self.tokens.get(to.checked_sub(1)?)?;
        Some(first.start..last.end.max(first.start))
    }

    /// Whether a name, in lower case, is among its words.
    pub(super) fn has_name(&self, name: &str) -> bool {
        // `under-25s` are those under 25.
        let number = name
            .strip_suffix('s')
            .filter(|it| it.parse::<u32>().is_ok());
        if number.is_some_and(|number| self.tokens.iter().any(|it| it.text == number)) {
            return true;
        }
        let mut forms = None;
        self.tokens.iter().filter(|it| it.is_wordy()).any(|it| {
            let plain = bare(&it.text);
            plain == name || {
                let forms = forms.get_or_insert_with(|| name_forms(name));
                it.case != Case::Lower && name_forms(plain).iter().any(|it| forms.contains(it))
            }
        })
    }

    /// Whether words in a row begin with the letters of a short form.
    pub(super) fn spells_out(&self, short: &str) -> bool {
        let letters: Vec<char> = short.chars().collect();
        // Two letters are found anywhere, and a code is no short form.
        if !(3..=6).contains(&letters.len()) || !letters.iter().all(|it| it.is_alphabetic()) {
            return false;
        }
        let words: Vec<char> = self
            .tokens
            .iter()
            .filter(|it| it.is_wordy() && !lexicon::is_light(&it.text))
            .filter_map(|it| it.text.chars().next())
            .collect();
        words
            .windows(letters.len())
            .any(|window| window == letters.as_slice())
    }
}

/// A name without what grammar adds to it.
pub(super) fn bare(name: &str) -> &str {
    name.strip_suffix("'s").unwrap_or(name)
}

/// A name and the names it is likely made from: `german` and `germany`.
fn name_forms(name: &str) -> Vec<String> {
    const ENDINGS: [&str; 9] = ["ian", "ese", "ish", "an", "ia", "y", "n", "a", "s"];
    let cut = ENDINGS
        .iter()
        .filter_map(|ending| name.strip_suffix(ending));
    let mut forms: Vec<String> = cut
        .filter(|it| it.chars().count() >= 4)
        .map(str::to_owned)
        .collect();
    forms.push(name.replace('-', ""));
    forms
}

fn in_numbers(tokens: &[Token], numbers: &[Number]) -> Vec<bool> {
    let mut within = vec![false; tokens.len()];
    for number in numbers {
        let range = within.get_mut(number.from..number.to);
        range.unwrap_or_default().fill(true);
    }
    within
}

fn key(token: &Token, in_number: bool) -> Option<String> {
    match token.kind {
        Kind::Code => Some(token.text.replace('-', "")),
        Kind::Word if in_number => None,
        Kind::Word => {
            if let Some(direction) = lexicon::direction(&token.text) {
                let sign = if direction.up { '+' } else { '-' };
                return Some(format!("{sign}{}", direction.axis));
            }
            if let Some(rest) = denied(&token.text) {
                return Some(stem(rest));
            }
            let letter = token.text.chars().count() == 1 && token.case == Case::Lower;
            let light = letter || lexicon::is_light(bare(&token.text));
            (!light).then(|| token.stem.clone())
        }
        _ => None,
    }
}

/// `Smith et al.`, `Smith and Jones`.
fn goes_on_as_name(tokens: &[Token], at: usize) -> bool {
    let next = tokens.get(at + 1).map_or("", |it| it.text.as_str());
    let after = tokens.get(at + 2).map(|it| it.case);
    next == "et" || (next == "and" && after == Some(Case::Capital))
}

/// Names, and what may be names.
fn names(
    tokens: &[Token],
    in_number: &[bool],
    known: &dyn Fn(&str) -> Known,
) -> (Vec<usize>, Vec<usize>) {
    let mut all = Vec::new();
    let mut maybe = Vec::new();
    let mut first = true;
    for (at, token) in tokens.iter().enumerate() {
        if !token.is_wordy() {
            first |= matches!(token.text.as_str(), "." | "?" | "!" | ":");
            continue;
        }
        let begins = std::mem::replace(&mut first, false);
        if in_number.get(at).copied().unwrap_or(false) {
            continue;
        }
        let plain = bare(&token.text);
        let named = match (token.kind, token.case) {
            (Kind::Code, _) | (_, Case::Caps) => true,
            (_, Case::Capital) if lexicon::is_light(plain) => false,
            (_, Case::Capital) => match known(plain) {
                Known::Name => true,
                Known::Word => is_term(plain),
                Known::Nothing => {
                    let sure = !begins || is_term(plain) || goes_on_as_name(tokens, at);
                    let verb = ["ing", "ed", "ly"].iter().any(|it| plain.ends_with(it));
                    if !sure && !verb && lexicon::direction(plain).is_none() {
                        maybe.push(at);
                    }
                    sure
                }
            },
            (_, Case::Lower) => is_term(plain),
        };
        if named {
            all.push(at);
        }
    }
    (all, maybe)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Analysis {
        Analysis::of(text, &|_| Known::Nothing)
    }

    #[test]
    fn what_is_negated() {
        let found = of("The drug did not lower pain, but it lowered fever");
        let negated: Vec<&str> = found
            .tokens
            .iter()
            .enumerate()
            .filter(|(at, _)| found.is_negated(*at))
            .map(|(_, it)| it.text.as_str())
            .collect();
        assert_eq!(negated, ["lower", "pain"]);
    }

    #[test]
    fn what_is_a_name() {
        let found = of("The team at Stanford used BERT and IL-6 with metformin in Germany");
        let names: Vec<&str> = found
            .names
            .iter()
            .filter_map(|&at| found.token(at))
            .map(|it| it.text.as_str())
            .collect();
        assert_eq!(names, ["stanford", "bert", "il-6", "metformin", "germany"]);
        assert!(found.has_name("german"));
        assert!(!found.has_name("austria"));
        assert!(of("a randomised controlled trial").spells_out("rct"));
    }
}
