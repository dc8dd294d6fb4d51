//! The terms of a query, reduced to plain words and phrases of limited length, so that no search
//! engine takes any of them for an operator.

use deliberate_core::{Author, PartialDate};

use super::text_cleanup;
use crate::{
    http::HttpClientError,
    sources::{PaperOrder, PaperQuery},
};

/// The most words of a query that are sent.
const MAX_WORDS: usize = 40;
/// The most phrases, authors or categories that are sent.
const MAX_LIST_ITEMS: usize = 20;

/// The most words that a paper must contain all of; with more words, any of them suffices.
const MAX_REQUIRED_WORDS: usize = 8;

/// Words that carry no subject.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "between", "by", "can", "could", "did",
    "do", "does", "for", "from", "had", "has", "have", "how", "if", "in", "into", "is", "it",
    "its", "may", "not", "of", "on", "or", "our", "should", "such", "than", "that", "the", "their",
    "them", "there", "these", "they", "this", "those", "to", "us", "was", "we", "were", "what",
    "when", "where", "which", "who", "why", "will", "with", "would", "about", "any",
];

/// A query as words and phrases without operators.
#[derive(Debug, Default)]
pub(crate) struct QueryTerms {
    pub(crate) words: Vec<String>,
    /// Phrases, any of which suffices.
    pub(crate) phrases: Vec<String>,
    /// Authors, all of whom are required.
    pub(crate) authors: Vec<Author>,
    /// The journal or conference.
    pub(crate) venue: Option<String>,
    pub(crate) newest_first: bool,
}

impl QueryTerms {
    /// Extracts the terms of a query.
    pub(crate) fn from_query(query: &PaperQuery) -> Self {
        let bare = |it: &String| Some(strip_operators(it)).filter(|it| !it.is_empty());
        let authors = query.authors.iter().filter_map(|it| parse_author_name(it));
        Self {
            words: strip_operators(&query.words)
                .split(' ')
                .filter(|it| !it.is_empty())
                .take(MAX_WORDS)
                .map(str::to_owned)
                .collect(),
            phrases: query
                .phrases
                .iter()
                .filter_map(bare)
                .take(MAX_LIST_ITEMS)
                .collect(),
            authors: authors.take(MAX_LIST_ITEMS).collect(),
            venue: query.venue.as_ref().and_then(bare),
            newest_first: query.order == PaperOrder::Newest,
        }
    }

    /// Extracts the terms of a query; an error if there are none.
    pub(crate) fn from_non_empty_query(query: &PaperQuery) -> Result<Self, HttpClientError> {
        let asked = Self::from_query(query);
        if asked.words.is_empty() && asked.phrases.is_empty() && asked.authors.is_empty() {
            return Err(HttpClientError::Local {
                what: "the search",
                reason: "the query is empty; give words, phrases or authors".to_owned(),
            });
        }
        Ok(asked)
    }

    /// The words that are not stop words, or all words if all are stop words.
    pub(crate) fn content_words(&self) -> Vec<&str> {
        let all = || self.words.iter().map(String::as_str);
        let telling: Vec<&str> = all()
            .filter(|it| !STOP_WORDS.contains(&it.to_lowercase().as_str()))
            .collect();
        if telling.is_empty() {
            all().collect()
        } else {
            telling
        }
    }

    /// Words and phrases in one line, for engines that interpret free text.
    pub(crate) fn plain_query(&self) -> String {
        let words = self.words.iter().chain(&self.phrases);
        words.map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// Words and phrases with `AND` and `OR`: all words, and any of the phrases.
    pub(crate) fn boolean_query(&self) -> String {
        let telling = self.content_words();
        // One paper seldom contains that many words: then any suffices, and the best match comes
        // first.
        let join = if telling.len() > MAX_REQUIRED_WORDS {
            " OR "
        } else {
            " "
        };
        let words = telling.join(join);
        let phrases = self.phrases.iter().map(|it| format!("\"{it}\""));
        let phrases = phrases.collect::<Vec<_>>().join(" OR ");
        match (words.is_empty(), phrases.is_empty()) {
            (true, _) => phrases,
            (false, true) => words,
            (false, false) => format!("({words}) AND ({phrases})"),
        }
    }

    /// The authors' names in one line.
    pub(crate) fn author_query(&self) -> String {
        let names = self.authors.iter().map(Author::full_name);
        names.collect::<Vec<_>>().join(" ")
    }
}

/// The first day of a partial date, as `2024-01-01`.
pub(crate) fn first_day(date: PartialDate) -> String {
    let part = |it: Option<u8>| it.unwrap_or(1);
    format!(
        "{:04}-{:02}-{:02}",
        date.year,
        part(date.month),
        part(date.day)
    )
}

/// The last day of a partial date, as `2024-12-31`.
pub(crate) fn last_day(date: PartialDate) -> String {
    let month = date.month.unwrap_or(12);
    let days = || {
        let first = jiff::civil::Date::new(date.year.cast_signed(), month.cast_signed(), 1);
        first.map_or(31, |it| it.days_in_month().cast_unsigned())
    };
    let day = date.day.unwrap_or_else(days);
    format!("{:04}-{month:02}-{day:02}", date.year)
}

/// Keeps letters, digits and the characters that join them: `self-supervised`, `C++`, `p53's`.
fn strip_operators(text: &str) -> String {
    let text = text_cleanup::clean_text(text, text_cleanup::MAX_TITLE_CHARS).unwrap_or_default();
    let kept = |it: char| it.is_alphanumeric() || matches!(it, '-' | '\'' | '.' | '+' | '/' | '#');
    let spaced: String = text
        .chars()
        .map(|it| if kept(it) { it } else { ' ' })
        .collect();
    let words = spaced
        .split_whitespace()
        .map(|it| it.trim_matches(['-', '\'', '.', '/']))
        // In capitals these words would be operators.
        .map(|it| match it {
            "AND" | "OR" | "NOT" | "ANDNOT" | "TO" => it.to_lowercase(),
            _ => it.to_owned(),
        })
        .filter(|it| it.chars().any(char::is_alphanumeric));
    words.collect::<Vec<_>>().join(" ")
}

fn parse_author_name(name: &str) -> Option<Author> {
    let bare = |it: &str| Some(strip_operators(it)).filter(|it| !it.is_empty());
    let author = Author::parse(&text_cleanup::clean_text(
        name,
        text_cleanup::MAX_LINE_CHARS,
    )?);
    Some(Author::person(
        bare(&author.family)?,
        author.given.as_deref().and_then(bare).unwrap_or_default(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_words() {
        let query = PaperQuery {
            words: "cats AND (dogs) OR \"mice\" -rats: title:x*".to_owned(),
            phrases: vec!["deep \"learning".to_owned(), "?!".to_owned()],
            authors: vec!["van der Maaten, L.".to_owned(), String::new()],
            ..PaperQuery::default()
        };
        let asked = QueryTerms::from_query(&query);
        assert_eq!(asked.words.join(" "), "cats and dogs or mice rats title x");
        assert_eq!(asked.phrases, ["deep learning"]);
        assert_eq!(asked.author_query(), "L van der Maaten");
        assert_eq!(
            asked.boolean_query(),
            "(cats dogs mice rats title x) AND (\"deep learning\")"
        );
    }

    #[test]
    fn nothing_is_not_searched_for() {
        let query = PaperQuery {
            words: "?? --".to_owned(),
            ..PaperQuery::default()
        };
        assert!(QueryTerms::from_non_empty_query(&query).is_err());
        let only = PaperQuery {
            words: "to be or not to be".to_owned(),
            ..PaperQuery::default()
        };
        assert_eq!(QueryTerms::from_query(&only).content_words().len(), 6);
    }

    #[test]
    fn windows_have_edges() {
        let of = |text: &str| {
            let date = PartialDate::parse(text).expect("it is a date");
            (first_day(date), last_day(date))
        };
        assert_eq!(
            of("2024"),
            ("2024-01-01".to_owned(), "2024-12-31".to_owned())
        );
        assert_eq!(
            of("2024-02"),
            ("2024-02-01".to_owned(), "2024-02-29".to_owned())
        );
        assert_eq!(
            of("2023-02-03"),
            ("2023-02-03".to_owned(), "2023-02-03".to_owned())
        );
    }
}
