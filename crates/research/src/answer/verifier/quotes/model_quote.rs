//! Quotes that a model gives as evidence. The model judges whether the claim follows from the quote;
//! this code checks that the passage contains the quote and that it concerns the claim.

use super::fuzzy_match::Quote;
use crate::answer::verifier::{Claim, EvidenceSpan, Verifier, evidence_span::evidence_span};

/// A shorter quote, in words, proves nothing.
const MIN_QUOTE_WORDS: usize = 5;

/// Share of the claim's words and numbers that the quoted sentences must contain: a quote about
/// something else proves nothing either.
const MIN_SHARED: f64 = 0.25;

impl Verifier {
    /// Locates a quote in a passage if its sentences concern the claim.
    pub fn locate_model_quote(
        &self,
        claim: &Claim,
        passage: &str,
        words: &str,
    ) -> Option<EvidenceSpan> {
        let quote = Quote::parse(words).filter(|it| it.word_count() >= MIN_QUOTE_WORDS)?;
        let mut passages = self.corpus.passages.iter().enumerate();
        let (at, passage) = passages.find(|(_, it)| it.source.id == passage)?;
        let bytes = passage.normalized.find_quote(&quote)?;
        let window = self.corpus.window_covering(at, &bytes)?;
        let there = self.corpus.window_features(&window);
        let mine = self.corpus.analyze(&claim.text);
        let (wanted, keys) = (mine.key_set(), there.key_set());
        let numbers = mine.numbers.iter();
        let numbers = numbers.filter(|it| there.numbers.iter().any(|said| said.value == it.value));
        let shared = wanted.intersection(&keys).count() + numbers.count();
        let all = wanted.len() + mine.numbers.len();
        (shared > 0 && shared as f64 >= MIN_SHARED * all as f64)
            .then(|| evidence_span(&passage.source, bytes))
    }
}
