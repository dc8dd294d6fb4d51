//! The verdict on a claim, from the sentences that speak of the same matter.

use std::ops::Range;

use super::{
    Checked, Claim, Evidence, Problem, ProblemKind, Source, Verdict,
    analysis::Analysis,
    claim::Ready,
    compare::{Findings, Sides},
    corpus::Corpus,
    exact::same_figures,
    foreign::is_foreign,
    quote::Stream,
    quoted::only_introduces,
    window::Window,
    within::evidence,
};

/// Checks claims against a set of passages.
pub struct Verifier {
    pub(super) corpus: Corpus,
}

/// How much of what a claim speaks of sentences must speak of to support it.
const SUPPORTS: f64 = 0.5;

/// The same where a claim speaks of few things and nothing in it can be told exactly: one thing that
/// is there and one that is not are no half of a claim but an invention.
const FEW: usize = 4;
const SUPPORTS_FEW: f64 = 0.85;

/// The same in languages of which no words are known.
const SUPPORTS_STRICTLY: f64 = 0.97;

/// And to speak against it.
const OPPOSES: f64 = 0.4;

/// Sentences that speak this much less of the matter than others can't overrule them.
const MARGIN: f64 = 0.12;

/// So much in common and words quoted from there: a claim is about the place of its quote.
const MUCH: f64 = 0.5;

/// How many sentences are looked at closely.
const CLOSELY: usize = 8;

/// Two sentences that speak as much of the matter as each other, but for this, give values of the
/// same thing.
const AS_MUCH: f64 = 0.01;

/// A citation that is right is preferred to a passage that fits a little better.
const CITED: f64 = 0.05;

/// What came of comparing a claim with a window.
struct Look {
    window: Window,
    overlap: f64,
    cited: bool,
    /// How much of the matter it must speak of to support the claim.
    least: f64,
    /// Whether the claim denies something and the window does.
    both_deny: bool,
    findings: Findings,
}

impl Look {
    fn supports(&self) -> bool {
        self.findings.conflicts.is_empty()
            && self.findings.lacks.is_empty()
            && self.overlap >= self.least
    }

    fn opposes(&self) -> bool {
        !self.findings.conflicts.is_empty() && self.overlap >= OPPOSES
    }

    /// Whether it says the opposite, in words.
    fn turns(&self) -> bool {
        let word = |it: &Problem| {
            matches!(
                it.kind,
                ProblemKind::Negation | ProblemKind::Direction | ProblemKind::Order
            )
        };
        self.opposes() && self.findings.lacks.is_empty() && self.findings.conflicts.iter().all(word)
    }

    /// Whether all that speaks against the claim is another number in place of its own.
    fn gives_another_value(&self) -> bool {
        let number = |it: &Problem| it.kind == ProblemKind::Number && it.instead.is_some();
        self.findings.lacks.is_empty() && self.findings.conflicts.iter().all(number)
    }
}

/// How much of what a claim speaks of must be there.
pub(super) fn enough(claim: &Analysis) -> f64 {
    let vague = claim.numbers.is_empty() && claim.denials.is_empty() && claim.directions.is_empty();
    if vague && claim.key_set().len() <= FEW {
        SUPPORTS_FEW
    } else {
        SUPPORTS
    }
}

impl Verifier {
    /// Makes the passages ready. Beyond a few megabytes the last ones are left out.
    pub fn new(sources: &[Source]) -> Self {
        Self {
            corpus: Corpus::new(sources),
        }
    }

    /// Checks a claim.
    pub fn check(&self, claim: &Claim) -> Checked {
        let ready = Ready::of(claim);
        if ready.claims_nothing() {
            return plain(Verdict::NoClaim);
        }
        if ready.too_long {
            return Checked {
                problems: vec![Problem::new(ProblemKind::Matter, ready.text, None)],
                ..plain(Verdict::NotFound)
            };
        }
        // A whole sentence with its condition or its judgement says what the passage says.
        let found = self
            .word_for_word(&ready, claim)
            .or_else(|| self.but_for_numbers(&ready));
        let mut checked = match found {
            Some(checked) if ready.quotes.is_empty() => checked,
            found => self.check_closely(&ready, claim, found),
        };
        self.check_citations(claim, &mut checked);
        checked
    }

    /// A claim that is whole sentences of a passage.
    fn word_for_word(&self, ready: &Ready, claim: &Claim) -> Option<Checked> {
        let wanted = Stream::of(&ready.text);
        if wanted.len() == 0 {
            return None;
        }
        let order = self.cited_first(claim);
        let found = order.into_iter().find_map(|at| {
            let passage = self.corpus.passages.get(at)?;
            let bytes = passage.stream.find_whole(&wanted, &passage.spans)?;
            let said = passage.source.text.get(bytes.clone())?;
            if !same_figures(said, &ready.text) {
                return None;
            }
            let whole = self.corpus.window_of(at, &bytes);
            let whole = whole.and_then(|it| self.corpus.span(&it));
            Some(evidence(&passage.source, whole.unwrap_or(bytes)))
        })?;
        Some(Checked {
            disputed: self.disputes(&ready.text, claim, &found.work),
            evidence: vec![found],
            overlap: 1.0,
            ..plain(Verdict::Supported)
        })
    }

    /// A claim that is a sentence of a passage word for word, but for its numbers. Whatever else
    /// stands elsewhere, it is that sentence with something changed.
    fn but_for_numbers(&self, ready: &Ready) -> Option<Checked> {
        let claim = self.corpus.analyse(&ready.text);
        let found = self.corpus.but_for_numbers(&claim);
        let (window, claimed, instead) = found.into_iter().next()?;
        let passage = self.corpus.passages.get(window.passage)?;
        let span = self.corpus.span(&window)?;
        let problem = Problem::new(ProblemKind::Number, claimed, Some(instead));
        Some(Checked {
            evidence: vec![evidence(&passage.source, span)],
            problems: vec![problem],
            overlap: 1.0,
            ..plain(Verdict::Contradicted)
        })
    }

    /// Passages of other works that say otherwise than a claim that stands in one word for word.
    fn disputes(&self, text: &str, claim: &Claim, work: &str) -> Vec<Evidence> {
        let looks = self.looks(text, claim, &[]);
        let against = looks.iter().filter(|it| {
            it.opposes() && it.overlap >= 1.0 - MARGIN && self.work(&it.window) != Some(work)
        });
        against.filter_map(|it| self.evidence(it)).take(3).collect()
    }

    pub(super) fn is_cited(&self, passage: usize, claim: &Claim) -> bool {
        let passage = self.corpus.passages.get(passage);
        passage.is_some_and(|it| claim.cited.contains(&it.source.id))
    }

    pub(super) fn cited_first(&self, claim: &Claim) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.corpus.passages.len()).collect();
        order.sort_by_key(|&at| !self.is_cited(at, claim));
        order
    }

    /// A text beside the sentences that speak most of the same matter.
    pub(super) fn compare(
        &self,
        text: &str,
        claim: &Claim,
        quoted: &[(usize, Range<usize>)],
    ) -> Checked {
        let looks = self.looks(text, claim, quoted);
        if looks.is_empty() {
            let problem = Problem::new(ProblemKind::Matter, text, None);
            let nothing = Checked {
                problems: vec![problem],
                ..plain(Verdict::NotFound)
            };
            return self.paraphrased(text, claim).unwrap_or(nothing);
        }
        let checked = self.judge(&looks);
        if checked.verdict == Verdict::NotFound {
            return self.paraphrased(text, claim).unwrap_or(checked);
        }
        checked
    }

    fn looks(&self, text: &str, claim: &Claim, quoted: &[(usize, Range<usize>)]) -> Vec<Look> {
        let analysis = self.corpus.analyse(text);
        let mut windows = self.corpus.best(&analysis, CLOSELY);
        let wanted = analysis.key_set();
        // The rest of a claim that quotes is about the place of the quote.
        for (passage, bytes) in quoted {
            let Some(window) = self.corpus.window_of(*passage, bytes) else {
                continue;
            };
            let there = self.corpus.analysis(&window);
            let overlap = self.corpus.overlap(&wanted, &there.key_set());
            let overlap = if overlap >= MUCH || only_introduces(&analysis, claim) {
                overlap.max(enough(&analysis))
            } else {
                overlap
            };
            windows.insert(0, (window, overlap));
        }
        windows
            .into_iter()
            .filter_map(|(window, overlap)| self.look(text, &analysis, window, overlap, claim))
            .collect()
    }

    fn look(
        &self,
        text: &str,
        claim: &Analysis,
        window: Window,
        overlap: f64,
        asked: &Claim,
    ) -> Option<Look> {
        let passage = self.corpus.passages.get(window.passage)?;
        let said = passage.source.text.get(self.corpus.span(&window)?)?;
        let there = self.corpus.analysis(&window);
        let sides = Sides {
            corpus: &self.corpus,
            passage,
            text,
            claim,
            said,
            window: &there,
        };
        Some(Look {
            findings: sides.compare(),
            both_deny: !claim.denials.is_empty() && !there.denials.is_empty(),
            cited: self.is_cited(window.passage, asked),
            least: if is_foreign(&claim.tokens) {
                SUPPORTS_STRICTLY
            } else {
                enough(claim)
            },
            window,
            overlap,
        })
    }

    fn judge(&self, looks: &[Look]) -> Checked {
        let rank = |it: &&Look| it.overlap + if it.cited { CITED } else { 0.0 };
        let best = |of: &dyn Fn(&Look) -> bool| {
            let fitting = looks.iter().filter(|it| of(it));
            fitting.max_by(|one, other| rank(one).total_cmp(&rank(other)))
        };
        // Nor do words of the sentences around it undo what one of them denies as the claim does.
        let beside = |it: &Look| {
            let of_part =
                |part: &Look| part.supports() && part.both_deny && it.window.holds(&part.window);
            it.turns() && looks.iter().any(of_part)
        };
        let opposing = best(&|it| it.opposes() && !beside(it));
        // More text that happens to have the same words does not undo what its part says.
        let undone = |it: &Look| {
            looks.iter().any(|part| {
                part.turns() && part.overlap >= it.overlap - MARGIN && it.window.holds(&part.window)
            })
        };
        let supporting = best(&|it| it.supports() && !undone(it));
        if let Some(support) = supporting
            && opposing.is_none_or(|it| support.overlap >= it.overlap - MARGIN)
        {
            if let Some(disputed) = self.disputed(looks, support) {
                return disputed;
            }
            let disputed = looks.iter().filter(|it| {
                it.opposes()
                    && it.overlap >= support.overlap - MARGIN
                    && self.work(&it.window) != self.work(&support.window)
            });
            return Checked {
                evidence: self.evidence(support).into_iter().collect(),
                disputed: disputed
                    .filter_map(|it| self.evidence(it))
                    .take(3)
                    .collect(),
                overlap: support.overlap,
                ..plain(Verdict::Supported)
            };
        }
        if let Some(look) = opposing {
            let findings = look.findings.clone();
            let problems = findings.conflicts.into_iter().chain(findings.lacks);
            return Checked {
                evidence: self.evidence(look).into_iter().collect(),
                problems: problems.collect(),
                overlap: look.overlap,
                ..plain(Verdict::Contradicted)
            };
        }
        self.not_found(looks, best(&|_| true))
    }

    /// What supports a claim, if the same work has another value for the same thing: neither is
    /// what it says.
    fn disputed(&self, looks: &[Look], support: &Look) -> Option<Checked> {
        let against = looks.iter().filter(|it| {
            it.opposes()
                && it.gives_another_value()
                && it.overlap >= support.overlap - AS_MUCH
                && !it.window.touches(&support.window)
                && self.work(&it.window) == self.work(&support.window)
        });
        let against: Vec<&Look> = against.take(3).collect();
        let first = against.first()?;
        Some(Checked {
            evidence: self.evidence(support).into_iter().collect(),
            problems: first.findings.conflicts.clone(),
            disputed: against.iter().filter_map(|it| self.evidence(it)).collect(),
            overlap: support.overlap,
            ..plain(Verdict::Disputed)
        })
    }

    /// Nothing says so; what comes closest is told.
    fn not_found(&self, looks: &[Look], best: Option<&Look>) -> Checked {
        let closest = looks
            .iter()
            .filter(|it| it.overlap >= SUPPORTS)
            .max_by(|one, other| one.overlap.total_cmp(&other.overlap));
        let problems = match closest {
            Some(look) if !look.findings.lacks.is_empty() => look.findings.lacks.clone(),
            _ => vec![Problem::new(ProblemKind::Matter, "", None)],
        };
        Checked {
            evidence: closest
                .and_then(|it| self.evidence(it))
                .into_iter()
                .collect(),
            problems,
            overlap: best.map_or(0.0, |it| it.overlap),
            ..plain(Verdict::NotFound)
        }
    }

    fn work(&self, window: &Window) -> Option<&str> {
        let passage = self.corpus.passages.get(window.passage)?;
        Some(&passage.source.work)
    }

    fn evidence(&self, look: &Look) -> Option<Evidence> {
        let passage = self.corpus.passages.get(look.window.passage)?;
        let span = self.corpus.span(&look.window)?;
        Some(evidence(&passage.source, span))
    }
}

/// A verdict and nothing else.
pub(super) fn plain(verdict: Verdict) -> Checked {
    Checked {
        verdict,
        evidence: Vec::new(),
        disputed: Vec::new(),
        problems: Vec::new(),
        overlap: 0.0,
        corrected: false,
    }
}
