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
    truncate_with_mark(text, limit, TRUNCATION_MARK)
}

/// Truncates `text` to at most `limit` characters, of which the last are `mark`. A limit that has no
/// room for more than the mark leaves the text without it.
pub fn truncate_with_mark(text: &str, limit: usize, mark: &str) -> String {
    if text.chars().nth(limit).is_none() {
        return text.to_owned();
    }
    match limit.saturating_sub(mark.chars().count()) {
        0 => first_chars(text, limit).to_owned(),
        room => format!("{}{mark}", first_chars(text, room)),
    }
}

/// The first `most` characters of a text, without a mark.
pub fn first_chars(text: &str, most: usize) -> &str {
    match text.char_indices().nth(most) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// The first `most` characters of a text, and an ellipsis if there are more.
pub fn ellipsize(text: &str, most: usize) -> String {
    let head = first_chars(text, most);
    let mark = if head.len() < text.len() { "…" } else { "" };
    format!("{head}{mark}")
}

/// The last `most` characters of a text, after an ellipsis if there are more.
pub fn ellipsize_start(text: &str, most: usize) -> String {
    let cut = text.chars().count().saturating_sub(most);
    match text.char_indices().nth(cut) {
        Some((start, _)) if cut > 0 => format!("…{}", text.get(start..).unwrap_or_default()),
        None if cut > 0 => "…".to_owned(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_text_is_left_alone() {
        assert_eq!(truncate_chars("Привет", 6), "Привет");
        assert_eq!(first_chars("Привет", 6), "Привет");
        assert_eq!(ellipsize("Привет", 6), "Привет");
        assert_eq!(ellipsize_start("Привет", 6), "Привет");
    }

    #[test]
    fn an_ellipsis_stands_where_characters_are_left_out() {
        assert_eq!(first_chars("Привет", 2), "Пр");
        assert_eq!(ellipsize("Привет", 2), "Пр…");
        assert_eq!(ellipsize_start("Привет", 2), "…ет");
        assert_eq!(first_chars("a", 0), "");
        assert_eq!(ellipsize("a", 0), "…");
        assert_eq!(ellipsize_start("a", 0), "…");
        assert_eq!(ellipsize_start("", 0), "");
    }

    proptest! {
        #[test]
        fn cutting_keeps_to_the_limit(text in "\\PC{0,200}", limit in 0usize..60) {
            prop_assert!(truncate_chars(&text, limit).chars().count() <= limit.max(text.chars().count().min(limit)));
        }
    }
}
