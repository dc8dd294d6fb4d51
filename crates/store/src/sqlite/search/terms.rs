//! The terms of a search: words and quoted phrases, for the index or for the text itself.

use std::collections::HashSet;

use deliberate_core::is_stop_word;

/// The most words of a query that are searched one by one. A text must still have all of them to
/// count as having all words.
const MAX_OPTIONAL_TERMS: usize = 64;

/// A term of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SearchTerm {
    /// The term as the query has it.
    pub(super) text: String,
    /// Whether the term must occur.
    pub(super) is_phrase: bool,
    /// Whether to search in the text itself, because to the index the term is part of a longer word.
    pub(super) in_text: bool,
}

/// The terms of a search, each once.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SearchTerms(Vec<SearchTerm>);

impl SearchTerms {
    /// Parses a query. Quotes around words make a phrase; all other punctuation separates words.
    /// Stop words count only inside phrases, or if there is nothing else.
    pub(super) fn parse(query: &str) -> Self {
        let mut terms = Vec::new();
        let parts: Vec<&str> = query.split('"').collect();
        let last = parts.len().saturating_sub(1);
        for (number, part) in parts.into_iter().enumerate() {
            // Every second part stands between quotes, except behind one that is never closed.
            if number % 2 == 1 && number != last {
                terms.extend(SearchTerm::phrase(part));
            } else {
                terms.extend(split_words(part).map(SearchTerm::word));
            }
        }
        if terms.iter().any(|term| !term.is_stop_word()) {
            terms.retain(|term| !term.is_stop_word());
        }
        let mut seen = HashSet::new();
        terms.retain(|term| seen.insert((term.is_phrase, term.text.to_lowercase())));
        Self(terms)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the phrases or the words, as the query has them.
    pub(super) fn list(&self, phrases: bool) -> Vec<String> {
        let wanted = self.0.iter().filter(|term| term.is_phrase == phrases);
        wanted.map(|term| term.text.clone()).collect()
    }

    /// Returns all terms that are searched in the text itself, in lower case.
    pub(super) fn text_terms(&self) -> Vec<String> {
        lower_text_terms(&self.0)
    }

    /// Returns the terms that are searched one by one: the phrases and the first words.
    pub(super) fn single(&self) -> Vec<&SearchTerm> {
        let (phrases, words): (Vec<_>, Vec<_>) = self.0.iter().partition(|term| term.is_phrase);
        let words = words.into_iter().take(MAX_OPTIONAL_TERMS);
        phrases.into_iter().chain(words).collect()
    }

    /// Selects texts that have all terms.
    pub(super) fn all(&self) -> TermMatch {
        TermMatch {
            index_query: join_index_terms(&self.0, " "),
            required_text: self.text_terms(),
            any_text: None,
        }
    }

    /// Selects texts that have all phrases and any word: by the index, and in the text itself.
    pub(super) fn any(&self) -> Vec<TermMatch> {
        let words: Vec<SearchTerm> = self.single().into_iter().cloned().collect();
        let (phrases, words): (Vec<_>, Vec<_>) = words.into_iter().partition(|it| it.is_phrase);
        let phrase_query = join_index_terms(&phrases, " AND ");
        let indexed = join_index_terms(&words, " OR ").map(|any| TermMatch {
            index_query: Some(match &phrase_query {
                Some(required) => format!("{required} AND ({any})"),
                None => any,
            }),
            required_text: lower_text_terms(&phrases),
            any_text: None,
        });
        let in_text = lower_text_terms(&words);
        let inside = (!in_text.is_empty()).then(|| TermMatch {
            index_query: phrase_query.clone(),
            required_text: lower_text_terms(&phrases),
            any_text: Some(in_text),
        });
        // A text with the phrases and no word is found too.
        let only_phrases = (!phrases.is_empty() && !words.is_empty()).then(|| TermMatch {
            index_query: phrase_query.clone(),
            required_text: lower_text_terms(&phrases),
            any_text: None,
        });
        [indexed, inside, only_phrases]
            .into_iter()
            .flatten()
            .collect()
    }
}

/// A condition on texts; all parts must hold.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TermMatch {
    /// An expression for the index. Each term is quoted, so that no character is an operator.
    pub(super) index_query: Option<String>,
    /// Terms that the text must have, in lower case as far as `SQLite` knows the letters.
    pub(super) required_text: Vec<String>,
    /// Terms of which the text must have one, in lower case.
    pub(super) any_text: Option<Vec<String>>,
}

impl SearchTerm {
    fn word(word: &str) -> Self {
        Self {
            text: word.to_owned(),
            is_phrase: false,
            in_text: word.chars().any(is_unspaced_script),
        }
    }

    /// Returns the term for a quoted text; `None` if it has no word.
    fn phrase(quoted: &str) -> Option<Self> {
        let mut words = split_words(quoted).peekable();
        words.peek()?;
        let in_text = quoted.chars().any(is_unspaced_script);
        let text = if in_text {
            quoted.trim().to_owned()
        } else {
            words.collect::<Vec<_>>().join(" ")
        };
        Some(Self {
            text,
            is_phrase: true,
            in_text,
        })
    }

    /// The expression for the index. No term has a quote in it.
    pub(super) fn index_query(&self) -> String {
        format!("\"{}\"", self.text)
    }

    pub(super) fn lower_text(&self) -> String {
        self.text.to_ascii_lowercase()
    }

    fn is_stop_word(&self) -> bool {
        !self.is_phrase && is_stop_word(&self.text)
    }
}

fn join_index_terms(terms: &[SearchTerm], operator: &str) -> Option<String> {
    let indexed = terms.iter().filter(|term| !term.in_text);
    let quoted: Vec<String> = indexed.map(SearchTerm::index_query).collect();
    (!quoted.is_empty()).then(|| quoted.join(operator))
}

fn lower_text_terms(terms: &[SearchTerm]) -> Vec<String> {
    let inside = terms.iter().filter(|term| term.in_text);
    inside.map(SearchTerm::lower_text).collect()
}

fn split_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && !is_combining_mark(letter))
        .filter(|word| !word.is_empty())
}

/// Recognizes a combining accent, tone or vowel sign, which is part of the word. Rust counts most
/// of them as letters; these are the others, in the scripts without spaces, and the European
/// accents.
fn is_combining_mark(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}' | '\u{e47}'..='\u{e4e}' | '\u{eba}'
        | '\u{ec8}'..='\u{ece}' | '\u{1037}'..='\u{103a}' | '\u{17b4}'..='\u{17b5}'
        | '\u{17c9}'..='\u{17d3}' | '\u{17dd}' | '\u{3099}'..='\u{309a}')
}

/// Recognizes scripts without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese.
fn is_unspaced_script(letter: char) -> bool {
    matches!(letter, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(query: &str) -> (Vec<String>, Vec<String>) {
        let terms = SearchTerms::parse(query);
        (terms.list(true), terms.list(false))
    }

    fn owned(terms: &[&str]) -> Vec<String> {
        terms.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn quotes_make_phrases_and_one_that_is_not_closed_does_not() {
        let check = |query, phrases: &[&str], words: &[&str]| {
            assert_eq!(parsed(query), (owned(phrases), owned(words)), "{query:?}");
        };
        check("\"cold  cache\" disk", &["cold cache"], &["disk"]);
        check("disk \"cold cache", &[], &["disk", "cold", "cache"]);
        check("\"a-b\" \"\" \"?!\"", &["a b"], &[]);
        check("\"no\"\"gap\"", &["no", "gap"], &[]);
        check("\"Rust言語 を\"", &["Rust言語 を"], &[]);
    }

    #[test]
    fn stop_words_count_only_alone_or_in_phrases() {
        assert_eq!(
            parsed("What did WE decide about the cache?").1,
            ["decide", "cache"]
        );
        assert_eq!(parsed("to be or not to be").1, ["to", "be", "or", "not"]);
        assert_eq!(
            parsed("\"to be\" the play"),
            (owned(&["to be"]), owned(&["play"]))
        );
    }

    #[test]
    fn a_term_counts_once_whatever_its_case() {
        assert_eq!(
            parsed("Cache cache CACHE Ärger ärger").1,
            ["Cache", "Ärger"]
        );
    }
}
