//! Words that deny what the rest of them says: `unaffected`, `irrelevant`.

use super::lexicon;

/// Words that begin with `un` and deny nothing by it.
const OTHERS: &[&str] = &[
    "under", "uni", "until", "unto", "unless", "uncle", "undul", "ungul",
];

/// How words end that can be denied in this way.
const ENDINGS: &[&str] = &[
    "ed", "able", "ible", "ful", "ive", "al", "ary", "ant", "ent", "ous", "ing", "red", "known",
];

/// Those that begin otherwise; most words with such a beginning deny nothing by it.
const IN: &[&str] = &[
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

/// What a word denies.
pub(super) fn denied(word: &str) -> Option<&str> {
    if lexicon::direction(word).is_some() {
        return None;
    }
    if IN.contains(&word) {
        return word.strip_prefix("non").or_else(|| word.get(2..));
    }
    let rest = word.strip_prefix("un")?;
    let one = rest.chars().count() >= 5
        && !OTHERS.iter().any(|it| word.starts_with(it))
        && ENDINGS.iter().any(|it| rest.ends_with(it));
    one.then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_words_deny() {
        assert_eq!(denied("unaffected"), Some("affected"));
        assert_eq!(denied("irrelevant"), Some("relevant"));
        assert_eq!(denied("untreated"), Some("treated"));
        for word in [
            "understanding",
            "united",
            "unique",
            "uncommon",
            "include",
            "until",
        ] {
            assert_eq!(denied(word), None, "{word}");
        }
    }
}
