//! How near words are in meaning, by the table of word vectors that the program carries. Knows
//! words and nothing of claims; opposites are near too, so who asks must know those apart.

use std::collections::HashMap;

use deliberate_index::StaticEmbedder;

use crate::answer::verifier::{
    sentence_features::SentenceFeatures,
    text::{
        lexicon,
        tokenizer::{LetterCase, TextTokenKind},
    },
};

/// Words whose vectors are less alike than this have nothing to do with each other.
const MIN_SIMILARITY: f64 = 0.3;

/// How many products are summed side by side.
const LANES: usize = 8;

/// A passage has fewer words than this; the meanings of more are not kept.
const MAX_WORDS: usize = 1000;

/// What words of a text mean, by what they are matched by.
pub(crate) type WordVectors = HashMap<String, TextVector>;

/// What a word or a text means, as a direction.
#[derive(Debug, Clone)]
pub(crate) struct TextVector(Vec<f32>);

impl TextVector {
    pub(crate) fn embed(text: &str) -> Self {
        Self(StaticEmbedder::new().vector(text))
    }

    /// How alike two directions are, 1 at the most.
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

    /// How much one word can stand for another, 0 to 1.
    pub(crate) fn word_similarity(&self, other: &Self) -> f64 {
        let alike = self.cosine_similarity(other);
        if alike < MIN_SIMILARITY {
            0.0
        } else {
            alike.sqrt()
        }
    }
}

/// What the common words of a text mean. One name is no other however near, and nor is one end of
/// a scale the other.
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
    use crate::answer::verifier::sentence_features::WordUsage;

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
        let text = SentenceFeatures::extract("The firms of Riga grew", &|_| WordUsage::Unknown);
        let found = embed_words(&text);
        let words: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(words, ["firm"]);
    }
}
