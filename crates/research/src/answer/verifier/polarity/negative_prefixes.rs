//! Words that negate by their prefix: `unaffected`, `irrelevant`.

use crate::answer::verifier::text::lexicon;

/// Words with `un` that are not negations.
const NON_NEGATED_WORDS: &[&str] = &[
    "under", "uni", "until", "unto", "unless", "uncle", "undul", "ungul",
];

/// Suffixes of words that `un` can negate.
const NEGATABLE_SUFFIXES: &[&str] = &[
    "ed", "able", "ible", "ful", "ive", "al", "ary", "ant", "ent", "ous", "ing", "red", "known",
];

/// Negated words with another prefix; most words with such a prefix are not negations.
const NEGATED_WORDS: &[&str] = &[
    "inactive",
    "insufficient",
    "incomplete",
    "inconsistent",
    "invalid",
    "indirect",
    "irrelevant",
    "irregular",
    "irreversible",
    "nonexistent",
];

/// The word that a negative prefix negates.
pub(crate) fn strip_negative_prefix(word: &str) -> Option<&str> {
    if lexicon::direction(word).is_some() {
        return None;
    }
    if NEGATED_WORDS.contains(&word) {
        return word.strip_prefix("non").or_else(|| word.get(2..));
    }
    let rest = word.strip_prefix("un")?;
    let one = rest.chars().count() >= 5
        && !NON_NEGATED_WORDS.iter().any(|it| word.starts_with(it))
        && NEGATABLE_SUFFIXES.iter().any(|it| rest.ends_with(it));
    one.then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_words_deny() {
        assert_eq!(strip_negative_prefix("unaffected"), Some("affected"));
        assert_eq!(strip_negative_prefix("irrelevant"), Some("relevant"));
        assert_eq!(strip_negative_prefix("untreated"), Some("treated"));
        for word in [
            "understanding",
            "united",
            "unique",
            "uncommon",
            "include",
            "until",
        ] {
            assert_eq!(strip_negative_prefix(word), None, "{word}");
        }
    }
}
