//! Formats messages of other components as sentences. Knows nothing of their content.

/// Formats a text as a sentence with a capital letter and one final period.
pub(crate) fn as_sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    with_period(&first.chain(letters).collect::<String>())
}

/// Ends a text with one period, unless it ends with `?` or `!`.
pub(crate) fn with_period(text: &str) -> String {
    let text = text.trim_end().trim_end_matches('.');
    if text.ends_with(['?', '!']) {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_has_one_end() {
        assert_eq!(as_sentence("it is too big."), "It is too big.");
        assert_eq!(with_period("did you mean `a`?"), "did you mean `a`?");
        assert_eq!(with_period("a"), "a.");
    }
}
