//! Claims that join several statements, each of which may have its evidence in a different place.

use std::ops::Range;

use super::{
    Claim, ClaimCheck, ClaimVerdict, Heuristic, Verifier, claim::PreparedClaim, verdict::bare_check,
};

/// With a smaller overlap each part of the claim is checked separately.
const CERTAIN_OVERLAP: f64 = 0.62;

impl Verifier {
    /// Compares a claim as a whole and, if that is not certain, part by part: the parts may have
    /// their evidence in different places.
    pub(super) fn compare_parts(
        &self,
        ready: &PreparedClaim,
        claim: &Claim,
        quoted: &[(usize, Range<usize>)],
    ) -> ClaimCheck {
        let text = if ready.quotes.is_empty() {
            &ready.text
        } else {
            &ready.unquoted
        };
        let whole = self.compare(text, claim, quoted);
        if whole.verdict == ClaimVerdict::Supported && whole.overlap >= CERTAIN_OVERLAP {
            return whole;
        }
        let parts = split_parts(text);
        let on = self.corpus.heuristics.contains(Heuristic::CompoundClaims);
        if !on || parts.len() < 2 || !quoted.is_empty() {
            return whole;
        }
        let all: Vec<ClaimCheck> = parts
            .iter()
            .map(|it| self.compare(it, claim, &[]))
            .collect();
        let worst = |verdict: ClaimVerdict| all.iter().find(|it| it.verdict == verdict).cloned();
        let supported = all.iter().all(|it| it.verdict == ClaimVerdict::Supported);
        if supported {
            let overlap = all.iter().map(|it| it.overlap).fold(1.0, f64::min);
            return ClaimCheck {
                evidence: all.iter().flat_map(|it| it.evidence.clone()).collect(),
                disputed: all.iter().flat_map(|it| it.disputed.clone()).collect(),
                overlap,
                ..bare_check(ClaimVerdict::Supported)
            };
        }
        if whole.verdict == ClaimVerdict::Supported {
            return worst(ClaimVerdict::Contradicted)
                .or_else(|| worst(ClaimVerdict::NotFound))
                .unwrap_or(whole);
        }
        whole
    }
}

/// Splits a claim into parts that each state something.
fn split_parts(text: &str) -> Vec<&str> {
    const CONJUNCTIONS: [&str; 8] = [
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
    for joint in CONJUNCTIONS {
        all = all.into_iter().flat_map(|it| it.split(joint)).collect();
    }
    let long_enough = |it: &&str| it.split_whitespace().count() >= 3;
    if all.iter().all(long_enough) {
        all
    } else {
        vec![text]
    }
}
