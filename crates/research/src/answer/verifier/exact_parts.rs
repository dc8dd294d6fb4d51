//! The exact parts of a claim in other words: what no cited passage contains is not found, whatever
//! the rest says.

use super::{
    Claim, ClaimCheck, ClaimProblem, ClaimProblemKind, ClaimVerdict, Heuristic, Verifier,
    claim::PreparedClaim,
    numbers::{
        equality::{NumberMatch, compare_numbers},
        number::{Number, RangeEnd},
    },
};

impl Verifier {
    /// A number or a name that no cited passage contains is not found, nor is a claim that cites
    /// nothing.
    pub(super) fn check_exact_parts(
        &self,
        ready: &PreparedClaim,
        claim: &Claim,
        checked: &mut ClaimCheck,
    ) {
        let features = self.corpus.analyze(&ready.unquoted);
        let cited = self.passages_cited_first(claim).into_iter();
        let cited = cited.take_while(|&it| self.is_cited(it, claim));
        let cited = cited.filter_map(|it| self.corpus.passages.get(it));
        let cited: Vec<_> = cited.filter(|it| !it.sentence_spans.is_empty()).collect();
        let is_in = |number: &Number| {
            // Whether it is an end of a range is a matter of the sentence.
            let number = Number {
                range_end: RangeEnd::Change,
                ..number.clone()
            };
            cited.iter().any(|it| {
                let same = |it| compare_numbers(&number, it) == NumberMatch::Same;
                it.features.numbers.iter().any(same) || it.is_publication_year(&number)
            })
        };
        let numbers = features.numbers.iter();
        let numbers = numbers.filter(|it| !features.may_be_computed(it) && !is_in(it));
        let numbers = numbers.map(|it| (ClaimProblemKind::Number, it.from, it.to));
        let named = self.corpus.heuristics.contains(Heuristic::Names);
        let names = features.names.iter().filter(|&&at| {
            let name = features.token(at).map_or("", |it| it.text.as_str());
            named && !cited.iter().any(|it| it.has_name(name))
        });
        let names = names.map(|&at| (ClaimProblemKind::Name, at, at + 1));
        let mut problems = Vec::new();
        for (kind, from, to) in numbers.chain(names) {
            let text = features
                .span(from, to)
                .and_then(|it| ready.unquoted.get(it));
            problems.push(ClaimProblem::new(kind, text.unwrap_or_default(), None));
        }
        if cited.is_empty() {
            problems = vec![ClaimProblem::new(ClaimProblemKind::Matter, "", None)];
        }
        if !problems.is_empty() {
            checked.verdict = ClaimVerdict::NotFound;
            checked.problems = problems;
        }
    }
}
