//! What a window of sentences says about a claim.

use super::{
    ClaimProblem, ClaimProblemKind, evidence_comparison::Discrepancies,
    polarity::PolarityDifference, sentence_window::SentenceWindow,
};

/// Share of the claim's words that a sentence with another number must contain to contradict it.
const MIN_CONTRADICTION_OVERLAP: f64 = 0.4;

/// Result of comparing a claim with a window.
pub(super) struct WindowComparison {
    pub(super) window: SentenceWindow,
    pub(super) overlap: f64,
    pub(super) cited: bool,
    /// Whether it has nearly the same words.
    pub(super) is_close: bool,
    pub(super) difference: Option<PolarityDifference>,
    pub(super) discrepancies: Discrepancies,
}

impl WindowComparison {
    pub(super) fn supports(&self) -> bool {
        self.is_close
            && self.difference.is_none()
            && !self.discrepancies.computed
            && self.discrepancies.conflicts.is_empty()
            && self.discrepancies.missing.is_empty()
    }

    /// What it says instead, if it contradicts the claim.
    pub(super) fn conflicts(&self) -> Vec<ClaimProblem> {
        let mut all = Vec::new();
        if self.overlap >= MIN_CONTRADICTION_OVERLAP {
            all.clone_from(&self.discrepancies.conflicts);
        }
        if let Some(PolarityDifference::Opposite(problem)) = &self.difference
            && self.is_close
            && self.discrepancies.missing.is_empty()
        {
            all.push(problem.clone());
        }
        all
    }

    pub(super) fn contradicts(&self) -> bool {
        !self.conflicts().is_empty()
    }

    /// Whether different numbers are the only conflicts.
    pub(super) fn differs_only_in_number(&self) -> bool {
        let number =
            |it: &ClaimProblem| it.kind == ClaimProblemKind::Number && it.instead.is_some();
        self.difference.is_none()
            && self.discrepancies.missing.is_empty()
            && self.discrepancies.conflicts.iter().all(number)
    }
}
