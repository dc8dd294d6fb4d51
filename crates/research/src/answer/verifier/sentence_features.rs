//! Features of a text: the match keys of its words, its numbers, its names, its directions, and
//! its negations.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use super::{
    Heuristic, HeuristicSet,
    entities::domain_terms::is_domain_term,
    numbers::{number::Number, parser::parse_numbers},
    polarity::{
        modality::{Modality, token_modalities},
        negation_scope::{clause_ids, find_directions, find_negations},
        negative_prefixes::strip_negative_prefix,
    },
    text::{
        lexicon::{self, AxisDirection},
        stemmer::{stem, strip_suffixes},
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
    /// Whether each token is negated.
    pub(super) negated: Vec<bool>,
    /// For each negation, its main target tokens.
    pub(super) negation_targets: Vec<Vec<usize>>,
    /// Clause of each token; a clause ends where the subject changes.
    pub(super) clause_ids: Vec<u32>,
    /// Tokens that are names.
    pub(super) names: Vec<usize>,
    /// Tokens that may be names: unknown words at the beginning of a sentence.
    pub(super) possible_names: Vec<usize>,
    /// Tokens with a direction.
    pub(super) directions: Vec<(usize, AxisDirection)>,
    /// Modality of each token; `None` for a fact.
    modalities: Vec<Option<Modality>>,
}

/// Tokens on each side that belong to the context of a token.
const NEIGHBOR_WINDOW: usize = 10;

/// Distance at which a neighbor counts half.
const HALF_WEIGHT_DISTANCE: f64 = 4.0;

/// How the other passages use a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordUsage {
    Name,
    /// As a common word.
    Word,
    Unknown,
}

impl SentenceFeatures {
    /// Extracts the features of a text. `known` tells how other texts use a lower-case word.
    pub(super) fn extract(
        text: &str,
        known: &dyn Fn(&str) -> WordUsage,
        heuristics: HeuristicSet,
    ) -> Self {
        let on = |it: Heuristic| heuristics.contains(it);
        let mut tokens = tokenize(text);
        if !on(Heuristic::Synonyms) {
            let words = tokens.iter_mut();
            for token in words.filter(|it| it.kind == TextTokenKind::Word) {
                token.stem = strip_suffixes(&token.text);
            }
        }
        let numbers = parse_numbers(text, &tokens);
        let in_number = number_token_mask(&tokens, &numbers);
        let keys: Vec<Option<String>> = tokens
            .iter()
            .zip(&in_number)
            .map(|(token, in_number)| match_key(token, *in_number, heuristics))
            .collect();
        let (mut names, mut possible_names) = find_names(&tokens, &in_number, known, heuristics);
        if !on(Heuristic::Names) {
            names.clear();
        }
        if !on(Heuristic::PossibleNames) {
            possible_names.clear();
        }
        let modalities = if on(Heuristic::Modality) {
            token_modalities(&tokens)
        } else {
            vec![None; tokens.len()]
        };
        let wrong = |at: usize| modalities.get(at).copied().flatten() == Some(Modality::Refuted);
        let prefixes = on(Heuristic::NegativePrefixes);
        let (negated, negation_targets) = if on(Heuristic::Negations) {
            find_negations(&tokens, &keys, &wrong, prefixes)
        } else {
            (vec![false; tokens.len()], Vec::new())
        };
        Self {
            directions: if on(Heuristic::Directions) {
                find_directions(&tokens)
            } else {
                Vec::new()
            },
            modalities,
            negated,
            negation_targets,
            clause_ids: clause_ids(&tokens),
            names,
            possible_names,
            keys,
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

    pub(super) fn modality(&self, at: usize) -> Option<Modality> {
        self.modalities.get(at).copied().flatten()
    }

    pub(super) fn has_modality(&self, frame: Modality) -> bool {
        self.modalities.contains(&Some(frame))
    }

    pub(super) fn is_negated(&self, at: usize) -> bool {
        self.negated.get(at).copied().unwrap_or(false)
    }

    /// Byte range of the tokens.
    pub(super) fn span(&self, from: usize, to: usize) -> Option<Range<usize>> {
        let first = self.tokens.get(from)?;
        let last = self.tokens.get(to.checked_sub(1)?)?;
        Some(first.start..last.end.max(first.start))
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

    /// Whether consecutive words begin with the letters of an acronym.
    pub(super) fn expands_acronym(&self, short: &str) -> bool {
        let letters: Vec<char> = short.chars().collect();
        // Two letters match anywhere, and a code is not an acronym.
        if !(3..=6).contains(&letters.len()) || !letters.iter().all(|it| it.is_alphabetic()) {
            return false;
        }
        let words: Vec<char> = self
            .tokens
            .iter()
            .filter(|it| it.is_word_like() && !lexicon::is_stop_word(&it.text))
            .filter_map(|it| it.text.chars().next())
            .collect();
        words
            .windows(letters.len())
            .any(|window| window == letters.as_slice())
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

fn match_key(token: &TextToken, in_number: bool, heuristics: HeuristicSet) -> Option<String> {
    match token.kind {
        TextTokenKind::Code => Some(token.text.replace('-', "")),
        TextTokenKind::Word if in_number => None,
        TextTokenKind::Word => {
            if heuristics.contains(Heuristic::Directions)
                && let Some(direction) = lexicon::direction(&token.text)
            {
                let sign = if direction.up { '+' } else { '-' };
                return Some(format!("{sign}{}", direction.axis));
            }
            if heuristics.contains(Heuristic::NegativePrefixes)
                && let Some(rest) = strip_negative_prefix(&token.text)
            {
                return Some(stem(rest));
            }
            let letter = token.text.chars().count() == 1 && token.case == LetterCase::Lower;
            let light = letter || lexicon::is_stop_word(strip_possessive(&token.text));
            (!light).then(|| token.stem.clone())
        }
        _ => None,
    }
}

/// Whether a name continues after the token: `Smith et al.`, `Smith and Jones`.
fn continues_as_name(tokens: &[TextToken], at: usize) -> bool {
    let next = tokens.get(at + 1).map_or("", |it| it.text.as_str());
    let after = tokens.get(at + 2).map(|it| it.case);
    next == "et" || (next == "and" && after == Some(LetterCase::Capital))
}

/// Finds names and possible names.
fn find_names(
    tokens: &[TextToken],
    in_number: &[bool],
    known: &dyn Fn(&str) -> WordUsage,
    heuristics: HeuristicSet,
) -> (Vec<usize>, Vec<usize>) {
    let is_domain_term =
        |word: &str| heuristics.contains(Heuristic::DomainTerms) && is_domain_term(word);
    let mut all = Vec::new();
    let mut maybe = Vec::new();
    let mut first = true;
    for (at, token) in tokens.iter().enumerate() {
        if !token.is_word_like() {
            first |= matches!(token.text.as_str(), "." | "?" | "!" | ":");
            continue;
        }
        let begins = std::mem::replace(&mut first, false);
        if in_number.get(at).copied().unwrap_or(false) {
            continue;
        }
        let plain = strip_possessive(&token.text);
        let named = match (token.kind, token.case) {
            (TextTokenKind::Code, _) | (_, LetterCase::MultipleCapitals) => true,
            (_, LetterCase::Capital) if lexicon::is_stop_word(plain) => false,
            (_, LetterCase::Capital) => match known(plain) {
                WordUsage::Name => true,
                WordUsage::Word => is_domain_term(plain),
                WordUsage::Unknown => {
                    let sure = !begins || is_domain_term(plain) || continues_as_name(tokens, at);
                    let verb = ["ing", "ed", "ly"].iter().any(|it| plain.ends_with(it));
                    if !sure && !verb && lexicon::direction(plain).is_none() {
                        maybe.push(at);
                    }
                    sure
                }
            },
            (_, LetterCase::Lower) => is_domain_term(plain),
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

    fn features(text: &str) -> SentenceFeatures {
        SentenceFeatures::extract(text, &|_| WordUsage::Unknown, HeuristicSet::all())
    }

    #[test]
    fn what_is_negated() {
        let found = features("The drug did not lower pain, but it lowered fever");
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
        let found = features("The team at Stanford used BERT and IL-6 with metformin in Germany");
        let names: Vec<&str> = found
            .names
            .iter()
            .filter_map(|&at| found.token(at))
            .map(|it| it.text.as_str())
            .collect();
        assert_eq!(names, ["stanford", "bert", "il-6", "metformin", "germany"]);
        assert!(found.has_name("german"));
        assert!(!found.has_name("austria"));
        assert!(features("a randomised controlled trial").expands_acronym("rct"));
    }
}
