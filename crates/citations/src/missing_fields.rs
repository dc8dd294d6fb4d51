//! Finds the fields that a citation of a work needs and lacks. Knows no styles.

use deliberate_core::{Article, WorkKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A field that a citation needs and the record lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingField {
    /// The field, named as in the record.
    pub field: String,
    /// The kind of entry that needs the field, such as `a journal article`.
    pub needed_for: String,
    /// False if styles print a substitute, such as `n.d.` for the year, or cite by another field.
    pub essential: bool,
}

/// Returns the fields that a citation of this kind of work needs and this record lacks.
pub fn missing_fields(article: &Article) -> Vec<MissingField> {
    let needed_for = kind_name(article.kind);
    let lacks = |field: &str, essential: bool| MissingField {
        field: field.to_owned(),
        needed_for: needed_for.to_owned(),
        essential,
    };
    let mut all = Vec::new();
    if article.title.trim().is_empty() {
        all.push(lacks("title", true));
    }
    if article.authors.iter().all(|it| it.family.trim().is_empty()) {
        all.push(lacks("authors", true));
    }
    if article.date.is_none() {
        all.push(lacks("date", true));
    }
    if article.kind == WorkKind::Unknown {
        all.push(lacks("kind", false));
    }
    let of_kind = required_fields(article);
    all.extend(
        of_kind
            .into_iter()
            .filter(|it| !it.1)
            .map(|it| lacks(it.0, false)),
    );
    all
}

/// The additional fields of a kind, and whether the record has them.
fn required_fields(article: &Article) -> Vec<(&'static str, bool)> {
    let has = |it: &Option<String>| it.as_ref().is_some_and(|it| !it.trim().is_empty());
    let somewhere = article.doi.is_some() || article.arxiv_id.is_some() || has(&article.url);
    let venue = ("venue", has(&article.venue));
    let publisher = ("publisher", has(&article.publisher));
    // An article that is online before print has a DOI instead of pages.
    let pages = ("pages", has(&article.pages) || article.doi.is_some());
    let place = ("url", somewhere);
    match article.kind {
        WorkKind::JournalArticle => vec![venue, ("volume", has(&article.volume)), pages],
        WorkKind::ConferencePaper => vec![venue],
        WorkKind::Preprint | WorkKind::WebPage => vec![place],
        WorkKind::Book | WorkKind::Thesis | WorkKind::Report => vec![publisher],
        WorkKind::Chapter => vec![venue, publisher, pages],
        WorkKind::Dataset | WorkKind::Software => vec![publisher, place],
        WorkKind::Document | WorkKind::Unknown => Vec::new(),
    }
}

fn kind_name(kind: WorkKind) -> &'static str {
    match kind {
        WorkKind::JournalArticle => "a journal article",
        WorkKind::ConferencePaper => "a conference paper",
        WorkKind::Preprint => "a preprint",
        WorkKind::Book => "a book",
        WorkKind::Chapter => "a chapter",
        WorkKind::Thesis => "a thesis",
        WorkKind::Report => "a report",
        WorkKind::Dataset => "a dataset",
        WorkKind::Software => "software",
        WorkKind::WebPage => "a web page",
        WorkKind::Document => "a document",
        WorkKind::Unknown => "any work",
    }
}
