//! A draft after the check, with the verdict on each sentence.

use std::collections::BTreeSet;

use deliberate_toolkit::{ToolError, compute};

use super::{
    passage_pool::PassagePool,
    verifier::{Claim, ClaimCheck, ClaimVerdict, Verifier},
};

/// Sentences of a draft with their verdicts.
#[derive(Debug, Clone, Default)]
pub(super) struct CheckedAnswer {
    pub(super) sentences: Vec<(Claim, ClaimCheck)>,
    /// Indexes of the sentences that a model judged.
    pub(super) by_model: BTreeSet<usize>,
}

impl CheckedAnswer {
    /// Checks claims against all passages of the pool.
    pub(super) async fn check(claims: Vec<Claim>, pool: &PassagePool) -> Result<Self, ToolError> {
        let sources = pool.evidence_passages();
        let checked = compute(move || {
            let verifier = Verifier::new(&sources);
            let check = |claim: Claim| {
                let checked = verifier.check(&claim);
                (claim, checked)
            };
            Self {
                sentences: claims.into_iter().map(check).collect(),
                by_model: BTreeSet::new(),
            }
        })
        .await?;
        Ok(checked)
    }

    fn count(&self, verdict: ClaimVerdict) -> usize {
        let all = self.sentences.iter();
        all.filter(|(_, it)| it.verdict == verdict).count()
    }

    /// Number of sentences that claim something.
    pub(super) fn claim_count(&self) -> usize {
        self.sentences.len() - self.count(ClaimVerdict::NoClaim)
    }

    /// Share of claims that are supported; `None` if nothing is claimed.
    pub(super) fn support(&self) -> Option<f64> {
        let claims = self.claim_count();
        (claims > 0).then(|| self.count(ClaimVerdict::Supported) as f64 / claims as f64)
    }

    pub(super) fn is_supported(&self, least: f64) -> bool {
        self.support().is_some_and(|it| it >= least)
    }

    /// One line for each sentence that is contradicted, disputed, not found, or not checked.
    pub(super) fn problems(&self) -> Vec<String> {
        let wrong = self.sentences.iter().filter(|(_, checked)| {
            matches!(
                checked.verdict,
                ClaimVerdict::Contradicted
                    | ClaimVerdict::Disputed
                    | ClaimVerdict::NotFound
                    | ClaimVerdict::NotChecked
            )
        });
        let line = |(claim, checked): &(Claim, ClaimCheck)| {
            let reasons: Vec<String> = checked.problems.iter().map(ToString::to_string).collect();
            let word = match checked.verdict {
                ClaimVerdict::Contradicted => "the passages say otherwise",
                ClaimVerdict::Disputed => "the passages give different values",
                ClaimVerdict::NotChecked => "not checked: keep to the words of the passages",
                _ => "not found in the passages",
            };
            let text = deliberate_core::truncate_chars(&claim.text, 300);
            if reasons.is_empty() {
                format!("“{text}”: {word}")
            } else {
                format!("“{text}”: {word}: {}", reasons.join("; "))
            }
        };
        wrong.map(line).take(12).collect()
    }

    /// Indexes of the claims that code cannot check.
    pub(super) fn unchecked_claims(&self) -> impl Iterator<Item = usize> {
        let all = self.sentences.iter().enumerate();
        let open = all.filter(|(_, (_, checked))| checked.verdict == ClaimVerdict::NotChecked);
        open.map(|(at, _)| at)
    }
}
