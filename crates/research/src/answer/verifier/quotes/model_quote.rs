//! Quotes that a model gives as evidence for a paraphrase. The model judges whether the claim
//! follows. This code checks that the quote is in the passage, concerns the claim, and contradicts
//! no part of it, including its numbers and names.

use std::collections::HashSet;

use super::fuzzy_match::Quote;
use crate::answer::verifier::{
    Claim, EvidenceSpan, Verifier,
    evidence_comparison::ClaimEvidencePair,
    evidence_span::evidence_span,
    sentence_features::SentenceFeatures,
    similarity::word_vectors::TextVector,
    text::{lexicon, tokenizer::TextTokenKind},
    verdict::required_overlap,
};

/// A shorter quote, in words, proves nothing.
const MIN_QUOTE_WORDS: usize = 5;

/// Share of the claim's words that the quoted sentences must cover, each word weighted by its most
/// similar word there.
const MIN_OVERLAP: f64 = 0.5;

/// The same for a claim with few words, of which half is easily covered.
const MIN_OVERLAP_FEW: f64 = 0.65;

impl Verifier {
    /// Locates a quote in a passage if it can support the claim.
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
        let analysis = self.corpus.analyze(&claim.text);
        let least = if required_overlap(&analysis, self.corpus.heuristics) > MIN_OVERLAP {
            MIN_OVERLAP_FEW
        } else {
            MIN_OVERLAP
        };
        let sides = ClaimEvidencePair {
            corpus: &self.corpus,
            passage,
            claim_text: &claim.text,
            claim: &analysis,
            window_text: passage.source.text.get(self.corpus.window_span(&window)?)?,
            window: &there,
        };
        let found = sides.compare();
        let fits = self.soft_overlap(&analysis, &there) >= least
            && found.conflicts.is_empty()
            && found.missing.is_empty();
        fits.then(|| evidence_span(&passage.source, bytes))
    }

    /// Share of the claim's words that are there, 0 to 1, as the same word or a similar one.
    fn soft_overlap(&self, claim: &SentenceFeatures, there: &SentenceFeatures) -> f64 {
        let keys = there.key_set();
        let spoken = there.tokens.iter().zip(&there.keys);
        let spoken =
            spoken.filter(|(token, key)| key.is_some() && token.kind == TextTokenKind::Word);
        let meanings: Vec<TextVector> = spoken.map(|(it, _)| TextVector::embed(&it.text)).collect();
        let mut seen = HashSet::new();
        let (mut all, mut shared) = (0.0, 0.0);
        for (at, (token, key)) in claim.tokens.iter().zip(&claim.keys).enumerate() {
            let Some(key) = key.as_deref().filter(|_| !lexicon::is_negator(&token.text)) else {
                continue;
            };
            if !seen.insert(key) {
                continue;
            }
            // A name never stands for another name, however similar.
            let common = token.kind == TextTokenKind::Word && !claim.names.contains(&at);
            let near = || {
                let own = TextVector::embed(&token.text);
                let near = meanings.iter().map(|it| own.word_similarity(it));
                near.fold(0.0, f64::max)
            };
            let weight = self.corpus.word_weight(key);
            all += weight;
            if keys.contains(key) {
                shared += weight;
            } else if common {
                shared += weight * near();
            }
        }
        if all > 0.0 { shared / all } else { 0.0 }
    }
}
