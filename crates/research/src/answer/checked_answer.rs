//! A draft once it is checked: which sentences stand, and how much of it does.

use std::collections::BTreeSet;

use deliberate_toolkit::ToolError;

use super::{
    passage_pool::PassagePool,
    verifier::{Claim, ClaimCheck, ClaimProblemKind, ClaimVerdict, Verifier},
};

/// A draft once it is checked.
#[derive(Debug, Clone, Default)]
pub(super) struct CheckedAnswer {
    pub(super) sentences: Vec<(Claim, ClaimCheck)>,
    /// Those that a model alone vouched for.
    pub(super) by_model: BTreeSet<usize>,
}

/// Does a check beside the runtime: many passages are some work.
pub(super) async fn check_blocking<T: Send + 'static>(
    check: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(check).await.map_err(|error| {
        tracing::error!(%error, "the check of an answer failed");
        ToolError::Internal
    })
}

impl CheckedAnswer {
    /// Checks claims against all passages.
    pub(super) async fn check(claims: Vec<Claim>, pool: &PassagePool) -> Result<Self, ToolError> {
        let sources = pool.evidence_passages();
        check_blocking(move || {
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
        .await
    }

    fn count(&self, verdict: ClaimVerdict) -> usize {
        let all = self.sentences.iter();
        all.filter(|(_, it)| it.verdict == verdict).count()
    }

    /// How many sentences claim something.
    pub(super) fn claim_count(&self) -> usize {
        self.sentences.len() - self.count(ClaimVerdict::NoClaim)
    }

    /// The share of claims that are supported; none if nothing is claimed.
    pub(super) fn support(&self) -> Option<f64> {
        let claims = self.claim_count();
        (claims > 0).then(|| self.count(ClaimVerdict::Supported) as f64 / claims as f64)
    }

    /// Whether enough of it is supported.
    pub(super) fn is_supported(&self, least: f64) -> bool {
        self.support().is_some_and(|it| it >= least)
    }

    /// What is wrong with it, a line for each sentence that does not stand.
    pub(super) fn problems(&self) -> Vec<String> {
        let wrong = self.sentences.iter().filter(|(_, checked)| {
            matches!(
                checked.verdict,
                ClaimVerdict::Contradicted | ClaimVerdict::Disputed | ClaimVerdict::NotFound
            )
        });
        let line = |(claim, checked): &(Claim, ClaimCheck)| {
            let reasons: Vec<String> = checked.problems.iter().map(ToString::to_string).collect();
            let word = match checked.verdict {
                ClaimVerdict::Contradicted => "the passages say otherwise",
                ClaimVerdict::Disputed => "the passages give different values",
                _ => "not found in the passages",
            };
            let text = deliberate_core::truncate_chars(&claim.text, 300);
            format!("“{text}”: {word}: {}", reasons.join("; "))
        };
        wrong.map(line).take(12).collect()
    }

    /// Claims of which code can't tell: no number, name or quote of theirs is missing, they are
    /// only put in other words than the passages.
    pub(super) fn undecided_claims(&self) -> Vec<usize> {
        let all = self.sentences.iter().enumerate();
        let open = all.filter(|(_, (claim, checked))| {
            let in_other_words = checked
                .problems
                .iter()
                .all(|it| it.kind == ClaimProblemKind::Matter);
            let digits = claim.text.contains(|it: char| it.is_ascii_digit());
            let cites = !claim.cited.is_empty() && !digits;
            checked.verdict == ClaimVerdict::NotFound && in_other_words && cites
        });
        open.map(|(at, _)| at).take(8).collect()
    }
}
