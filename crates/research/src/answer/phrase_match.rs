//! Phrase search for whole words: `Li` does not match `Oliver`.

/// Whether the words of `phrase`, at least one, occur in `text` in a row, ignoring case.
pub(super) fn contains_phrase(text: &str, phrase: &str) -> bool {
    let wanted = split_words(phrase);
    !wanted.is_empty()
        && split_words(text)
            .windows(wanted.len())
            .any(|it| it == wanted)
}

fn split_words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|it: char| !it.is_alphanumeric());
    let words = words.filter(|it| !it.is_empty());
    words.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_in_a_row() {
        assert!(contains_phrase(
            "Papers by J. van der Berg?",
            "Van der Berg"
        ));
        assert!(!contains_phrase("Papers by Oliver", "Li"));
        assert!(!contains_phrase("Papers by Oliver", " - "));
    }
}
