//! Compares a claim with a window of sentences: which of its numbers and names are there, and what
//! the sentences have instead.

use std::collections::{HashMap, HashSet};

use super::{
    ClaimProblem, ClaimProblemKind, Heuristic,
    corpus::{Corpus, CorpusPassage},
    entities::substitution,
    numbers::{
        consistency,
        equality::{NumberMatch, compare_numbers},
        number::{Decimal, Number, NumberBound, RangeEnd},
        numbered_entities::is_about_other_entity,
    },
    polarity::{contrast, modality_check, polarity_check},
    sentence_features::{SentenceFeatures, strip_possessive},
    similarity::word_vectors::TextVector,
    text::{lexicon, tokenizer::LetterCase},
};

/// A claim and the window that it is compared with.
pub(crate) struct ClaimEvidencePair<'a> {
    pub(super) corpus: &'a Corpus,
    pub(super) passage: &'a CorpusPassage,
    /// Text and features of the claim.
    pub(super) claim_text: &'a str,
    pub(super) claim: &'a SentenceFeatures,
    /// Text and features of the window.
    pub(super) window_text: &'a str,
    pub(super) window: &'a SentenceFeatures,
}

/// Differences between a claim and a window.
#[derive(Debug, Clone, Default)]
pub(crate) struct Discrepancies {
    /// The window says something else.
    pub(super) conflicts: Vec<ClaimProblem>,
    /// The window does not say it.
    pub(super) missing: Vec<ClaimProblem>,
}

/// A different number is the one that is meant if its context fits the claim better by this much
/// than the context of the equal number.
const MIN_FIT_MARGIN: f64 = 0.3;

/// Two numbers are swapped if each fits the other's context better by this much in total.
const MIN_SWAP_MARGIN: f64 = 0.12;

/// Numbers that are compared in pairs.
const MAX_SWAP_CANDIDATES: usize = 16;

/// A number of the window with its context.
type NumberContext<'a> = (&'a Number, HashMap<&'a str, f64>);

/// Below this context fit a number or name of the window is about something else.
const MIN_FIT: f64 = 0.34;

/// A possible name is a common word if it is at least this similar to a common word.
const MIN_COMMON_WORD_SIMILARITY: f64 = 0.65;

impl ClaimEvidencePair<'_> {
    pub(super) fn compare(&self) -> Discrepancies {
        let mut findings = Discrepancies::default();
        let numbers = self.window.numbers.iter();
        let places: Vec<NumberContext<'_>> = numbers
            .map(|it| (it, self.window.neighbors(it.from, it.to)))
            .collect();
        for number in &self.claim.numbers {
            self.compare_number(number, &places, &mut findings);
        }
        let on = |it: Heuristic| self.corpus.heuristics.contains(it);
        if on(Heuristic::SwappedNumbers) {
            self.find_swapped_numbers(&mut findings);
        }
        for &name in &self.claim.names {
            self.compare_name(name, true, &mut findings);
        }
        for &name in &self.claim.possible_names {
            self.compare_name(name, false, &mut findings);
        }
        polarity_check::compare(self, &mut findings);
        modality_check::compare(self, &mut findings);
        if on(Heuristic::Substitution) {
            substitution::compare(self, &mut findings);
        }
        if on(Heuristic::Contrast) {
            contrast::compare(self, &mut findings);
        }
        // Numbers of another entity do not contradict the claim.
        if on(Heuristic::NumberedEntities) && is_about_other_entity(self.claim, self.window) {
            let number = |it: &mut ClaimProblem| it.kind == ClaimProblemKind::Number;
            let numbers = findings.conflicts.extract_if(.., number);
            findings.missing.extend(numbers);
        }
        findings
    }

    fn compare_number(
        &self,
        number: &Number,
        contexts: &[NumberContext<'_>],
        findings: &mut Discrepancies,
    ) {
        let shown = |of: &SentenceFeatures, text: &str, it: &Number| {
            let span = of.span(it.from, it.to);
            span.and_then(|it| text.get(it))
                .unwrap_or_default()
                .to_owned()
        };
        let claimed = shown(self.claim, self.claim_text, number);
        let around = self.claim.neighbors(number.from, number.to);
        let best = |number_match: NumberMatch| {
            let of_kind = contexts
                .iter()
                .filter(|(it, _)| compare_numbers(number, it) == number_match);
            of_kind
                .map(|(it, there)| (self.corpus.context_fit(&around, there), *it))
                .max_by(|one, other| one.0.total_cmp(&other.0))
        };
        let (same, other) = (best(NumberMatch::Same), best(NumberMatch::Different));
        let problem = |instead: Option<&Number>| {
            let instead = instead.map(|it| {
                shown(
                    self.window,
                    self.window_text,
                    &include_bound_words(self.window, it),
                )
            });
            ClaimProblem::new(ClaimProblemKind::Number, claimed.clone(), instead)
        };
        match (same, other) {
            (Some((fits, it)), other) => {
                let taken = |it: &Number| {
                    self.claim
                        .numbers
                        .iter()
                        .any(|mine| compare_numbers(mine, it) == NumberMatch::Same)
                };
                let on = |it: Heuristic| self.corpus.heuristics.contains(it);
                if on(Heuristic::NumberContext)
                    && let Some((better, other)) = other
                    && better - fits > MIN_FIT_MARGIN
                    && other.value.is_integer() == number.value.is_integer()
                    && !taken(other)
                {
                    findings.conflicts.push(problem(Some(other)));
                } else if on(Heuristic::NumberOwner)
                    && let Some(rival) = self.find_other_owner(number, it)
                {
                    findings.conflicts.push(rival);
                }
            }
            (None, _) if self.is_publication_year(number) => {}
            (None, Some((fits, other))) if fits >= MIN_FIT || around.is_empty() => {
                findings.conflicts.push(problem(Some(other)));
            }
            (None, _) => findings.missing.push(problem(None)),
        }
    }

    /// Finds two numbers that are both in the window, but in each other's place.
    fn find_swapped_numbers(&self, findings: &mut Discrepancies) {
        let fit = |mine: &Number, said: &Number| {
            let around = self.claim.neighbors(mine.from, mine.to);
            let there = self.window.neighbors(said.from, said.to);
            self.corpus.context_fit(&around, &there)
        };
        let only = |mine: &Number| {
            // An end of a range also counts as a place of the same digits.
            let mine = Number {
                range_end: RangeEnd::Change,
                ..mine.clone()
            };
            let mut same = self.window.numbers.iter();
            let first = same.find(|it| compare_numbers(&mine, it) == NumberMatch::Same)?;
            let more = same.any(|it| compare_numbers(&mine, it) == NumberMatch::Same);
            (!more).then_some(first)
        };
        let found: Vec<(&Number, &Number)> = self
            .claim
            .numbers
            .iter()
            .filter_map(|mine| Some((mine, only(mine)?)))
            .take(MAX_SWAP_CANDIDATES)
            .collect();
        for (at, (one, one_said)) in found.iter().enumerate() {
            for (other, other_said) in found.iter().skip(at + 1) {
                if one.unit != other.unit || one_said.from == other_said.from {
                    continue;
                }
                // `from 3 to 5` means the same everywhere.
                if consistency::are_adjacent(self.claim, one, other)
                    && consistency::are_adjacent(self.window, one_said, other_said)
                {
                    continue;
                }
                let straight = fit(one, one_said) + fit(other, other_said);
                let crossed = fit(one, other_said) + fit(other, one_said);
                if crossed > straight + MIN_SWAP_MARGIN {
                    let text = |of: &SentenceFeatures, text: &str, it: &Number| {
                        let span = of.span(it.from, it.to);
                        span.and_then(|it| text.get(it))
                            .unwrap_or_default()
                            .to_owned()
                    };
                    findings.conflicts.push(ClaimProblem::new(
                        ClaimProblemKind::Number,
                        text(self.claim, self.claim_text, one),
                        Some(text(self.window, self.window_text, other_said)),
                    ));
                }
            }
        }
    }

    fn is_publication_year(&self, number: &Number) -> bool {
        let year = self.passage.source.credit.year;
        let year = year.and_then(|it| Decimal::parse(&it.to_string()));
        number.unit.is_none() && year.as_ref() == Some(&number.value)
    }

    /// Finds the name that the number belongs to in the window, if the claim assigns it to another
    /// name that the window contains elsewhere.
    fn find_other_owner(&self, claimed: &Number, said: &Number) -> Option<ClaimProblem> {
        let near = |of: &SentenceFeatures, number: &Number| -> Vec<String> {
            let part = of.clause_ids.get(number.from).copied();
            let names = of
                .names
                .iter()
                .filter(|at| of.clause_ids.get(**at).copied() == part);
            let names = names.filter_map(|&at| of.token(at));
            names
                .map(|it| strip_possessive(&it.text).to_owned())
                .collect()
        };
        let mine = near(self.claim, claimed);
        let theirs = near(self.window, said);
        let all_mine: Vec<String> = self
            .claim
            .names
            .iter()
            .filter_map(|&at| self.claim.token(at))
            .map(|it| strip_possessive(&it.text).to_owned())
            .collect();
        let rival = theirs.iter().find(|it| !all_mine.contains(it))?;
        let away = mine.iter().find(|it| {
            !theirs.contains(it) && self.window.has_name(it) && !self.is_author_or_title_word(it)
        })?;
        Some(ClaimProblem::new(
            ClaimProblemKind::Name,
            away.clone(),
            Some(rival.clone()),
        ))
    }

    /// Whether a name is in the authors or the title of the passage.
    fn is_author_or_title_word(&self, name: &str) -> bool {
        self.passage.title.has_name(name)
    }

    /// Compares a name of the claim. `surely` means that the token is certainly a name.
    fn compare_name(&self, at: usize, surely: bool, findings: &mut Discrepancies) {
        let Some(token) = self.claim.token(at) else {
            return;
        };
        let name = strip_possessive(&token.text);
        if self.window.has_name(name) {
            return;
        }
        let acronyms = self.corpus.heuristics.contains(Heuristic::Acronyms);
        let short = acronyms
            && token.case == LetterCase::MultipleCapitals
            && (self.passage.features.expands_acronym(name));
        if short || (acronyms && self.is_acronym_word(at)) || (!surely && self.is_common_word(name))
        {
            return;
        }
        let written = self
            .claim_text
            .get(token.start..token.end)
            .unwrap_or_default();
        let elsewhere = self.is_author_or_title_word(name) || self.passage.features.has_name(name);
        match self.find_rival_name(at, surely) {
            Some(rival) if !self.is_author_or_title_word(name) => {
                findings.conflicts.push(ClaimProblem::new(
                    ClaimProblemKind::Name,
                    written,
                    Some(rival),
                ));
            }
            _ if elsewhere || !surely => {}
            _ => {
                let problem = ClaimProblem::new(ClaimProblemKind::Name, written, None);
                findings.missing.push(problem);
            }
        }
    }

    /// Whether a possible name is only a word that begins the claim: it has a synonym, or it is
    /// similar to a common word of the window.
    fn is_common_word(&self, word: &str) -> bool {
        let meanings = self.passage.word_vectors();
        let near = || {
            let own = TextVector::embed(word);
            let keys = self.window.keys.iter().flatten();
            let mut there = keys.filter_map(|it| meanings.get(it));
            there.any(|it| own.word_similarity(it) >= MIN_COMMON_WORD_SIMILARITY)
        };
        lexicon::canonical_synonym(word).is_some()
            || (self.corpus.heuristics.contains(Heuristic::WordVectors) && near())
    }

    /// Whether the name is part of the long form of an acronym in the window.
    fn is_acronym_word(&self, at: usize) -> bool {
        let shorts = self
            .window
            .names
            .iter()
            .filter_map(|&it| self.window.token(it));
        shorts
            .filter(|it| {
                it.case == LetterCase::MultipleCapitals
                    && (3..=6).contains(&it.text.chars().count())
            })
            .filter(|it| it.text.chars().all(char::is_alphabetic))
            .any(|short| {
                let length = short.text.chars().count();
                (0..length).any(|back| {
                    let letters = short.text.chars().enumerate();
                    let from = at.checked_sub(back);
                    letters.into_iter().all(|(offset, letter)| {
                        let token = from.and_then(|from| self.claim.token(from + offset));
                        token.and_then(|it| it.text.chars().next()) == Some(letter)
                    })
                })
            })
    }

    /// A name of the window that the claim lacks, in the same context as the claim's name at `at`.
    fn find_rival_name(&self, at: usize, surely: bool) -> Option<String> {
        let around = self.claim.neighbors(at, at + 1);
        let own = self.claim.token(at);
        let mine: HashSet<&str> = self
            .claim
            .names
            .iter()
            .filter_map(|&it| self.claim.token(it))
            .map(|it| strip_possessive(&it.text))
            .collect();
        let maybe = self.window.possible_names.iter().filter(|_| !surely);
        let names = self.window.names.iter().chain(maybe);
        let rivals = names.filter_map(|&it| {
            let token = self.window.token(it)?;
            let alike = own.is_some_and(|own| {
                (own.case == LetterCase::Lower) == (token.case == LetterCase::Lower)
            });
            if !alike || mine.contains(strip_possessive(&token.text)) {
                return None;
            }
            let there = self.window.neighbors(it, it + 1);
            let fits = self.corpus.context_fit(&around, &there);
            (fits >= MIN_FIT).then_some((fits, token))
        });
        let (_, rival) = rivals.max_by(|one, other| one.0.total_cmp(&other.0))?;
        self.window_text
            .get(rival.start..rival.end)
            .map(str::to_owned)
    }
}

/// Extends a number by the words that make it a bound or an end of a range: without them it may
/// look the same as the claimed number.
fn include_bound_words(of: &SentenceFeatures, number: &Number) -> Number {
    let (before, behind) = match (number.bound, number.range_end) {
        (NumberBound::Below | NumberBound::Above, _) => (3, 2),
        (_, RangeEnd::Low) => (1, 3),
        (_, RangeEnd::High) => (3, 0),
        _ => (0, 0),
    };
    Number {
        from: number.from.saturating_sub(before),
        to: (number.to + behind).min(of.tokens.len()),
        ..number.clone()
    }
}
