//! Compares the citations of a claim with its evidence. A claim that cites no passage, or an
//! unknown one, is not supported by its citation, even if another passage supports it.

use super::{
    Claim, ClaimCheck, ClaimProblem, ClaimProblemKind, ClaimVerdict, EvidenceSpan, Verifier,
};

impl Verifier {
    /// Adds problems for unknown, missing, and wrong citations.
    pub(super) fn check_citations(&self, claim: &Claim, checked: &mut ClaimCheck) {
        let known = |id: &&String| self.corpus.passages.iter().any(|it| it.source.id == **id);
        for id in claim.cited.iter().filter(|it| !known(it)) {
            let problem = ClaimProblem::new(ClaimProblemKind::Citation, id.as_str(), None);
            checked.problems.push(problem);
        }
        let given: Vec<&str> = claim
            .cited
            .iter()
            .filter(known)
            .map(String::as_str)
            .collect();
        let claims = !matches!(
            checked.verdict,
            ClaimVerdict::NoClaim | ClaimVerdict::Supported
        );
        if claim.cited.is_empty() && claims {
            let problem = ClaimProblem::new(ClaimProblemKind::Citation, "", None);
            checked.problems.push(problem);
        }
        let Some(rests_on) = checked.evidence.first() else {
            return;
        };
        let cites = |it: &EvidenceSpan| claim.cited.contains(&it.passage);
        if checked.verdict == ClaimVerdict::Supported && !checked.evidence.iter().any(cites) {
            checked.corrected = true;
            let cited = given.join(", ");
            let instead = Some(rests_on.passage.clone());
            let problem = ClaimProblem::new(ClaimProblemKind::Citation, cited, instead);
            checked.problems.push(problem);
        }
    }
}
