//! Compares a claim with a window of sentences: which of its numbers and names are there, and what
//! the sentences have instead.

use std::collections::HashMap;

use super::{
    ClaimProblem, ClaimProblemKind, Heuristic,
    corpus::{Corpus, CorpusPassage},
    numbers::{
        consistency::are_adjacent,
        equality::{NumberMatch, compare_numbers},
        number::{Number, NumberBound, RangeEnd},
    },
    sentence_features::{SentenceFeatures, strip_possessive},
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
    /// A number may be computed from others.
    pub(super) computed: bool,
}

/// Two numbers are swapped if each fits the other's context better by this much in total.
const MIN_SWAP_MARGIN: f64 = 0.12;

/// Numbers that are compared in pairs.
const MAX_SWAP_CANDIDATES: usize = 16;

/// A number of the window with its context.
type NumberContext<'a> = (&'a Number, HashMap<&'a str, f64>);

/// Below this context fit a number or name of the window is about something else.
const MIN_FIT: f64 = 0.34;

impl ClaimEvidencePair<'_> {
    pub(super) fn compare(&self) -> Discrepancies {
        let on = |it: Heuristic| self.corpus.heuristics.contains(it);
        let mut findings = Discrepancies::default();
        let numbers = self.window.numbers.iter();
        let places: Vec<NumberContext<'_>> = numbers
            .map(|it| (it, self.window.neighbors(it.from, it.to)))
            .collect();
        for number in &self.claim.numbers {
            self.compare_number(number, &places, &mut findings);
        }
        if on(Heuristic::SwappedNumbers) {
            self.find_swapped_numbers(&mut findings);
        }
        if on(Heuristic::Names) {
            for &name in &self.claim.names {
                self.compare_name(name, &mut findings);
            }
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
        if best(NumberMatch::Same).is_some() {
            return;
        }
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
        match best(NumberMatch::Different) {
            _ if self.passage.is_publication_year(number) => {}
            Some((fits, other)) if fits >= MIN_FIT || around.is_empty() => {
                findings.conflicts.push(problem(Some(other)));
            }
            _ if self.claim.may_be_computed(number) => findings.computed = true,
            _ => findings.missing.push(problem(None)),
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
                if are_adjacent(self.claim, one, other)
                    && are_adjacent(self.window, one_said, other_said)
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

    /// A name must be in the passage; the window need not repeat what it is about.
    fn compare_name(&self, at: usize, findings: &mut Discrepancies) {
        let Some(token) = self.claim.token(at) else {
            return;
        };
        let name = strip_possessive(&token.text);
        if !self.passage.has_name(name) {
            let written = self.claim_text.get(token.start..token.end);
            let written = written.unwrap_or_default();
            let problem = ClaimProblem::new(ClaimProblemKind::Name, written, None);
            findings.missing.push(problem);
        }
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
