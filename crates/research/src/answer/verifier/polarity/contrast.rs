//! Contrasts: `unlike A, B rose` says that B rose, and says nothing of the kind about A.

use std::sync::LazyLock;

use regex::Regex;

use crate::answer::verifier::{
    ClaimProblem, ClaimProblemKind,
    evidence_comparison::{ClaimEvidencePair, Discrepancies},
};

#[expect(
    clippy::expect_used,
    reason = "the pattern is a constant and is tested"
)]
static CONTRAST_PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:unlike|in\s+contrast\s+to|contrary\s+to|as\s+opposed\s+to)\s+([^,.;:()]{2,80})",
    )
    .expect("the pattern is valid")
});

pub(crate) fn compare(sides: &ClaimEvidencePair<'_>, findings: &mut Discrepancies) {
    if CONTRAST_PATTERN.is_match(sides.claim_text) || !sides.claim.negation_targets.is_empty() {
        return;
    }
    let claimed = sides.claim.key_set();
    for found in CONTRAST_PATTERN.captures_iter(sides.window_text) {
        let Some(other) = found.get(1) else { continue };
        let apart = sides.corpus.analyze(other.as_str());
        let keys = apart.key_set();
        if !keys.is_empty() && keys.iter().all(|it| claimed.contains(it)) {
            let problem = ClaimProblem::new(
                ClaimProblemKind::Negation,
                other.as_str(),
                Some(found[0].to_owned()),
            );
            findings.conflicts.push(problem);
        }
    }
}
