//! The verdict on a claim, from the sentences that share its words.
//!
//! Code judges what it can compare: quotes, numbers, names, and sentences that are close, with
//! nearly the same words. A claim in other words is not checked.

use std::{collections::HashSet, ops::Range};

use super::{
    Claim, ClaimCheck, ClaimProblem, ClaimProblemKind, ClaimVerdict, EvidencePassage, EvidenceSpan,
    HeuristicSet,
    claim::PreparedClaim,
    corpus::{Corpus, CorpusPassage},
    evidence_comparison::ClaimEvidencePair,
    evidence_span::evidence_span,
    numbers::equality::{NumberMatch, compare_numbers},
    polarity::{PolarityDifference, find_difference},
    quotes::{
        exact_match::same_numbers, fuzzy_match::NormalizedText, quote_check::is_quote_introduction,
    },
    sentence_features::{SentenceFeatures, opposite_key, strip_possessive},
    sentence_window::SentenceWindow,
    text::{
        lexicon::{self, WordForce},
        tokenizer::LetterCase,
    },
    window_comparison::WindowComparison,
};

/// Checks claims against a set of passages.
pub struct Verifier {
    pub(super) corpus: Corpus,
}

/// Share of the claim's words and numbers that a close sentence contains.
const MIN_CLOSE_OVERLAP: f64 = 0.75;

/// The same for a claim that may not be English, whose opposites the lexicon does not know.
const MIN_CLOSE_OVERLAP_STRICT: f64 = 0.97;

/// Distinct function words that tell that a claim is English.
const MIN_ENGLISH_WORDS: usize = 2;

/// Share of the claim's words with which a sentence is shown as the closest.
const MIN_SHOWN_OVERLAP: f64 = 0.5;

/// Sentences with an overlap smaller by this much cannot overrule others.
const OVERRULE_MARGIN: f64 = 0.12;

/// Sentences that are compared in detail.
const MAX_WINDOWS: usize = 8;

/// Two sentences whose overlaps differ by at most this give values for the same thing.
const TIE_MARGIN: f64 = 0.01;

/// Bonus for a cited passage, so that a correct citation is preferred to a slightly better match.
const CITED_BONUS: f64 = 0.05;

impl Verifier {
    /// Analyzes the passages. Beyond a few megabytes the last ones are ignored.
    pub fn new(sources: &[EvidencePassage]) -> Self {
        Self::with_heuristics(sources, HeuristicSet::all())
    }

    /// The same with only some of the heuristics.
    pub fn with_heuristics(sources: &[EvidencePassage], heuristics: HeuristicSet) -> Self {
        Self {
            corpus: Corpus::new(sources, heuristics),
        }
    }

    /// Checks a claim.
    pub fn check(&self, claim: &Claim) -> ClaimCheck {
        let ready = PreparedClaim::new(claim);
        if ready.makes_no_claim() {
            return bare_check(ClaimVerdict::NoClaim);
        }
        if ready.too_long {
            return ClaimCheck {
                problems: vec![ClaimProblem::new(
                    ClaimProblemKind::Matter,
                    ready.text,
                    None,
                )],
                ..bare_check(ClaimVerdict::NotFound)
            };
        }
        // A verbatim sentence with its condition or rejection says what the passage says.
        let found = self
            .check_verbatim(&ready, claim)
            .or_else(|| self.check_changed_numbers(&ready));
        let mut checked = match found {
            Some(checked) if ready.quotes.is_empty() => checked,
            found => self.check_quotes(&ready, claim, found),
        };
        if checked.verdict == ClaimVerdict::NotChecked {
            self.check_exact_parts(&ready, claim, &mut checked);
        }
        self.check_citations(claim, &mut checked);
        checked
    }

    /// Supports a claim that consists of whole sentences of a passage.
    fn check_verbatim(&self, ready: &PreparedClaim, claim: &Claim) -> Option<ClaimCheck> {
        let wanted = NormalizedText::new(&ready.text);
        if wanted.len() == 0 {
            return None;
        }
        let order = self.passages_cited_first(claim);
        let found = order.into_iter().find_map(|at| {
            let passage = self.corpus.passages.get(at)?;
            let bytes = passage
                .normalized
                .find_sentences(&wanted, &passage.sentence_spans)?;
            let said = passage.source.text.get(bytes.clone())?;
            if !same_numbers(said, &ready.text) {
                return None;
            }
            let whole = self.corpus.window_covering(at, &bytes);
            let whole = whole.and_then(|it| self.corpus.window_span(&it));
            Some(evidence_span(&passage.source, whole.unwrap_or(bytes)))
        })?;
        Some(ClaimCheck {
            disputed: self.find_disputes(&ready.text, claim, &found.work),
            evidence: vec![found],
            overlap: 1.0,
            ..bare_check(ClaimVerdict::Supported)
        })
    }

    /// Contradicts a claim that equals a sentence of a passage except for its numbers. Other
    /// passages do not matter: the claim is that sentence with a changed number.
    fn check_changed_numbers(&self, ready: &PreparedClaim) -> Option<ClaimCheck> {
        let claim = self.corpus.analyze(&ready.text);
        let found = self.corpus.same_except_numbers(&claim);
        let (window, claimed, instead) = found.into_iter().next()?;
        let passage = self.corpus.passages.get(window.passage)?;
        let span = self.corpus.window_span(&window)?;
        let problem = ClaimProblem::new(ClaimProblemKind::Number, claimed, Some(instead));
        Some(ClaimCheck {
            evidence: vec![evidence_span(&passage.source, span)],
            problems: vec![problem],
            overlap: 1.0,
            ..bare_check(ClaimVerdict::Contradicted)
        })
    }

    /// Passages of other works that contradict a claim that one work contains verbatim.
    fn find_disputes(&self, text: &str, claim: &Claim, work: &str) -> Vec<EvidenceSpan> {
        let looks = self.compare_windows(text, claim, &[]);
        let against = looks.iter().filter(|it| {
            it.contradicts()
                && it.overlap >= 1.0 - OVERRULE_MARGIN
                && self.work_id(&it.window) != Some(work)
        });
        against
            .filter_map(|it| self.window_evidence(it))
            .take(3)
            .collect()
    }

    pub(super) fn is_cited(&self, passage: usize, claim: &Claim) -> bool {
        let passage = self.corpus.passages.get(passage);
        passage.is_some_and(|it| claim.cited.contains(&it.source.id))
    }

    pub(super) fn passages_cited_first(&self, claim: &Claim) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.corpus.passages.len()).collect();
        order.sort_by_key(|&at| !self.is_cited(at, claim));
        order
    }

    /// Compares a text with the sentences that share the most words with it.
    pub(super) fn compare(
        &self,
        text: &str,
        claim: &Claim,
        quoted: &[(usize, Range<usize>)],
    ) -> ClaimCheck {
        let looks = self.compare_windows(text, claim, quoted);
        self.decide(&looks)
    }

    fn compare_windows(
        &self,
        text: &str,
        claim: &Claim,
        quoted: &[(usize, Range<usize>)],
    ) -> Vec<WindowComparison> {
        let analysis = self.corpus.analyze(text);
        let mut windows = self.corpus.best_windows(&analysis, MAX_WINDOWS);
        let wanted = analysis.key_set();
        // The rest of a claim with a quote is about the place of the quote.
        for (passage, bytes) in quoted {
            let Some(window) = self.corpus.window_covering(*passage, bytes) else {
                continue;
            };
            let there = self.corpus.window_features(&window);
            let overlap = self.corpus.overlap(&wanted, &there.key_set());
            let overlap = if is_quote_introduction(&analysis, claim) {
                1.0
            } else {
                overlap
            };
            windows.insert(0, (window, overlap));
        }
        windows
            .into_iter()
            .filter_map(|(window, overlap)| {
                self.compare_window(text, &analysis, window, overlap, claim)
            })
            .collect()
    }

    fn compare_window(
        &self,
        text: &str,
        claim: &SentenceFeatures,
        window: SentenceWindow,
        overlap: f64,
        asked: &Claim,
    ) -> Option<WindowComparison> {
        let passage = self.corpus.passages.get(window.passage)?;
        let said = passage.source.text.get(self.corpus.window_span(&window)?)?;
        let there = self.corpus.window_features(&window);
        let sides = ClaimEvidencePair {
            corpus: &self.corpus,
            passage,
            claim_text: text,
            claim,
            window_text: said,
            window: &there,
        };
        // What a quote leaves out of its sentence is checked with the quote.
        let introduces = is_quote_introduction(claim, asked);
        let difference = if introduces {
            None
        } else {
            find_difference(&sides)
        };
        Some(WindowComparison {
            discrepancies: sides.compare(),
            difference,
            is_close: introduces
                || self.shared_part(claim, &there, passage) >= required_share(claim),
            cited: self.is_cited(window.passage, asked),
            window,
            overlap,
        })
    }

    /// Weighted share of the claim's words and numbers that a window contains, 0 to 1.
    fn shared_part(
        &self,
        claim: &SentenceFeatures,
        window: &SentenceFeatures,
        passage: &CorpusPassage,
    ) -> f64 {
        let wanted = claim.key_set();
        let mut there = window.key_set();
        // The opposite direction is a difference of its own, not a missing word.
        let turned = wanted
            .iter()
            .filter(|key| opposite_key(key).is_some_and(|it| there.contains(it.as_str())));
        let mut known: Vec<&str> = turned.copied().collect();
        // `Okafor (2018) reports` names the paper.
        for (token, key) in claim.tokens.iter().zip(&claim.keys) {
            if let Some(key) = key
                && token.case != LetterCase::Lower
                && passage.title.has_name(strip_possessive(&token.text))
            {
                known.push(key);
            }
        }
        there.extend(known);
        let words: f64 = wanted.iter().map(|it| self.corpus.word_weight(it)).sum();
        let same = claim.numbers.iter().filter(|mine| {
            let mut said = window.numbers.iter();
            said.any(|it| compare_numbers(mine, it) == NumberMatch::Same)
                || passage.is_publication_year(mine)
        });
        let shared = words * self.corpus.overlap(&wanted, &there) + same.count() as f64;
        let all = words + claim.numbers.len() as f64;
        if all > 0.0 { shared / all } else { 0.0 }
    }

    fn decide(&self, looks: &[WindowComparison]) -> ClaimCheck {
        let rank = |it: &&WindowComparison| it.overlap + if it.cited { CITED_BONUS } else { 0.0 };
        let best = |of: &dyn Fn(&WindowComparison) -> bool| {
            let fitting = looks.iter().filter(|it| of(it));
            fitting.max_by(|one, other| rank(one).total_cmp(&rank(other)))
        };
        // A sentence that supports the claim is not undone by the sentences around it.
        let beside = |it: &WindowComparison| {
            let part =
                |part: &WindowComparison| part.supports() && it.window.contains(&part.window);
            looks.iter().any(part)
        };
        let opposing = best(&|it| it.contradicts() && !beside(it));
        // A larger window that happens to contain the same words does not overrule its part.
        let undone = |it: &WindowComparison| {
            looks.iter().any(|part| {
                part.contradicts()
                    && part.overlap >= it.overlap - OVERRULE_MARGIN
                    && it.window.contains(&part.window)
            })
        };
        let supporting = best(&|it| it.supports() && !undone(it));
        if let Some(support) = supporting
            && opposing.is_none_or(|it| support.overlap >= it.overlap - OVERRULE_MARGIN)
        {
            if let Some(disputed) = self.check_disputed(looks, support) {
                return disputed;
            }
            let disputed = looks.iter().filter(|it| {
                it.contradicts()
                    && it.overlap >= support.overlap - OVERRULE_MARGIN
                    && self.work_id(&it.window) != self.work_id(&support.window)
            });
            return ClaimCheck {
                evidence: self.window_evidence(support).into_iter().collect(),
                disputed: disputed
                    .filter_map(|it| self.window_evidence(it))
                    .take(3)
                    .collect(),
                overlap: support.overlap,
                ..bare_check(ClaimVerdict::Supported)
            };
        }
        if let Some(look) = opposing {
            let mut problems = look.conflicts();
            problems.extend(look.discrepancies.missing.clone());
            return ClaimCheck {
                evidence: self.window_evidence(look).into_iter().collect(),
                problems,
                overlap: look.overlap,
                ..bare_check(ClaimVerdict::Contradicted)
            };
        }
        self.undecided_check(best(&|_| true))
    }

    /// The verdict on a supported claim if the same work gives a different value for the same
    /// thing: neither value is certain.
    fn check_disputed(
        &self,
        looks: &[WindowComparison],
        support: &WindowComparison,
    ) -> Option<ClaimCheck> {
        let against = looks.iter().filter(|it| {
            it.contradicts()
                && it.differs_only_in_number()
                && it.overlap >= support.overlap - TIE_MARGIN
                && !it.window.overlaps(&support.window)
                && self.work_id(&it.window) == self.work_id(&support.window)
        });
        let against: Vec<&WindowComparison> = against.take(3).collect();
        let first = against.first()?;
        Some(ClaimCheck {
            evidence: self.window_evidence(support).into_iter().collect(),
            problems: first.discrepancies.conflicts.clone(),
            disputed: against
                .iter()
                .filter_map(|it| self.window_evidence(it))
                .collect(),
            overlap: support.overlap,
            ..bare_check(ClaimVerdict::Disputed)
        })
    }

    /// The verdict if nothing supports or contradicts the claim, with the closest evidence: a close
    /// sentence that lacks a number or a name, or states it under a condition, does not say it.
    fn undecided_check(&self, closest: Option<&WindowComparison>) -> ClaimCheck {
        let Some(look) = closest else {
            return bare_check(ClaimVerdict::NotChecked);
        };
        let shown = Some(look).filter(|it| it.overlap >= MIN_SHOWN_OVERLAP);
        let evidence = shown.and_then(|it| self.window_evidence(it));
        let mut problems = Vec::new();
        if shown.is_some() {
            problems.clone_from(&look.discrepancies.missing);
        }
        if let Some(PolarityDifference::Open(problem)) = &look.difference
            && look.is_close
        {
            problems.push(problem.clone());
        }
        let verdict = if problems.is_empty() {
            ClaimVerdict::NotChecked
        } else {
            ClaimVerdict::NotFound
        };
        ClaimCheck {
            evidence: evidence.into_iter().collect(),
            overlap: look.overlap,
            problems,
            ..bare_check(verdict)
        }
    }

    fn work_id(&self, window: &SentenceWindow) -> Option<&str> {
        let passage = self.corpus.passages.get(window.passage)?;
        Some(&passage.source.work)
    }

    fn window_evidence(&self, look: &WindowComparison) -> Option<EvidenceSpan> {
        let passage = self.corpus.passages.get(look.window.passage)?;
        let span = self.corpus.window_span(&look.window)?;
        Some(evidence_span(&passage.source, span))
    }
}

/// Share of the claim's words and numbers that a close sentence must contain.
fn required_share(claim: &SentenceFeatures) -> f64 {
    let words = claim.tokens.iter().map(|it| it.text.as_str());
    let english: HashSet<&str> = words
        .filter(|it| lexicon::is_stop_word(it) && lexicon::force(it) != Some(WordForce::Negates))
        .collect();
    if english.len() < MIN_ENGLISH_WORDS {
        MIN_CLOSE_OVERLAP_STRICT
    } else {
        MIN_CLOSE_OVERLAP
    }
}

/// A check with only a verdict.
pub(super) fn bare_check(verdict: ClaimVerdict) -> ClaimCheck {
    ClaimCheck {
        verdict,
        evidence: Vec::new(),
        disputed: Vec::new(),
        problems: Vec::new(),
        overlap: 0.0,
        corrected: false,
    }
}
