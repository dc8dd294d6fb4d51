//! Shared rendering of articles and notes, and shared tool metadata.

use std::fmt::Write as _;

use deliberate_core::{Article, truncate_chars};
use deliberate_toolkit::{ErrorCode, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    articles::{ArticleCategory, ArticleRecord, Provenance},
    prompt_fence::disarm_passage_tags,
    retrieval::retriever::VECTOR_ONLY_NOTE,
};

/// An article in the output of a tool.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ArticleView {
    /// For use wherever an article is named
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
    /// Absent if unknown
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retracted: Option<bool>,
    /// Pages of its text; 0 without one
    pub(crate) pages: u32,
    pub(crate) category: ArticleCategory,
    pub(crate) provenance: Provenance,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tags: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) collections: Vec<String>,
}

/// Authors that a line names; the rest are counted.
const MAX_NAMED_AUTHORS: usize = 4;

/// Authors in the data of an output.
const MAX_AUTHORS: usize = 50;

impl ArticleView {
    pub(crate) fn from_record(kept: &ArticleRecord) -> Self {
        let article = &kept.article;
        let names = article.authors.iter().take(MAX_AUTHORS);
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

/// Renders authors: `Ada Lovelace, Charles Babbage and 3 others`.
pub(crate) fn author_names(article: &Article) -> String {
    let shown = article.authors.iter().take(MAX_NAMED_AUTHORS);
    let shown: Vec<String> = shown.map(|it| escape_markdown(&it.full_name())).collect();
    match article.authors.len().saturating_sub(MAX_NAMED_AUTHORS) {
        _ if shown.is_empty() => "unknown authors".to_owned(),
        0 => shown.join(", "),
        1 => format!("{} and 1 other", shown.join(", ")),
        more => format!("{} and {more} others", shown.join(", ")),
    }
}

/// Renders an article as one line of Markdown.
pub(crate) fn article_line(kept: &ArticleRecord) -> String {
    let article = &kept.article;
    let mut line = format!(
        "**{}** — {}",
        escape_markdown(&article.title),
        author_names(article)
    );
    if let Some(year) = article.year() {
        let _ = write!(line, " ({year})");
    }
    if let Some(venue) = &article.venue {
        let _ = write!(line, ", *{}*", escape_markdown(venue));
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

/// Puts untrusted text on one line, without Markdown structure.
pub(crate) fn escape_markdown(text: &str) -> String {
    let seen = |it: char| match it {
        // Terminal and bidirectional controls can make a name look like a different one.
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => ' ',
        it if it.is_control() => ' ',
        it => it,
    };
    let text: String = text.chars().take(10_000).map(seen).collect();
    let text = disarm_passage_tags(&text);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = truncate_chars(&line, 300);
    // A Markdown renderer would follow links and load images.
    let line = line.replace(['*', '`'], "'").replace('<', "‹");
    line.replace("](", "] (").replace("][", "] [")
}

/// Renders a count: `1 article`, `2 articles`.
pub(crate) fn pluralize(many: u64, what: &str) -> String {
    match many {
        1 => format!("1 {what}"),
        many => format!("{many} {what}s"),
    }
}

/// Adds the notes to the text of an output.
pub(crate) fn with_notes(mut said: String, notes: &[String]) -> String {
    // The reader must know before the results that they may not match.
    let doubt = |it: &&String| it.as_str() == VECTOR_ONLY_NOTE;
    if notes.iter().any(|it| doubt(&it)) {
        said = format!("> {VECTOR_ONLY_NOTE}\n\n{said}");
    }
    for note in notes.iter().filter(|it| !doubt(it)) {
        // A note may contain untrusted text.
        let note: String = note
            .chars()
            .map(|it| if it.is_control() { ' ' } else { it })
            .collect();
        let _ = write!(said, "\n> {}", disarm_passage_tags(&note));
    }
    said
}

/// Metadata of a read-only tool.
pub(crate) const fn read_only_meta(
    name: &'static str,
    title: &'static str,
    description: &'static str,
) -> ToolMeta {
    tool_meta(name, title, description, ToolHints::READ_ONLY)
}

/// Metadata of a tool.
pub(crate) const fn tool_meta(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    annotations: ToolHints,
) -> ToolMeta {
    ToolMeta {
        name,
        title,
        description,
        hints: annotations,
        asks_model: false,
        limits: ToolLimits {
            time: None,
            max_concurrent: None,
        },
    }
}

/// A tool output without changes.
pub(crate) const fn read_only_output<T>(output: T) -> ToolOutput<T> {
    ToolOutput {
        output,
        changes: Vec::new(),
        session: None,
    }
}

/// An error with a code and a hint.
pub(crate) fn custom_error(
    code: ErrorCode,
    message: impl Into<String>,
    hint: impl Into<String>,
) -> ToolError {
    ToolError::Custom {
        code,
        message: message.into(),
        hint: Some(hint.into()),
    }
}
