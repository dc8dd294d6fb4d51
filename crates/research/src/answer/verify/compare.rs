//! A claim beside a few sentences: which of its numbers and names are there, and what is there in
//! their place.

use std::collections::{HashMap, HashSet};

use super::{
    Problem, ProblemKind,
    analysis::{Analysis, bare},
    arithmetic, contrasted,
    corpus::{Corpus, Passage},
    equal::{Match, compare},
    framed, lexicon,
    nearness::Meaning,
    number::{Bound, Decimal, Number, Span},
    numbered::is_of_another,
    sense, swapped,
    tokens::Case,
};

/// Two sides of a comparison, and what their words weigh.
pub(super) struct Sides<'a> {
    pub(super) corpus: &'a Corpus,
    pub(super) passage: &'a Passage,
    /// The claim's text, and it taken apart.
    pub(super) text: &'a str,
    pub(super) claim: &'a Analysis,
    /// The sentences' text, and them taken apart.
    pub(super) said: &'a str,
    pub(super) window: &'a Analysis,
}

/// What speaks against a claim in some sentences.
#[derive(Debug, Clone, Default)]
pub(super) struct Findings {
    /// They say otherwise.
    pub(super) conflicts: Vec<Problem>,
    /// They do not say it.
    pub(super) lacks: Vec<Problem>,
}

/// How much better a number's surroundings must fit than those of the claimed one's, for it to be
/// the one that is meant.
const FITS_BETTER: f64 = 0.3;

/// How much better two numbers must fit each other's places than their own.
const EXCHANGED: f64 = 0.12;

/// How many numbers are looked at in pairs.
const MOST_EXCHANGED: usize = 16;

/// A number of the sentences and what stands around it.
type Place<'a> = (&'a Number, HashMap<&'a str, f64>);

/// How well surroundings must fit for what stands in them to be meant at all.
const FITS: f64 = 0.34;

/// How near to a common word what may be a name must be to be one too.
const COMMON: f64 = 0.65;

impl Sides<'_> {
    pub(super) fn compare(&self) -> Findings {
        let mut findings = Findings::default();
        let numbers = self.window.numbers.iter();
        let places: Vec<Place<'_>> = numbers
            .map(|it| (it, self.window.around(it.from, it.to)))
            .collect();
        for number in &self.claim.numbers {
            self.number(number, &places, &mut findings);
        }
        self.exchanged(&mut findings);
        for &name in &self.claim.names {
            self.name(name, true, &mut findings);
        }
        for &name in &self.claim.maybe_names {
            self.name(name, false, &mut findings);
        }
        sense::compare(self, &mut findings);
        framed::compare(self, &mut findings);
        swapped::compare(self, &mut findings);
        contrasted::compare(self, &mut findings);
        // What numbers another thing has does not gainsay it.
        if is_of_another(self.claim, self.window) {
            let number = |it: &mut Problem| it.kind == ProblemKind::Number;
            let numbers = findings.conflicts.extract_if(.., number);
            findings.lacks.extend(numbers);
        }
        findings
    }

    fn number(&self, number: &Number, places: &[Place<'_>], findings: &mut Findings) {
        let shown = |of: &Analysis, text: &str, it: &Number| {
            let span = of.span(it.from, it.to);
            span.and_then(|it| text.get(it))
                .unwrap_or_default()
                .to_owned()
        };
        let claimed = shown(self.claim, self.text, number);
        let around = self.claim.around(number.from, number.to);
        let best = |wanted: Match| {
            let of_kind = places
                .iter()
                .filter(|(it, _)| compare(number, it) == wanted);
            of_kind
                .map(|(it, there)| (self.corpus.fit(&around, there), *it))
                .max_by(|one, other| one.0.total_cmp(&other.0))
        };
        let (same, other) = (best(Match::Same), best(Match::Other));
        let problem = |instead: Option<&Number>| {
            let instead =
                instead.map(|it| shown(self.window, self.said, &with_bound(self.window, it)));
            Problem::new(ProblemKind::Number, claimed.clone(), instead)
        };
        match (same, other) {
            (Some((fits, it)), other) => {
                let taken = |it: &Number| {
                    self.claim
                        .numbers
                        .iter()
                        .any(|mine| compare(mine, it) == Match::Same)
                };
                if let Some((better, other)) = other
                    && better - fits > FITS_BETTER
                    && other.value.is_whole() == number.value.is_whole()
                    && !taken(other)
                {
                    findings.conflicts.push(problem(Some(other)));
                } else if let Some(rival) = self.bound_to_another(number, it) {
                    findings.conflicts.push(rival);
                }
            }
            (None, _) if self.is_year_of_the_work(number) => {}
            (None, Some((fits, other))) if fits >= FITS || around.is_empty() => {
                findings.conflicts.push(problem(Some(other)));
            }
            (None, _) => findings.lacks.push(problem(None)),
        }
    }

    /// Two numbers that are both there, but each in the other's place.
    fn exchanged(&self, findings: &mut Findings) {
        let fit = |mine: &Number, said: &Number| {
            let around = self.claim.around(mine.from, mine.to);
            let there = self.window.around(said.from, said.to);
            self.corpus.fit(&around, &there)
        };
        let only = |mine: &Number| {
            // An end of a range is another place for the same digits.
            let mine = Number {
                span: Span::Change,
                ..mine.clone()
            };
            let mut same = self.window.numbers.iter();
            let first = same.find(|it| compare(&mine, it) == Match::Same)?;
            let more = same.any(|it| compare(&mine, it) == Match::Same);
            (!more).then_some(first)
        };
        let found: Vec<(&Number, &Number)> = self
            .claim
            .numbers
            .iter()
            .filter_map(|mine| Some((mine, only(mine)?)))
            .take(MOST_EXCHANGED)
            .collect();
        for (at, (one, one_said)) in found.iter().enumerate() {
            for (other, other_said) in found.iter().skip(at + 1) {
                if one.unit != other.unit || one_said.from == other_said.from {
                    continue;
                }
                // `from 3 to 5` is the same wherever it stands.
                if arithmetic::side_by_side(self.claim, one, other)
                    && arithmetic::side_by_side(self.window, one_said, other_said)
                {
                    continue;
                }
                let straight = fit(one, one_said) + fit(other, other_said);
                let crossed = fit(one, other_said) + fit(other, one_said);
                if crossed > straight + EXCHANGED {
                    let text = |of: &Analysis, text: &str, it: &Number| {
                        let span = of.span(it.from, it.to);
                        span.and_then(|it| text.get(it))
                            .unwrap_or_default()
                            .to_owned()
                    };
                    findings.conflicts.push(Problem::new(
                        ProblemKind::Number,
                        text(self.claim, self.text, one),
                        Some(text(self.window, self.said, other_said)),
                    ));
                }
            }
        }
    }

    fn is_year_of_the_work(&self, number: &Number) -> bool {
        let year = self.passage.source.credit.year;
        let year = year.and_then(|it| Decimal::parse(&it.to_string()));
        number.unit.is_none() && year.as_ref() == Some(&number.value)
    }

    /// The name a number belongs to there, if the claim has it belong to another one that is named
    /// elsewhere in the sentences.
    fn bound_to_another(&self, claimed: &Number, said: &Number) -> Option<Problem> {
        let near = |of: &Analysis, number: &Number| -> Vec<String> {
            let part = of.parts.get(number.from).copied();
            let names = of
                .names
                .iter()
                .filter(|at| of.parts.get(**at).copied() == part);
            let names = names.filter_map(|&at| of.token(at));
            names.map(|it| bare(&it.text).to_owned()).collect()
        };
        let mine = near(self.claim, claimed);
        let theirs = near(self.window, said);
        let all_mine: Vec<String> = self
            .claim
            .names
            .iter()
            .filter_map(|&at| self.claim.token(at))
            .map(|it| bare(&it.text).to_owned())
            .collect();
        let rival = theirs.iter().find(|it| !all_mine.contains(it))?;
        let away = mine.iter().find(|it| {
            !theirs.contains(it) && self.window.has_name(it) && !self.is_of_the_work(it)
        })?;
        Some(Problem::new(
            ProblemKind::Name,
            away.clone(),
            Some(rival.clone()),
        ))
    }

    /// Whether a name is of those who wrote it, or in the title.
    fn is_of_the_work(&self, name: &str) -> bool {
        self.passage.title.has_name(name)
    }

    /// `surely`: whether it is certain that it is a name.
    fn name(&self, at: usize, surely: bool, findings: &mut Findings) {
        let Some(token) = self.claim.token(at) else {
            return;
        };
        let name = bare(&token.text);
        if self.window.has_name(name) {
            return;
        }
        let short = token.case == Case::Caps && (self.passage.whole.spells_out(name));
        if short || self.is_spelled_out(at) || (!surely && self.is_common(name)) {
            return;
        }
        let written = self.text.get(token.start..token.end).unwrap_or_default();
        let elsewhere = self.is_of_the_work(name) || self.passage.whole.has_name(name);
        match self.rival(at, surely) {
            Some(rival) if !self.is_of_the_work(name) => {
                findings
                    .conflicts
                    .push(Problem::new(ProblemKind::Name, written, Some(rival)));
            }
            _ if elsewhere || !surely => {}
            _ => {
                let problem = Problem::new(ProblemKind::Name, written, None);
                findings.lacks.push(problem);
            }
        }
    }

    /// Whether what may be a name is a word that begins the claim: others say the same, or it is near
    /// in meaning to a common word of the sentences.
    fn is_common(&self, word: &str) -> bool {
        let meanings = self.passage.meanings();
        let near = || {
            let own = Meaning::of(word);
            let keys = self.window.keys.iter().flatten();
            let mut there = keys.filter_map(|it| meanings.get(it));
            there.any(|it| own.nearness(it) >= COMMON)
        };
        lexicon::same_as(word).is_some() || near()
    }

    /// Whether the name is a word of what the sentences have as a short form.
    fn is_spelled_out(&self, at: usize) -> bool {
        let shorts = self
            .window
            .names
            .iter()
            .filter_map(|&it| self.window.token(it));
        shorts
            .filter(|it| it.case == Case::Caps && (3..=6).contains(&it.text.chars().count()))
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

    /// A name of the sentences that the claim lacks, and that stands among the same words as the
    /// claim's name at `at`.
    fn rival(&self, at: usize, surely: bool) -> Option<String> {
        let around = self.claim.around(at, at + 1);
        let own = self.claim.token(at);
        let mine: HashSet<&str> = self
            .claim
            .names
            .iter()
            .filter_map(|&it| self.claim.token(it))
            .map(|it| bare(&it.text))
            .collect();
        let maybe = self.window.maybe_names.iter().filter(|_| !surely);
        let names = self.window.names.iter().chain(maybe);
        let rivals = names.filter_map(|&it| {
            let token = self.window.token(it)?;
            let alike =
                own.is_some_and(|own| (own.case == Case::Lower) == (token.case == Case::Lower));
            if !alike || mine.contains(bare(&token.text)) {
                return None;
            }
            let there = self.window.around(it, it + 1);
            let fits = self.corpus.fit(&around, &there);
            (fits >= FITS).then_some((fits, token))
        });
        let (_, rival) = rivals.max_by(|one, other| one.0.total_cmp(&other.0))?;
        self.said.get(rival.start..rival.end).map(str::to_owned)
    }
}

/// A number with the words around it that make it a bound or an end: without them it may look the
/// same as the one that is claimed.
fn with_bound(of: &Analysis, number: &Number) -> Number {
    let (before, behind) = match (number.bound, number.span) {
        (Bound::Below | Bound::Above, _) => (3, 2),
        (_, Span::Low) => (1, 3),
        (_, Span::High) => (3, 0),
        _ => (0, 0),
    };
    Number {
        from: number.from.saturating_sub(before),
        to: (number.to + behind).min(of.tokens.len()),
        ..number.clone()
    }
}
