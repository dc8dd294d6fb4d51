//! How near words are in meaning, by the table of word vectors that the program carries. Knows
//! words and nothing of claims; opposites are near too, so who asks must know those apart.

use std::collections::HashMap;

use deliberate_index::StaticEmbedder;

use super::{
    analysis::Analysis,
    lexicon,
    tokens::{Case, Kind},
};

/// Words whose vectors are less alike than this have nothing to do with each other.
const LEAST: f64 = 0.3;

/// How many products are summed side by side.
const LANES: usize = 8;

/// A passage has fewer words than this; the meanings of more are not kept.
const MOST_WORDS: usize = 1000;

/// What words of a text mean, by what they are matched by.
pub(super) type Meanings = HashMap<String, Meaning>;

/// What a word or a text means, as a direction.
#[derive(Debug, Clone)]
pub(super) struct Meaning(Vec<f32>);

impl Meaning {
    pub(super) fn of(text: &str) -> Self {
        Self(StaticEmbedder::new().vector(text))
    }

    /// How alike two directions are, 1 at the most.
    pub(super) fn likeness(&self, other: &Self) -> f64 {
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
    pub(super) fn nearness(&self, other: &Self) -> f64 {
        let alike = self.likeness(other);
        if alike < LEAST { 0.0 } else { alike.sqrt() }
    }
}

/// What the common words of a text mean. One name is no other however near, and nor is one end of
/// a scale the other.
pub(super) fn meanings(text: &Analysis) -> Meanings {
    let mut all = Meanings::new();
    for (token, key) in text.tokens.iter().zip(&text.keys) {
        if let Some(key) = key
            && all.len() < MOST_WORDS
            && token.kind == Kind::Word
            && token.case == Case::Lower
            && lexicon::direction(&token.text).is_none()
            && !all.contains_key(key)
        {
            all.insert(key.clone(), Meaning::of(&token.text));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{super::analysis::Known, *};

    #[test]
    fn words_of_one_meaning_are_near() {
        let near = |one: &str, other: &str| Meaning::of(one).nearness(&Meaning::of(other));
        assert!(near("companies", "firms") > 0.8);
        assert!(near("flaws", "faults") > 0.7);
        assert!(near("firms", "firms") > 0.99);
        assert!(near("run", "banana") < f64::EPSILON);
        assert!(near("", "banana") < f64::EPSILON);
    }

    #[test]
    fn names_and_ends_of_scales_stand_for_nothing_else() {
        let text = Analysis::of("The firms of Riga grew", &|_| Known::Nothing);
        let found = meanings(&text);
        let words: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(words, ["firm"]);
    }
}
