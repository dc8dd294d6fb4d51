//! The verdict on a claim, from the sentences that speak of the same matter.

use std::ops::Range;

use super::{
    Checked, Claim, Evidence, Problem, ProblemKind, Source, Verdict,
    analysis::Analysis,
    claim::Ready,
    compare::{Findings, Sides},
    corpus::{Corpus, Window},
    quote::Stream,
    within::evidence,
};

/// Checks claims against a set of passages.
pub struct Verifier {
    pub(super) corpus: Corpus,
}

/// How much of what a claim speaks of sentences must speak of to support it.
const SUPPORTS: f64 = 0.5;

/// Below this it is looked whether each part of the claim is supported by itself.
const SURELY: f64 = 0.62;

/// And to speak against it.
const OPPOSES: f64 = 0.4;

/// Sentences that speak this much less of the matter than others can't overrule them.
const MARGIN: f64 = 0.12;

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
    findings: Findings,
}

impl Look {
    fn supports(&self) -> bool {
        self.findings.conflicts.is_empty()
            && self.findings.lacks.is_empty()
            && self.overlap >= SUPPORTS
    }

    fn opposes(&self) -> bool {
        !self.findings.conflicts.is_empty() && self.overlap >= OPPOSES
    }

    /// Whether all that speaks against the claim is another number in place of its own.
    fn gives_another_value(&self) -> bool {
        let number = |it: &Problem| it.kind == ProblemKind::Number && it.instead.is_some();
        self.findings.lacks.is_empty() && self.findings.conflicts.iter().all(number)
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

    fn is_cited(&self, passage: usize, claim: &Claim) -> bool {
        let passage = self.corpus.passages.get(passage);
        passage.is_some_and(|it| claim.cited.contains(&it.source.id))
    }

    pub(super) fn cited_first(&self, claim: &Claim) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.corpus.passages.len()).collect();
        order.sort_by_key(|&at| !self.is_cited(at, claim));
        order
    }

    /// A claim as a whole, and where that does not settle it, part by part: what it joins may
    /// stand in different places.
    pub(super) fn compare_parts(
        &self,
        ready: &Ready,
        claim: &Claim,
        quoted: &[(usize, Range<usize>)],
    ) -> Checked {
        let text = if ready.quotes.is_empty() {
            &ready.text
        } else {
            &ready.unquoted
        };
        let whole = self.compare(text, claim, quoted);
        if whole.verdict == Verdict::Supported && whole.overlap >= SURELY {
            return whole;
        }
        let parts = parts(text);
        if parts.len() < 2 || !quoted.is_empty() {
            return whole;
        }
        let all: Vec<Checked> = parts
            .iter()
            .map(|it| self.compare(it, claim, &[]))
            .collect();
        let worst = |wanted: Verdict| all.iter().find(|it| it.verdict == wanted).cloned();
        let supported = all.iter().all(|it| it.verdict == Verdict::Supported);
        if supported {
            let overlap = all.iter().map(|it| it.overlap).fold(1.0, f64::min);
            return Checked {
                evidence: all.iter().flat_map(|it| it.evidence.clone()).collect(),
                disputed: all.iter().flat_map(|it| it.disputed.clone()).collect(),
                overlap,
                ..plain(Verdict::Supported)
            };
        }
        if whole.verdict == Verdict::Supported {
            return worst(Verdict::Contradicted)
                .or_else(|| worst(Verdict::NotFound))
                .unwrap_or(whole);
        }
        whole
    }

    /// A text beside the sentences that speak most of the same matter.
    fn compare(&self, text: &str, claim: &Claim, quoted: &[(usize, Range<usize>)]) -> Checked {
        let looks = self.looks(text, claim, quoted);
        if looks.is_empty() {
            let problem = Problem::new(ProblemKind::Matter, text, None);
            return Checked {
                problems: vec![problem],
                ..plain(Verdict::NotFound)
            };
        }
        self.judge(&looks)
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
            let little = wanted.len() <= 4 || overlap >= 0.25;
            let overlap = if little {
                overlap.max(SUPPORTS)
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
            cited: self.is_cited(window.passage, asked),
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
        let opposing = best(&Look::opposes);
        let supporting = best(&Look::supports);
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
            Some(look) => look.findings.lacks.clone(),
            None => vec![Problem::new(ProblemKind::Matter, "", None)],
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

/// The parts of a claim that say something each.
fn parts(text: &str) -> Vec<&str> {
    const JOINTS: [&str; 8] = [
        ", and ",
        ", but ",
        "; ",
        ", while ",
        ", whereas ",
        ", although ",
        " while ",
        " whereas ",
    ];
    let mut all = vec![text];
    for joint in JOINTS {
        all = all.into_iter().flat_map(|it| it.split(joint)).collect();
    }
    let long_enough = |it: &&str| it.split_whitespace().count() >= 3;
    if all.iter().all(long_enough) {
        all
    } else {
        vec![text]
    }
}

/// A verdict and nothing else.
fn plain(verdict: Verdict) -> Checked {
    Checked {
        verdict,
        evidence: Vec::new(),
        disputed: Vec::new(),
        problems: Vec::new(),
        overlap: 0.0,
        corrected: false,
    }
}
