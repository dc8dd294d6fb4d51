//! What sentences set against something else is not said of that: `unlike A, B rose` says that B
//! did.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    Problem, ProblemKind,
    compare::{Findings, Sides},
};

#[expect(clippy::expect_used, reason = "it is written here and tested")]
static UNLIKE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:unlike|in\s+contrast\s+to|contrary\s+to|as\s+opposed\s+to)\s+([^,.;:()]{2,80})",
    )
    .expect("the pattern is right")
});

pub(super) fn compare(sides: &Sides<'_>, findings: &mut Findings) {
    if UNLIKE.is_match(sides.text) || !sides.claim.denials.is_empty() {
        return;
    }
    let claimed = sides.claim.key_set();
    for found in UNLIKE.captures_iter(sides.said) {
        let Some(other) = found.get(1) else { continue };
        let apart = sides.corpus.analyse(other.as_str());
        let keys = apart.key_set();
        if !keys.is_empty() && keys.iter().all(|it| claimed.contains(it)) {
            let problem = Problem::new(
                ProblemKind::Negation,
                other.as_str(),
                Some(found[0].to_owned()),
            );
            findings.conflicts.push(problem);
        }
    }
}
