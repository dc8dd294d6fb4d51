//! Quotes that a model gives as evidence. The model judges whether the claim follows from the quote;
//! this code checks that the passage contains the quote and that it concerns the claim.

use super::{exact_match::same_numbers, fuzzy_match::Quote};
use crate::answer::verifier::{
    Claim, EvidenceSpan, Verifier, evidence_comparison::ClaimEvidencePair,
    evidence_span::evidence_span, polarity::find_omission,
};

/// A shorter quote, in words, proves nothing.
const MIN_QUOTE_WORDS: usize = 5;

/// Share of the claim's words and numbers that the quoted sentences must contain: a quote about
/// something else proves nothing either.
const MIN_SHARED: f64 = 0.25;

impl Verifier {
    /// Locates a quote in a passage if its sentences concern the claim. If the quote is to support
    /// the claim, its sentences must have the claim's numbers and names, and must neither negate nor
    /// reject nor condition it.
    pub fn locate_model_quote(
        &self,
        claim: &Claim,
        passage: &str,
        words: &str,
        supports: bool,
    ) -> Option<EvidenceSpan> {
        // Pieces of a text that are joined by an ellipsis may say what the text does not.
        let quote = Quote::parse(words)
            .filter(|it| it.word_count() >= MIN_QUOTE_WORDS && !it.has_ellipsis())?;
        let mut passages = self.corpus.passages.iter().enumerate();
        let (at, passage) = passages.find(|(_, it)| it.source.id == passage)?;
        let bytes = passage.normalized.find_quote(&quote)?;
        if !same_numbers(passage.source.text.get(bytes.clone())?, words) {
            return None;
        }
        let window = self.corpus.window_covering(at, &bytes)?;
        let there = self.corpus.window_features(&window);
        let mine = self.corpus.analyze(&claim.text);
        let span = self.corpus.window_span(&window)?;
        let sides = ClaimEvidencePair {
            corpus: &self.corpus,
            passage,
            claim_text: &claim.text,
            claim: &mine,
            window_text: passage.source.text.get(span)?,
            window: &there,
        };
        let found = sides.compare();
        let is_plain = found.conflicts.is_empty() && found.missing.is_empty();
        if supports && (!is_plain || find_omission(&sides).is_some()) {
            return None;
        }
        let (wanted, keys) = (mine.key_set(), there.key_set());
        let numbers = mine.numbers.iter();
        let numbers = numbers.filter(|it| there.numbers.iter().any(|said| said.value == it.value));
        let shared = wanted.intersection(&keys).count() + numbers.count();
        let all = wanted.len() + mine.numbers.len();
        (shared > 0 && shared as f64 >= MIN_SHARED * all as f64)
            .then(|| evidence_span(&passage.source, bytes))
    }
}
