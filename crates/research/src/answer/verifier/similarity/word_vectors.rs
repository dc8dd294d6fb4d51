//! Similarity of words by the embedded table of word vectors. Knows words and nothing about claims.
//! Opposites are similar too, so callers must distinguish those themselves.

use std::collections::HashMap;

use deliberate_index::StaticEmbedder;

use crate::answer::verifier::{
    sentence_features::SentenceFeatures,
    text::{
        lexicon,
        tokenizer::{LetterCase, TextTokenKind},
    },
};

/// Words with less similar vectors are unrelated.
const MIN_SIMILARITY: f64 = 0.3;

/// Products that are summed in parallel.
const LANES: usize = 8;

/// More words than a passage has; further ones get no vector.
const MAX_WORDS: usize = 1000;

/// Vectors of the words of a text, by match key.
pub(crate) type WordVectors = HashMap<String, TextVector>;

/// Unit vector of a word or a text.
#[derive(Debug, Clone)]
pub(crate) struct TextVector(Vec<f32>);

impl TextVector {
    pub(crate) fn embed(text: &str) -> Self {
        Self(StaticEmbedder::new().vector(text))
    }

    /// Cosine similarity, at most 1.
    pub(crate) fn cosine_similarity(&self, other: &Self) -> f64 {
        let (one, _) = self.0.as_chunks::<LANES>();
        let (two, _) = other.0.as_chunks::<LANES>();
        let mut sums = [0.0_f32; LANES];
        for (one, two) in one.iter().zip(two) {
            for ((sum, one), two) in sums.iter_mut().zip(one).zip(two) {
                *sum += one * two;
            }
        }
        f64::from(sums.iter().sum::<f32>()).min(1.0)
    }

    /// How well one word can stand for another, 0 to 1.
    pub(crate) fn word_similarity(&self, other: &Self) -> f64 {
        let alike = self.cosine_similarity(other);
        if alike < MIN_SIMILARITY {
            0.0
        } else {
            alike.sqrt()
        }
    }
}

/// Embeds the common words of a text. Names and words of direction are left out, because a similar
/// name is a different name and one end of a scale is not the other.
pub(crate) fn embed_words(text: &SentenceFeatures) -> WordVectors {
    let mut all = WordVectors::new();
    for (token, key) in text.tokens.iter().zip(&text.keys) {
        if let Some(key) = key
            && all.len() < MAX_WORDS
            && token.kind == TextTokenKind::Word
            && token.case == LetterCase::Lower
            && lexicon::direction(&token.text).is_none()
            && !all.contains_key(key)
        {
            all.insert(key.clone(), TextVector::embed(&token.text));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::verifier::{HeuristicSet, sentence_features::WordUsage};

    #[test]
    fn words_of_one_meaning_are_near() {
        let near = |one: &str, other: &str| {
            TextVector::embed(one).word_similarity(&TextVector::embed(other))
        };
        assert!(near("companies", "firms") > 0.8);
        assert!(near("flaws", "faults") > 0.7);
        assert!(near("firms", "firms") > 0.99);
        assert!(near("run", "banana") < f64::EPSILON);
        assert!(near("", "banana") < f64::EPSILON);
    }

    #[test]
    fn names_and_ends_of_scales_stand_for_nothing_else() {
        let text = SentenceFeatures::extract(
            "The firms of Riga grew",
            &|_| WordUsage::Unknown,
            HeuristicSet::all(),
        );
        let found = embed_words(&text);
        let words: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(words, ["firm"]);
    }
}
