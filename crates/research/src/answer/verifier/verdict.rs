//! The verdict on a claim, from the sentences that share its words.

use std::ops::Range;

use super::{
    Claim, ClaimCheck, ClaimProblem, ClaimProblemKind, ClaimVerdict, EvidencePassage, EvidenceSpan,
    Heuristic, HeuristicSet,
    claim::PreparedClaim,
    corpus::Corpus,
    evidence_comparison::{ClaimEvidencePair, Discrepancies},
    evidence_span::evidence_span,
    quotes::{
        exact_match::same_numbers, fuzzy_match::NormalizedText, quote_check::is_quote_introduction,
    },
    sentence_features::SentenceFeatures,
    sentence_window::SentenceWindow,
    text::language_guess::is_unsupported_language,
};

/// Checks claims against a set of passages.
pub struct Verifier {
    pub(super) corpus: Corpus,
}

/// Share of the claim's words that supporting sentences must contain.
const MIN_SUPPORT_OVERLAP: f64 = 0.5;

/// The same for a claim of few words without numbers, negations, or directions: if one thing is
/// there and another is not, the claim is not half supported but invented.
const FEW_KEYS: usize = 4;
const MIN_SUPPORT_OVERLAP_FEW: f64 = 0.85;

/// The same for languages without a lexicon.
const MIN_SUPPORT_OVERLAP_STRICT: f64 = 0.97;

/// Share of the claim's words that contradicting sentences must contain.
const MIN_CONTRADICTION_OVERLAP: f64 = 0.4;

/// Sentences with an overlap smaller by this much cannot overrule others.
const OVERRULE_MARGIN: f64 = 0.12;

/// With at least this overlap the rest of a claim is about the place of its quote.
const MIN_QUOTE_OVERLAP: f64 = 0.5;

/// Sentences that are compared in detail.
const MAX_WINDOWS: usize = 8;

/// Two sentences whose overlaps differ by at most this give values for the same thing.
const TIE_MARGIN: f64 = 0.01;

/// Bonus for a cited passage, so that a correct citation is preferred to a slightly better match.
const CITED_BONUS: f64 = 0.05;

/// Result of comparing a claim with a window.
struct WindowComparison {
    window: SentenceWindow,
    overlap: f64,
    cited: bool,
    /// Overlap that the window needs to support the claim.
    required_overlap: f64,
    /// Whether both the claim and the window negate something.
    both_negate: bool,
    discrepancies: Discrepancies,
}

impl WindowComparison {
    fn supports(&self) -> bool {
        self.discrepancies.conflicts.is_empty()
            && self.discrepancies.missing.is_empty()
            && self.overlap >= self.required_overlap
    }

    fn contradicts(&self) -> bool {
        !self.discrepancies.conflicts.is_empty() && self.overlap >= MIN_CONTRADICTION_OVERLAP
    }

    /// Whether it says the opposite, in words rather than numbers.
    fn states_opposite(&self) -> bool {
        let word = |it: &ClaimProblem| {
            matches!(
                it.kind,
                ClaimProblemKind::Negation | ClaimProblemKind::Direction | ClaimProblemKind::Order
            )
        };
        self.contradicts()
            && self.discrepancies.missing.is_empty()
            && self.discrepancies.conflicts.iter().all(word)
    }

    /// Whether different numbers are the only conflicts.
    fn differs_only_in_number(&self) -> bool {
        let number =
            |it: &ClaimProblem| it.kind == ClaimProblemKind::Number && it.instead.is_some();
        self.discrepancies.missing.is_empty() && self.discrepancies.conflicts.iter().all(number)
    }
}

/// Overlap that evidence for this claim needs.
pub(super) fn required_overlap(claim: &SentenceFeatures, heuristics: HeuristicSet) -> f64 {
    let vague = claim.numbers.is_empty()
        && claim.negation_targets.is_empty()
        && claim.directions.is_empty();
    if heuristics.contains(Heuristic::ShortClaims) && vague && claim.key_set().len() <= FEW_KEYS {
        MIN_SUPPORT_OVERLAP_FEW
    } else {
        MIN_SUPPORT_OVERLAP
    }
}

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
        let found = self.check_verbatim(&ready, claim).or_else(|| {
            let on = self.corpus.heuristics.contains(Heuristic::ChangedNumbers);
            on.then(|| self.check_changed_numbers(&ready)).flatten()
        });
        let mut checked = match found {
            Some(checked) if ready.quotes.is_empty() => checked,
            found => self.check_quotes(&ready, claim, found),
        };
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
        if looks.is_empty() {
            let problem = ClaimProblem::new(ClaimProblemKind::Matter, text, None);
            let nothing = ClaimCheck {
                problems: vec![problem],
                ..bare_check(ClaimVerdict::NotFound)
            };
            return self.check_paraphrase(text, claim).unwrap_or(nothing);
        }
        let checked = self.decide(&looks);
        if checked.verdict == ClaimVerdict::NotFound {
            return self.check_paraphrase(text, claim).unwrap_or(checked);
        }
        checked
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
            let overlap = if overlap >= MIN_QUOTE_OVERLAP || is_quote_introduction(&analysis, claim)
            {
                overlap.max(required_overlap(&analysis, self.corpus.heuristics))
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
        Some(WindowComparison {
            discrepancies: sides.compare(),
            both_negate: !claim.negation_targets.is_empty() && !there.negation_targets.is_empty(),
            cited: self.is_cited(window.passage, asked),
            required_overlap: if self.corpus.heuristics.contains(Heuristic::Languages)
                && is_unsupported_language(&claim.tokens)
            {
                MIN_SUPPORT_OVERLAP_STRICT
            } else {
                required_overlap(claim, self.corpus.heuristics)
            },
            window,
            overlap,
        })
    }

    fn decide(&self, looks: &[WindowComparison]) -> ClaimCheck {
        let rank = |it: &&WindowComparison| it.overlap + if it.cited { CITED_BONUS } else { 0.0 };
        let best = |of: &dyn Fn(&WindowComparison) -> bool| {
            let fitting = looks.iter().filter(|it| of(it));
            fitting.max_by(|one, other| rank(one).total_cmp(&rank(other)))
        };
        // If one sentence of a window supports the claim and negates as it does, words of the
        // sentences around it do not make the window a contradiction.
        let beside = |it: &WindowComparison| {
            let of_part = |part: &WindowComparison| {
                part.supports() && part.both_negate && it.window.contains(&part.window)
            };
            it.states_opposite() && looks.iter().any(of_part)
        };
        let opposing = best(&|it| it.contradicts() && !beside(it));
        // A larger window that happens to contain the same words does not overrule its part.
        let undone = |it: &WindowComparison| {
            looks.iter().any(|part| {
                part.states_opposite()
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
            let findings = look.discrepancies.clone();
            let problems = findings.conflicts.into_iter().chain(findings.missing);
            return ClaimCheck {
                evidence: self.window_evidence(look).into_iter().collect(),
                problems: problems.collect(),
                overlap: look.overlap,
                ..bare_check(ClaimVerdict::Contradicted)
            };
        }
        self.not_found_check(looks, best(&|_| true))
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

    /// The verdict if nothing supports the claim, with the closest evidence.
    fn not_found_check(
        &self,
        looks: &[WindowComparison],
        best: Option<&WindowComparison>,
    ) -> ClaimCheck {
        let closest = looks
            .iter()
            .filter(|it| it.overlap >= MIN_SUPPORT_OVERLAP)
            .max_by(|one, other| one.overlap.total_cmp(&other.overlap));
        let problems = match closest {
            Some(look) if !look.discrepancies.missing.is_empty() => {
                look.discrepancies.missing.clone()
            }
            _ => vec![ClaimProblem::new(ClaimProblemKind::Matter, "", None)],
        };
        ClaimCheck {
            evidence: closest
                .and_then(|it| self.window_evidence(it))
                .into_iter()
                .collect(),
            problems,
            overlap: best.map_or(0.0, |it| it.overlap),
            ..bare_check(ClaimVerdict::NotFound)
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
