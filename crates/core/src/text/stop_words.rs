//! English words that say nothing about the subject of a text.

/// In alphabetical order.
const STOP_WORDS: &[&str] = &[
    "a", "about", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because", "been",
    "but", "by", "can", "could", "did", "do", "does", "each", "for", "from", "had", "has", "have",
    "how", "i", "if", "in", "into", "is", "it", "its", "may", "me", "more", "most", "my", "no",
    "not", "of", "on", "or", "other", "our", "should", "so", "some", "such", "than", "that", "the",
    "their", "them", "then", "there", "these", "they", "this", "to", "too", "us", "very", "was",
    "we", "were", "what", "when", "where", "which", "who", "why", "will", "with", "would", "you",
    "your",
];

/// Tells whether a word, in any case, is a function word of English.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS
        .binary_search(&word.to_ascii_lowercase().as_str())
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_list_is_found_in_any_case() {
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
        assert!(is_stop_word("The"));
        assert!(!is_stop_word("cache") && !is_stop_word(""));
    }
}
