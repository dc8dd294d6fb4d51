//! What others say, made into sentences. Knows nothing of what they say.

/// With a capital and one end.
pub(crate) fn as_sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    with_period(&first.chain(letters).collect::<String>())
}

/// With one end: a full stop, unless it asks.
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
