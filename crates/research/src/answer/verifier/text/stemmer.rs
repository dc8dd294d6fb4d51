//! Stemmer: maps words to match keys, without suffixes and in one spelling.
//! It is deliberately simple: it compares a claim with a few passages, not with a whole language.

/// Suffixes with the number of letters that must remain. The longest match is removed.
const SUFFIXES: &[(&str, usize)] = &[
    ("isational", 4),
    ("izational", 4),
    ("isations", 4),
    ("izations", 4),
    ("isation", 4),
    ("ization", 4),
    ("ational", 4),
    ("fulness", 4),
    ("ousness", 4),
    ("iveness", 4),
    ("ations", 4),
    ("ically", 4),
    ("ements", 4),
    ("ingly", 4),
    ("ation", 4),
    ("ments", 4),
    ("ement", 4),
    ("ences", 4),
    ("ances", 4),
    ("ively", 4),
    ("ously", 4),
    ("ility", 4),
    ("ising", 4),
    ("izing", 4),
    ("ment", 4),
    ("ness", 4),
    ("ence", 4),
    ("ance", 4),
    ("ised", 4),
    ("ized", 4),
    ("ises", 4),
    ("izes", 4),
    ("ants", 4),
    ("ents", 4),
    ("able", 4),
    ("ible", 4),
    ("ions", 4),
    ("ally", 4),
    ("edly", 4),
    ("ical", 4),
    ("ing", 3),
    ("ion", 4),
    ("ity", 4),
    ("ive", 4),
    ("ous", 4),
    ("ise", 4),
    ("ize", 4),
    ("ant", 4),
    ("ent", 4),
    ("ies", 3),
    ("ers", 4),
    ("ful", 4),
    ("est", 4),
    ("ed", 3),
    ("es", 3),
    ("er", 4),
    ("ly", 4),
    ("al", 4),
    ("ic", 4),
    ("s", 3),
    ("e", 3),
    ("y", 3),
];

/// The match key of a lower-case word.
pub(crate) fn stem(word: &str) -> String {
    let bare = ["'s", "n't"].iter().find_map(|it| word.strip_suffix(it));
    let british = bare
        .unwrap_or(word)
        .replace("our", "or")
        .replace("aem", "em")
        .replace("oed", "ed");
    let mut rest = british.as_str();
    // Suffixes come in pairs: `differences`, `significantly`.
    for _ in 0..3 {
        let fits = |&&(ending, stays): &&(&str, usize)| {
            rest.strip_suffix(ending)
                .is_some_and(|it| it.chars().count() >= stays)
                && !(ending == "s" && rest.ends_with("ss"))
        };
        let Some((ending, _)) = SUFFIXES.iter().find(fits) else {
            break;
        };
        rest = rest.strip_suffix(ending).unwrap_or(rest);
    }
    // `stopped` and `stop`.
    let mut back = rest.chars().rev();
    if let (Some(last), Some(before)) = (back.next(), back.next())
        && last == before
        && !matches!(last, 'l' | 's')
        && rest.chars().count() > 3
    {
        rest = rest.strip_suffix(last).unwrap_or(rest);
    }
    rest.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_one() {
        for (one, other) in [
            ("significant", "significantly"),
            ("improved", "improvement"),
            ("difference", "differ"),
            ("studies", "study"),
            ("randomised", "randomized"),
            ("behaviour", "behavior"),
            ("stopped", "stop"),
            ("models", "model"),
        ] {
            assert_eq!(stem(one), stem(other), "{one} {other}");
        }
        assert_ne!(stem("increase"), stem("decrease"));
        assert_ne!(stem("mice"), stem("rats"));
    }
}
