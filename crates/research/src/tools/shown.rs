//! Articles as answers show them, and what the tools say in the same words.

use std::fmt::Write as _;

use deliberate_core::{Article, cut_to_chars};
use deliberate_toolkit::{About, Annotations, Limits, Outcome, ToolError};
use schemars::JsonSchema;
use serde::Serialize;

use crate::collect::{BY_MEANING_ALONE, Category, Kept, Provenance, harmless};

/// An article in an answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ShownArticle {
    /// Pass it wherever an article is named
    pub(crate) article_id: String,
    pub(crate) cite_key: String,
    pub(crate) title: String,
    pub(crate) authors: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) journal: Option<String>,
    pub(crate) document_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) doi: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arxiv_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) citation_count: Option<u64>,
    /// Whether it was retracted, if that is known
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retracted: Option<bool>,
    /// Pages of its text; 0 without one
    pub(crate) pages: u32,
    pub(crate) category: Category,
    pub(crate) provenance: Provenance,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tags: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) collections: Vec<String>,
}

/// How many authors are named before it says how many more there are.
const NAMED: usize = 4;

/// The most authors an answer holds.
const MOST_AUTHORS: usize = 50;

impl ShownArticle {
    pub(crate) fn of(kept: &Kept) -> Self {
        let article = &kept.article;
        let names = article.authors.iter().take(MOST_AUTHORS);
        Self {
            article_id: kept.id.clone(),
            cite_key: kept.cite_key.clone(),
            title: article.title.clone(),
            authors: names.map(deliberate_core::Author::full_name).collect(),
            date: article.date.map(|it| it.to_string()),
            journal: article.venue.clone(),
            document_type: article.kind.as_str(),
            doi: article.doi.as_ref().map(ToString::to_string),
            arxiv_id: article.arxiv_id.as_ref().map(ToString::to_string),
            citation_count: article.citation_count,
            retracted: article.retracted,
            pages: kept.pages,
            category: kept.category,
            provenance: kept.provenance,
            tags: kept.tags.clone(),
            collections: kept.collections.clone(),
        }
    }
}

/// `Ada Lovelace, Charles Babbage and 3 others`.
pub(crate) fn names(article: &Article) -> String {
    let shown = article.authors.iter().take(NAMED);
    let shown: Vec<String> = shown.map(|it| plain(&it.full_name())).collect();
    match article.authors.len().saturating_sub(NAMED) {
        _ if shown.is_empty() => "unknown authors".to_owned(),
        0 => shown.join(", "),
        1 => format!("{} and 1 other", shown.join(", ")),
        more => format!("{} and {more} others", shown.join(", ")),
    }
}

/// An article on one line of Markdown.
pub(crate) fn line(kept: &Kept) -> String {
    let article = &kept.article;
    let mut line = format!("**{}** — {}", plain(&article.title), names(article));
    if let Some(year) = article.year() {
        let _ = write!(line, " ({year})");
    }
    if let Some(venue) = &article.venue {
        let _ = write!(line, ", *{}*", plain(venue));
    }
    if article.retracted == Some(true) {
        line.push_str(" **RETRACTED**");
    }
    let _ = write!(line, " · `{}`", kept.cite_key);
    match kept.pages {
        0 => line.push_str(" · no text"),
        1 => line.push_str(" · 1 page"),
        pages => {
            let _ = write!(line, " · {pages} pages");
        }
    }
    line
}

/// Words of others on one line, without what Markdown would take for structure.
pub(crate) fn plain(text: &str) -> String {
    let seen = |it: char| match it {
        // What steers a terminal or turns the direction would make a name look like another.
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => ' ',
        it if it.is_control() => ' ',
        it => it,
    };
    let text: String = text.chars().take(10_000).map(seen).collect();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = cut_to_chars(&line, 300);
    // Links and pictures would be followed by whoever shows it.
    let line = line.replace(['*', '`'], "'").replace('<', "‹");
    line.replace("](", "] (").replace("][", "] [")
}

/// A count of things in words: `1 article`, `2 articles`.
pub(crate) fn count(many: u64, what: &str) -> String {
    match many {
        1 => format!("1 {what}"),
        many => format!("{many} {what}s"),
    }
}

/// What is said of a call that went well but not smoothly.
pub(crate) fn with_notes(mut said: String, notes: &[String]) -> String {
    // That nothing may fit is to be known before what is shown is read.
    let doubt = |it: &&String| it.as_str() == BY_MEANING_ALONE;
    if notes.iter().any(|it| doubt(&it)) {
        said = format!("> {BY_MEANING_ALONE}\n\n{said}");
    }
    for note in notes.iter().filter(|it| !doubt(it)) {
        // Some of it others wrote.
        let note: String = note
            .chars()
            .map(|it| if it.is_control() { ' ' } else { it })
            .collect();
        let _ = write!(said, "\n> {}", harmless(&note));
    }
    said
}

/// What a client should know of a tool that only reads.
pub(crate) const fn reads(
    name: &'static str,
    title: &'static str,
    description: &'static str,
) -> About {
    about(name, title, description, Annotations::READS)
}

/// What a client should know of a tool.
pub(crate) const fn about(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    annotations: Annotations,
) -> About {
    About {
        name,
        title,
        description,
        annotations,
        thinks: false,
        limits: Limits {
            time: None,
            at_once: None,
        },
    }
}

/// An answer that changes nothing.
pub(crate) const fn only_read<T>(output: T) -> Outcome<T> {
    Outcome {
        output,
        changes: Vec::new(),
        session: None,
    }
}

/// A domain error.
pub(crate) fn told(code: &str, message: impl Into<String>, hint: impl Into<String>) -> ToolError {
    ToolError::Told {
        code: code.to_owned(),
        message: message.into(),
        hint: Some(hint.into()),
    }
}
