//! The analyzer: splits passages and queries into words. Both must use the same one to match.

use std::collections::BTreeSet;

use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, LowerCaser, Stemmer, StopWordFilter, TextAnalyzer,
    TokenizerManager,
};

use super::tokenizer::UnicodeTokenizer;
use crate::limits::{QUERY_BYTES, truncate_bytes};

/// The analyzer's name in the index. It changes with the analyzer, so that older files are rejected
/// instead of matching in part.
pub(crate) const ANALYZER: &str = "words-2";

/// English words by their stems, words of other languages as written but without accents, and in
/// scripts without spaces each letter and each pair of neighbors.
fn analyzer() -> TextAnalyzer {
    let words = TextAnalyzer::builder(UnicodeTokenizer::default())
        .filter(LowerCaser)
        .filter(AsciiFoldingFilter)
        .dynamic();
    match StopWordFilter::new(Language::English) {
        Some(stop_words) => words.filter_dynamic(stop_words),
        None => words,
    }
    .filter_dynamic(Stemmer::new(Language::English))
    .build()
}

pub(crate) fn tokenizers() -> TokenizerManager {
    let manager = TokenizerManager::default();
    manager.register(ANALYZER, analyzer());
    manager
}

/// The first `most` distinct words of a text, in order.
pub(crate) fn distinct_words(text: &str, most: usize) -> Vec<String> {
    let mut analyser = analyzer();
    let mut stream = analyser.token_stream(truncate_bytes(text, QUERY_BYTES));
    let mut seen = BTreeSet::new();
    let mut words = Vec::new();
    while words.len() < most && stream.advance() {
        let word = &stream.token().text;
        if !word.is_empty() && seen.insert(word.clone()) {
            words.push(word.clone());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::distinct_words;

    #[test]
    fn words_are_stemmed_and_stop_words_left_out() {
        let words = distinct_words("The Cells are dividing; a cell divides. Naïve?", 10);
        assert_eq!(words, ["cell", "divid", "naiv"]);
    }

    #[test]
    fn no_syntax_is_read() {
        let words = distinct_words("title:\"heart\"~2 AND -rate^3 (x OR y) [a TO b]", 20);
        assert_eq!(words, ["titl", "heart", "2", "rate", "3", "x", "y", "b"]);
    }

    #[test]
    fn only_so_many_distinct_words_are_kept() {
        let text: Vec<String> = (0..500).map(|n| format!("w{n} w{n}")).collect();
        assert_eq!(distinct_words(&text.join(" "), 64).len(), 64);
    }

    #[test]
    fn a_word_is_one_however_it_is_written() {
        for (one, other) in [
            ("na\u{ef}ve", "nai\u{308}ve"),
            ("Ångström", "angstrom"),
            ("ΟΔΟΣ", "οδός"),
            ("ЁЛКА", "елка"),
            ("so\u{ad}lu\u{200b}tion", "solution"),
            ("ﬁnding", "finding"),
            ("ＤＮＡ", "dna"),
            ("ﾃﾞｰﾀ", "データ"),
            ("מֶלֶךְ", "מלך"),
            ("İstanbul", "istanbul"),
        ] {
            assert_eq!(
                distinct_words(one, 9),
                distinct_words(other, 9),
                "{one} {other}"
            );
            assert!(!distinct_words(one, 9).is_empty(), "{one}");
        }
    }

    #[test]
    fn words_of_scripts_with_marks_stay_whole() {
        assert_eq!(distinct_words("हिन्दी में", 9).len(), 2);
        assert_eq!(distinct_words("தமிழ்", 9).len(), 1);
    }

    #[test]
    fn writing_without_spaces_is_found_by_letters_and_pairs() {
        assert_eq!(
            distinct_words("東京都", 9),
            ["東", "京", "東京", "都", "京都"]
        );
        assert_eq!(
            distinct_words("DNA複製x", 9),
            ["dna", "複", "製", "複製", "x"]
        );
        let (ice, hard) = (distinct_words("น้ำแข็ง", 20), distinct_words("แข็ง", 20));
        assert!(
            hard.len() > 2 && hard.iter().all(|it| ice.contains(it)),
            "{ice:?}"
        );
    }

    #[test]
    fn endless_words_are_left_out() {
        assert_eq!(distinct_words(&"x".repeat(63), 9).len(), 1);
        assert!(distinct_words(&"x".repeat(64), 9).is_empty());
        assert_eq!(distinct_words(&"ж".repeat(63), 9).len(), 1);
        assert!(distinct_words(&"ж".repeat(64), 9).is_empty());
    }
}
