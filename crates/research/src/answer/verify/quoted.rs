//! What a claim quotes must stand in a passage, beside what else it says.

use std::ops::Range;

use super::{
    Checked, Claim, Evidence, Problem, ProblemKind, Verdict, Verifier,
    analysis::Analysis,
    claim::Ready,
    compare::Sides,
    exact::same_figures,
    quote::{Quote, quotes},
    tokens::Token,
    within::evidence,
};

/// Words with which a quote is introduced.
const SAYING: &str = "author authors study studies paper papers article text team researchers work \
    report reports reported write writes wrote say says said state states stated note notes noted \
    conclude concludes concluded find finds found show shows showed put puts describe describes \
    described argue argues argued claim claims claimed explain explains explained observe observed \
    words according quote quoted";

/// Whether a claim quotes, and says beside that no more than who does: `the authors write that`.
pub(super) fn only_introduces(beside: &Analysis, claim: &Claim) -> bool {
    let says = |token: &Token| SAYING.split_whitespace().any(|it| it == token.text);
    let named = |at: usize| beside.names.contains(&at) || beside.maybe_names.contains(&at);
    let mut rest = beside.tokens.iter().enumerate().filter(|(at, token)| {
        beside.keys.get(*at).is_some_and(Option::is_some) && !named(*at) && !says(token)
    });
    rest.next().is_none() && !quotes(&claim.text).is_empty()
}

impl Verifier {
    pub(super) fn check_closely(
        &self,
        ready: &Ready,
        claim: &Claim,
        verbatim: Option<Checked>,
    ) -> Checked {
        let mut quoted = Vec::new();
        let mut misquoted = Vec::new();
        for quote in &ready.quotes {
            match self.find_quote(quote, claim) {
                Some(found) => quoted.push(found),
                None => misquoted.push(quote),
            }
        }
        let mut checked = verbatim.unwrap_or_else(|| self.compare_parts(ready, claim, &quoted));
        misquoted.extend(self.quoted_from_elsewhere(ready, claim, &checked, &mut quoted));
        let at = quoted.iter().filter_map(|(passage, bytes)| {
            let passage = self.corpus.passages.get(*passage)?;
            Some(evidence(&passage.source, bytes.clone()))
        });
        // What is quoted is the best evidence there is.
        let mut all: Vec<Evidence> = at.collect();
        all.append(&mut checked.evidence);
        all.dedup();
        checked.evidence = all;
        if !misquoted.is_empty() {
            let other_words =
                |(text, _): &(String, Evidence), quote: &Quote| !text.contains(&quote.text);
            let near = misquoted.iter().map(|quote| {
                let near = self.nearest(quote);
                near.filter(|it| other_words(it, quote))
            });
            let near: Vec<_> = near.collect();
            let conflict = near.iter().any(Option::is_some);
            checked.verdict = if conflict {
                Verdict::Contradicted
            } else {
                Verdict::NotFound
            };
            for (quote, near) in misquoted.iter().zip(near) {
                let instead = near.as_ref().map(|(text, _)| text.clone());
                let problem = Problem::new(ProblemKind::Quote, quote.text.clone(), instead);
                checked.problems.insert(0, problem);
                checked.evidence.extend(near.map(|(_, evidence)| evidence));
            }
        }
        if checked.verdict == Verdict::Supported && ready.unquoted != ready.text {
            let weakened = quoted.iter().flat_map(|it| self.cut_short(ready, it));
            checked.problems.extend(weakened);
            if !checked.problems.is_empty() {
                checked.verdict = Verdict::Contradicted;
            }
        }
        checked
    }

    /// Takes out the places of quotes that stand neither in a passage that is cited nor where the
    /// rest of the claim does: words of another matter bear nothing out, whoever wrote them.
    fn quoted_from_elsewhere<'r>(
        &self,
        ready: &'r Ready,
        claim: &Claim,
        checked: &Checked,
        quoted: &mut Vec<(usize, Range<usize>)>,
    ) -> Vec<&'r Quote> {
        let is_its = |passage: usize| {
            let id = self.corpus.passages.get(passage).map(|it| &it.source.id);
            let bears_out = |it: &Evidence| Some(&it.passage) == id;
            self.is_cited(passage, claim) || checked.evidence.iter().any(bears_out)
        };
        quoted.retain(|(passage, _)| is_its(*passage));
        let quotes = ready.quotes.iter().filter(|quote| {
            let found = self.find_quote(quote, claim);
            found.is_some_and(|(passage, _)| !is_its(passage))
        });
        quotes.collect()
    }

    /// What a quote leaves out of its sentence, so that it says more than that does: that it is
    /// wrong, or a condition, or that a number is a bound.
    fn cut_short(&self, ready: &Ready, (passage, bytes): &(usize, Range<usize>)) -> Vec<Problem> {
        let window = self.corpus.window_of(*passage, bytes);
        let span = window.as_ref().and_then(|it| self.corpus.span(it));
        let (Some(passage), Some(window), Some(span)) =
            (self.corpus.passages.get(*passage), window, span)
        else {
            return Vec::new();
        };
        let sides = Sides {
            corpus: &self.corpus,
            passage,
            text: &ready.text,
            claim: &self.corpus.analyse(&ready.text),
            said: passage.source.text.get(span).unwrap_or_default(),
            window: &self.corpus.analysis(&window),
        };
        let found = sides.compare();
        let mut all: Vec<Problem> = found.conflicts.into_iter().chain(found.lacks).collect();
        all.retain(|it| match it.kind {
            ProblemKind::Refuted | ProblemKind::Condition => true,
            ProblemKind::Number => (it.instead.as_ref()).is_some_and(|there| {
                !there.starts_with(&it.claimed) && there.contains(&it.claimed)
            }),
            _ => false,
        });
        all
    }

    fn find_quote(&self, quote: &Quote, claim: &Claim) -> Option<(usize, Range<usize>)> {
        self.cited_first(claim).into_iter().find_map(|at| {
            let passage = self.corpus.passages.get(at)?;
            let bytes = passage.stream.find_quote(quote)?;
            let said = passage.source.text.get(bytes.clone())?;
            let same = quote.is_cut() || same_figures(said, &quote.text);
            same.then_some((at, bytes))
        })
    }

    /// What stands in a passage in place of a quote, if something much like it does.
    fn nearest(&self, quote: &Quote) -> Option<(String, Evidence)> {
        let wanted = self.corpus.analyse(&quote.text);
        let (window, overlap) = self.corpus.best(&wanted, 1).into_iter().next()?;
        let passage = self.corpus.passages.get(window.passage)?;
        let span = self.corpus.span(&window)?;
        let text = passage.source.text.get(span.clone())?.to_owned();
        (overlap >= 0.6).then(|| (text, evidence(&passage.source, span)))
    }
}
