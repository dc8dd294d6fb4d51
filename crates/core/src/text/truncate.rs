//! Measuring and cutting text. Nothing here ever splits a character.

/// What is put where text was cut away.
const TRUNCATION_MARK: &str = " […]";

/// Characters per token. Four is what English needs; providers' own counts are the truth
/// wherever they are given.
const CHARS_PER_TOKEN: usize = 4;

/// Bytes of a script that tokenizers cut finer than one token per four characters (Chinese,
/// Cyrillic, emoji) count at about three bytes a token, so the larger estimate is taken.
const BYTES_PER_TOKEN: usize = 3;

/// About how many tokens a model would count in `text`; errs on the high side.
pub fn approximate_tokens(text: &str) -> usize {
    if text.is_ascii() {
        text.len().div_ceil(CHARS_PER_TOKEN)
    } else {
        text.len().div_ceil(BYTES_PER_TOKEN)
    }
}

/// `text`, or its beginning with a mark if it has more than `limit` characters. The mark
/// counts, so the result never exceeds the limit.
pub fn truncate_chars(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let keep = limit.saturating_sub(TRUNCATION_MARK.chars().count());
    let mut cut: String = text.chars().take(keep).collect();
    cut.extend(TRUNCATION_MARK.chars().take(limit));
    cut
}

/// `text`, or its beginning with a mark if it would take more than about `limit` tokens.
pub fn truncate_tokens(text: &str, limit: usize) -> String {
    if approximate_tokens(text) <= limit {
        return text.to_owned();
    }
    let per_token = if text.is_ascii() {
        CHARS_PER_TOKEN
    } else {
        BYTES_PER_TOKEN
    };
    let budget = limit
        .saturating_mul(per_token)
        .saturating_sub(TRUNCATION_MARK.len());
    let mut end = budget.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut cut = text.get(..end).unwrap_or_default().to_owned();
    cut.push_str(TRUNCATION_MARK);
    cut
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_text_is_left_alone() {
        assert_eq!(truncate_chars("Привет", 6), "Привет");
        assert_eq!(truncate_tokens("four", 1), "four");
    }

    proptest! {
        #[test]
        fn cutting_keeps_to_the_limit(text in "\\PC{0,200}", limit in 0usize..60) {
            prop_assert!(truncate_chars(&text, limit).chars().count() <= limit.max(text.chars().count().min(limit)));
            // The mark alone is not ASCII and may weigh more than a tiny limit.
            prop_assert!(approximate_tokens(&truncate_tokens(&text, limit)) <= limit.max(2) + limit / 3 + 1);
        }
    }
}
