//! Measures and truncates text without ever splitting a character.

/// Marks the place where text was removed.
const TRUNCATION_MARK: &str = " […]";

/// The number of characters per token in English. A count that a provider reports takes
/// precedence over this estimate.
const CHARS_PER_TOKEN: usize = 4;

/// The number of bytes per token in scripts that tokenizers split finer than one token per four
/// characters (Chinese, Cyrillic, emoji). The larger of both estimates is used.
const BYTES_PER_TOKEN: usize = 3;

/// Estimates the number of tokens in `text`, rather too high than too low.
pub fn approximate_tokens(text: &str) -> usize {
    text.len().div_ceil(bytes_per_token(text))
}

/// The number of bytes of this text per token.
pub(crate) fn bytes_per_token(text: &str) -> usize {
    if text.is_ascii() {
        CHARS_PER_TOKEN
    } else {
        BYTES_PER_TOKEN
    }
}

/// Truncates `text` to at most `limit` characters. The truncation mark counts, so the result
/// never exceeds the limit.
pub fn truncate_chars(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let keep = limit.saturating_sub(TRUNCATION_MARK.chars().count());
    let mut cut: String = text.chars().take(keep).collect();
    cut.extend(TRUNCATION_MARK.chars().take(limit));
    cut
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_text_is_left_alone() {
        assert_eq!(truncate_chars("Привет", 6), "Привет");
    }

    proptest! {
        #[test]
        fn cutting_keeps_to_the_limit(text in "\\PC{0,200}", limit in 0usize..60) {
            prop_assert!(truncate_chars(&text, limit).chars().count() <= limit.max(text.chars().count().min(limit)));
        }
    }
}
