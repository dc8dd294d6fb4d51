//! Text to words: how passages and questions are taken apart. The same for both, or nothing is
//! found.

use std::collections::BTreeSet;

use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, LowerCaser, RemoveLongFilter, SimpleTokenizer, Stemmer,
    StopWordFilter, TextAnalyzer, TokenizerManager,
};

use crate::limits::{QUERY_BYTES, cut};

/// The analyser's name in the index: changes when what it does changes, so that files made before
/// are refused instead of half matching.
pub(crate) const ENGLISH: &str = "english-1";

/// Words of more bytes are noise: hashes, addresses, tables run together.
const WORD_BYTES: usize = 64;

fn english() -> TextAnalyzer {
    let words = TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(WORD_BYTES))
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
    manager.register(ENGLISH, english());
    manager
}

/// The distinct words of a text in the order they first come, at most so many of them.
pub(crate) fn distinct(text: &str, most: usize) -> Vec<String> {
    let mut analyzer = english();
    let mut stream = analyzer.token_stream(cut(text, QUERY_BYTES));
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
    use super::distinct;

    #[test]
    fn words_are_stemmed_and_stop_words_left_out() {
        let words = distinct("The Cells are dividing; a cell divides. Naïve?", 10);
        assert_eq!(words, ["cell", "divid", "naiv"]);
    }

    #[test]
    fn no_syntax_is_read() {
        let words = distinct("title:\"heart\"~2 AND -rate^3 (x OR y) [a TO b]", 20);
        assert_eq!(words, ["titl", "heart", "2", "rate", "3", "x", "y", "b"]);
    }

    #[test]
    fn only_so_many_distinct_words_are_kept() {
        let text: Vec<String> = (0..500).map(|n| format!("w{n} w{n}")).collect();
        assert_eq!(distinct(&text.join(" "), 64).len(), 64);
    }
}
