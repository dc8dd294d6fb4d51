//! Checks that a passage contains what a claim quotes, and that the rest of the claim fits it.

use std::ops::Range;

use super::{
    exact_match::{contains_numbers, same_numbers},
    fuzzy_match::{Quote, extract_quotes},
};
use crate::answer::verifier::{
    Claim, ClaimCheck, ClaimProblem, ClaimProblemKind, ClaimVerdict, EvidenceSpan, Verifier,
    claim::PreparedClaim,
    evidence_comparison::ClaimEvidencePair,
    evidence_span::evidence_span,
    polarity::find_omission,
    sentence_features::SentenceFeatures,
    text::{
        lexicon,
        tokenizer::{LetterCase, TextToken},
    },
};

/// Words that introduce a quote.
const REPORTING_WORDS: &str = "author authors study studies paper papers article text team researchers work \
    report reports reported write writes wrote say says said state states stated note notes noted \
    conclude concludes concluded find finds found show shows showed put puts describe describes \
    described argue argues argued claim claims claimed explain explains explained observe observed \
    words according quote quoted";

/// Whether the claim contains nothing but a quote and its introduction: `the authors write that`. A
/// capitalized word counts as a name only within a sentence, and never if it turns the meaning.
pub(crate) fn is_quote_introduction(beside: &SentenceFeatures, claim: &Claim) -> bool {
    let says = |token: &TextToken| {
        REPORTING_WORDS
            .split_whitespace()
            .any(|it| it == token.text)
    };
    let named = |at: usize| {
        let token = beside.token(at);
        let turns = token.is_some_and(|it| {
            let word = it.text.as_str();
            lexicon::direction(word).is_some() || lexicon::force(word).is_some()
        });
        let capitalized = token.is_some_and(|it| it.case != LetterCase::Lower);
        !turns && (beside.names.contains(&at) || (capitalized && at > 0))
    };
    let mut rest = beside.tokens.iter().enumerate().filter(|(at, token)| {
        beside.keys.get(*at).is_some_and(Option::is_some) && !named(*at) && !says(token)
    });
    rest.next().is_none() && !extract_quotes(&claim.text).is_empty()
}

impl Verifier {
    pub(crate) fn check_quotes(
        &self,
        ready: &PreparedClaim,
        claim: &Claim,
        verbatim: Option<ClaimCheck>,
    ) -> ClaimCheck {
        let mut quoted = Vec::new();
        let mut misquoted = Vec::new();
        for quote in &ready.quotes {
            match self.find_quote(quote, claim) {
                Some(found) => quoted.push(found),
                None => misquoted.push(quote),
            }
        }
        let mut checked =
            verbatim.unwrap_or_else(|| self.compare_with_quotes(ready, claim, &quoted));
        misquoted.extend(self.take_unrelated_quotes(ready, claim, &checked, &mut quoted));
        let at = quoted.iter().filter_map(|(passage, bytes)| {
            let passage = self.corpus.passages.get(*passage)?;
            Some(evidence_span(&passage.source, bytes.clone()))
        });
        // Quoted text is the best evidence.
        let mut all: Vec<EvidenceSpan> = at.collect();
        all.append(&mut checked.evidence);
        all.dedup();
        checked.evidence = all;
        if !misquoted.is_empty() {
            let other_words =
                |(text, _): &(String, EvidenceSpan), quote: &Quote| !text.contains(&quote.text);
            let near = misquoted.iter().map(|quote| {
                let near = self.nearest_text(quote);
                near.filter(|it| other_words(it, quote))
            });
            let near: Vec<_> = near.collect();
            let conflict = near.iter().any(Option::is_some);
            checked.verdict = if conflict {
                ClaimVerdict::Contradicted
            } else {
                ClaimVerdict::NotFound
            };
            for (quote, near) in misquoted.iter().zip(near) {
                let instead = near.as_ref().map(|(text, _)| text.clone());
                let problem =
                    ClaimProblem::new(ClaimProblemKind::Quote, quote.text.clone(), instead);
                checked.problems.insert(0, problem);
                checked.evidence.extend(near.map(|(_, evidence)| evidence));
            }
        }
        if checked.verdict == ClaimVerdict::Supported && ready.unquoted != ready.text {
            let weakened = quoted
                .iter()
                .flat_map(|it| self.find_truncation_problems(ready, it));
            checked.problems.extend(weakened);
            if !checked.problems.is_empty() {
                checked.verdict = ClaimVerdict::Contradicted;
            }
        }
        checked
    }

    /// Compares the claim without its quotes.
    fn compare_with_quotes(
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
        self.compare(text, claim, quoted)
    }

    /// Removes and returns quotes that are neither in a cited passage nor in one that supports the
    /// rest of the claim: a text about something else proves nothing.
    fn take_unrelated_quotes<'r>(
        &self,
        ready: &'r PreparedClaim,
        claim: &Claim,
        checked: &ClaimCheck,
        quoted: &mut Vec<(usize, Range<usize>)>,
    ) -> Vec<&'r Quote> {
        let is_its = |passage: usize| {
            let id = self.corpus.passages.get(passage).map(|it| &it.source.id);
            let bears_out = |it: &EvidenceSpan| Some(&it.passage) == id;
            self.is_cited(passage, claim) || checked.evidence.iter().any(bears_out)
        };
        quoted.retain(|(passage, _)| is_its(*passage));
        let quotes = ready.quotes.iter().filter(|quote| {
            let found = self.find_quote(quote, claim);
            found.is_some_and(|(passage, _)| !is_its(passage))
        });
        quotes.collect()
    }

    /// Finds what a quote omits from its sentence so that it overstates it: a rejection, a
    /// condition, or the bound of a number.
    fn find_truncation_problems(
        &self,
        ready: &PreparedClaim,
        (passage, bytes): &(usize, Range<usize>),
    ) -> Vec<ClaimProblem> {
        let window = self.corpus.window_covering(*passage, bytes);
        let span = window.as_ref().and_then(|it| self.corpus.window_span(it));
        let (Some(passage), Some(window), Some(span)) =
            (self.corpus.passages.get(*passage), window, span)
        else {
            return Vec::new();
        };
        let sides = ClaimEvidencePair {
            corpus: &self.corpus,
            passage,
            claim_text: &ready.text,
            claim: &self.corpus.analyze(&ready.text),
            window_text: passage.source.text.get(span).unwrap_or_default(),
            window: &self.corpus.window_features(&window),
        };
        let found = sides.compare();
        let mut all: Vec<ClaimProblem> = found.conflicts.into_iter().chain(found.missing).collect();
        all.retain(|it| {
            it.kind == ClaimProblemKind::Number
                && (it.instead.as_ref()).is_some_and(|there| {
                    !there.starts_with(&it.claimed) && there.contains(&it.claimed)
                })
        });
        all.extend(find_omission(&sides));
        all
    }

    fn find_quote(&self, quote: &Quote, claim: &Claim) -> Option<(usize, Range<usize>)> {
        self.passages_cited_first(claim).into_iter().find_map(|at| {
            let passage = self.corpus.passages.get(at)?;
            let bytes = passage.normalized.find_quote(quote)?;
            let said = passage.source.text.get(bytes.clone())?;
            let same = if quote.has_ellipsis() {
                contains_numbers(said, &quote.text)
            } else {
                same_numbers(said, &quote.text)
            };
            same.then_some((at, bytes))
        })
    }

    /// The text of a passage that is most similar to a quote, if it is similar enough.
    fn nearest_text(&self, quote: &Quote) -> Option<(String, EvidenceSpan)> {
        let wanted = self.corpus.analyze(&quote.text);
        let (window, overlap) = self.corpus.best_windows(&wanted, 1).into_iter().next()?;
        let passage = self.corpus.passages.get(window.passage)?;
        let span = self.corpus.window_span(&window)?;
        let text = passage.source.text.get(span.clone())?.to_owned();
        (overlap >= 0.6).then(|| (text, evidence_span(&passage.source, span)))
    }
}
