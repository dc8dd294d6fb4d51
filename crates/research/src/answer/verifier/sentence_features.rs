//! Features of a text: the match keys of its words, its numbers, its names, and its directions.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use super::{
    numbers::{
        number::{Number, NumberBound},
        parser::parse_numbers,
        units::FOLD,
    },
    text::{
        lexicon::{self, AxisDirection, WordForce},
        tokenizer::{LetterCase, TextToken, TextTokenKind, tokenize},
    },
};

/// Features of a sentence or a longer text.
#[derive(Debug, Clone, Default)]
pub(crate) struct SentenceFeatures {
    pub(super) tokens: Vec<TextToken>,
    pub(super) numbers: Vec<Number>,
    /// Match key of each token; `None` for stop words and tokens without meaning.
    pub(super) keys: Vec<Option<String>>,
    /// Clause of each token; a clause ends where the subject changes.
    pub(super) clause_ids: Vec<u32>,
    /// Tokens that are names.
    pub(super) names: Vec<usize>,
    /// Tokens with a direction.
    pub(super) directions: Vec<(usize, AxisDirection)>,
}

/// Tokens on each side that belong to the context of a token.
const NEIGHBOR_WINDOW: usize = 10;

/// Distance at which a neighbor counts half.
const HALF_WEIGHT_DISTANCE: f64 = 4.0;

impl SentenceFeatures {
    /// Extracts the features of a text. `is_name` tells whether other texts use a word, given in
    /// lower case, as a name; `None` if they do not use it.
    pub(super) fn extract(text: &str, is_name: &dyn Fn(&str) -> Option<bool>) -> Self {
        let tokens = tokenize(text);
        let numbers = parse_numbers(text, &tokens);
        let in_number = number_token_mask(&tokens, &numbers);
        let keys = tokens.iter().zip(&in_number);
        let directions = tokens.iter().enumerate().filter_map(|(at, token)| {
            let word = token.kind == TextTokenKind::Word && !is_bound_word(&tokens, at);
            Some((at, word.then(|| lexicon::direction(&token.text)).flatten()?))
        });
        Self {
            directions: directions.collect(),
            clause_ids: clause_ids(&tokens),
            names: find_names(&tokens, &in_number, is_name),
            keys: keys
                .enumerate()
                .map(|(at, (token, in_number))| {
                    match_key(token, *in_number || is_bound_word(&tokens, at))
                })
                .collect(),
            numbers,
            tokens,
        }
    }

    /// The distinct match keys.
    pub(super) fn key_set(&self) -> HashSet<&str> {
        self.keys.iter().flatten().map(String::as_str).collect()
    }

    /// Match keys around tokens in the same clause, with their nearness, 0 to 1.
    pub(super) fn neighbors(&self, from: usize, to: usize) -> HashMap<&str, f64> {
        let part = self.clause_ids.get(from);
        let start = from.saturating_sub(NEIGHBOR_WINDOW);
        let mut near = HashMap::new();
        let keys = self.keys.iter().enumerate().skip(start);
        for (at, key) in keys.take(to + NEIGHBOR_WINDOW - start) {
            if (from..to).contains(&at) || self.clause_ids.get(at) != part {
                continue;
            }
            let away = if at < from { from - at } else { at + 1 - to };
            let nearness = HALF_WEIGHT_DISTANCE / (HALF_WEIGHT_DISTANCE + away as f64);
            if let Some(key) = key {
                let best: &mut f64 = near.entry(key.as_str()).or_default();
                *best = best.max(nearness);
            }
        }
        near
    }

    pub(super) fn token(&self, at: usize) -> Option<&TextToken> {
        self.tokens.get(at)
    }

    /// Byte range of the tokens.
    pub(super) fn span(&self, from: usize, to: usize) -> Option<Range<usize>> {
        let first = self.tokens.get(from)?;
        let last = self.tokens.get(to.checked_sub(1)?)?;
        Some(first.start..last.end.max(first.start))
    }

    /// Whether a claim may have computed a number, so that no passage needs to contain it: it is
    /// written in words or rounded, a factor, or a difference of percentages.
    pub(super) fn may_be_computed(&self, number: &Number) -> bool {
        let token = self.token(number.from);
        number.bound == NumberBound::Approximate
            || token.is_some_and(|it| it.kind == TextTokenKind::Word)
            || number
                .unit
                .is_some_and(|it| it == FOLD || it.dimension == "percentage point")
    }

    /// Whether the text contains a name, given in lower case.
    pub(super) fn has_name(&self, name: &str) -> bool {
        // `under-25s` means people under 25.
        let number = name
            .strip_suffix('s')
            .filter(|it| it.parse::<u32>().is_ok());
        if number.is_some_and(|number| self.tokens.iter().any(|it| it.text == number)) {
            return true;
        }
        let mut forms = None;
        self.tokens.iter().filter(|it| it.is_word_like()).any(|it| {
            let plain = strip_possessive(&it.text);
            plain == name || {
                let forms = forms.get_or_insert_with(|| name_forms(name));
                it.case != LetterCase::Lower
                    && name_forms(plain).iter().any(|it| forms.contains(it))
            }
        })
    }
}

/// Removes a possessive `'s`.
pub(super) fn strip_possessive(name: &str) -> &str {
    name.strip_suffix("'s").unwrap_or(name)
}

/// A name and the names that it may be derived from: `german` and `germany`.
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

fn number_token_mask(tokens: &[TextToken], numbers: &[Number]) -> Vec<bool> {
    let mut within = vec![false; tokens.len()];
    for number in numbers {
        let range = within.get_mut(number.from..number.to);
        range.unwrap_or_default().fill(true);
    }
    within
}

/// Whether a word bounds a number and has no direction: `at least 5`, `5 or more`, `more than 5`.
fn is_bound_word(tokens: &[TextToken], at: usize) -> bool {
    let word = |at: Option<usize>| at.and_then(|it| tokens.get(it)).map_or("", |it| &it.text);
    let number = tokens
        .get(at + 2)
        .is_some_and(|it| it.kind == TextTokenKind::Number);
    let before = word(at.checked_sub(1));
    match word(Some(at)) {
        "least" | "most" => before == "at",
        "more" | "less" | "fewer" | "older" | "younger" | "higher" | "lower" | "greater" => {
            before == "or" || (word(Some(at + 1)) == "than" && number)
        }
        _ => false,
    }
}

/// The match key of the opposite direction, if a key is one of a direction.
pub(super) fn opposite_key(key: &str) -> Option<String> {
    let down = key.strip_prefix('+').map(|it| format!("-{it}"));
    down.or_else(|| key.strip_prefix('-').map(|it| format!("+{it}")))
}

fn match_key(token: &TextToken, in_number: bool) -> Option<String> {
    match token.kind {
        TextTokenKind::Code => Some(token.text.replace('-', "")),
        TextTokenKind::Word if in_number => None,
        TextTokenKind::Word => {
            if let Some(direction) = lexicon::direction(&token.text) {
                let sign = if direction.up { '+' } else { '-' };
                return Some(format!("{sign}{}", direction.axis));
            }
            let letter = token.text.chars().count() == 1 && token.case == LetterCase::Lower;
            // These words are compared on their own.
            let turns = lexicon::force(&token.text).is_some_and(|it| it != WordForce::Softens);
            let light = letter || turns || lexicon::is_stop_word(strip_possessive(&token.text));
            (!light).then(|| token.stem.clone())
        }
        _ => None,
    }
}

/// The number of the clause that each token belongs to.
fn clause_ids(tokens: &[TextToken]) -> Vec<u32> {
    let mut part = 0;
    let mut all = Vec::with_capacity(tokens.len());
    for token in tokens {
        let ends = token.kind == TextTokenKind::Break
            && matches!(token.text.as_str(), ";" | "." | "—" | "?" | "!");
        let turns = token.kind == TextTokenKind::Word
            && matches!(
                token.text.as_str(),
                "but" | "while" | "whereas" | "although" | "though" | "however" | "yet" | "despite"
            );
        part += u32::from(ends || turns);
        all.push(part);
    }
    all
}

/// Finds names: codes, words in capitals, and capitalized words that do not begin a sentence or
/// that other texts use as names.
fn find_names(
    tokens: &[TextToken],
    in_number: &[bool],
    is_name: &dyn Fn(&str) -> Option<bool>,
) -> Vec<usize> {
    let mut all = Vec::new();
    let mut first = true;
    for (at, token) in tokens.iter().enumerate() {
        if !token.is_word_like() {
            first |= matches!(token.text.as_str(), "." | "?" | "!" | ":");
            continue;
        }
        let begins = std::mem::replace(&mut first, false);
        let plain = strip_possessive(&token.text);
        let named = match (token.kind, token.case) {
            (TextTokenKind::Code, _) | (_, LetterCase::MultipleCapitals) => true,
            (_, LetterCase::Capital) if lexicon::is_stop_word(plain) => false,
            (_, LetterCase::Capital) => is_name(plain).unwrap_or(!begins),
            (_, LetterCase::Lower) => false,
        };
        if named && !in_number.get(at).copied().unwrap_or(false) {
            all.push(at);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(text: &str) -> SentenceFeatures {
        SentenceFeatures::extract(text, &|_| None)
    }

    #[test]
    fn what_is_a_name() {
        let found = features("The team at Stanford used BERT and IL-6 with metformin in Germany");
        let names: Vec<&str> = found
            .names
            .iter()
            .filter_map(|&at| found.token(at))
            .map(|it| it.text.as_str())
            .collect();
        assert_eq!(names, ["stanford", "bert", "il-6", "germany"]);
        assert!(found.has_name("german"));
        assert!(!found.has_name("austria"));
    }
}
