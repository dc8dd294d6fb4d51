//! Writes the tagged format of `EndNote` (`.enw`), which Refer reads too.

use std::fmt::Write as _;

use deliberate_core::{Article, WorkKind};

use super::{RETRACTED, authors, comma_name, page_range};
use crate::{BibliographyEntry, citation_key, text_normalization};

pub fn to_endnote(entries: &[BibliographyEntry<'_>]) -> String {
    let keys = citation_key::citation_keys(entries);
    let mut out = String::new();
    for (entry, key) in entries.iter().zip(&keys) {
        for (tag, value) in lines(key, entry.article) {
            let _ = writeln!(out, "%{tag} {value}");
        }
        out.push('\n');
    }
    out
}

fn reference_type(kind: WorkKind) -> &'static str {
    match kind {
        WorkKind::JournalArticle => "Journal Article",
        WorkKind::ConferencePaper => "Conference Paper",
        WorkKind::Preprint => "Unpublished Work",
        WorkKind::Book => "Book",
        WorkKind::Chapter => "Book Section",
        WorkKind::Thesis => "Thesis",
        WorkKind::Report => "Report",
        WorkKind::Dataset => "Dataset",
        WorkKind::Software => "Computer Program",
        WorkKind::WebPage => "Web Page",
        WorkKind::Document | WorkKind::Unknown => "Generic",
    }
}

fn lines(key: &str, article: &Article) -> Vec<(char, String)> {
    let mut lines = vec![('0', reference_type(article.kind).to_owned())];
    let mut put = |tag, value: Option<String>| {
        if let Some(value) = value {
            lines.push((tag, value));
        }
    };
    for author in authors(article) {
        put('A', Some(comma_name(&author)));
    }
    put('T', text_normalization::non_empty_line(&article.title));
    let venue_tag = if article.kind == WorkKind::JournalArticle {
        'J'
    } else {
        'B'
    };
    put(
        venue_tag,
        text_normalization::optional_line(article.venue.as_ref()),
    );
    put(
        'I',
        text_normalization::optional_line(article.publisher.as_ref()),
    );
    put('D', article.year().map(|it| it.to_string()));
    put(
        '8',
        article
            .date
            .filter(|it| it.month.is_some())
            .map(|it| it.to_string()),
    );
    put(
        'V',
        text_normalization::optional_line(article.volume.as_ref()),
    );
    put(
        'N',
        text_normalization::optional_line(article.issue.as_ref()),
    );
    let pages = text_normalization::optional_line(article.pages.as_ref());
    let range = pages
        .as_deref()
        .and_then(page_range)
        .map(|(first, last)| format!("{first}-{last}"));
    put('P', range.or(pages));
    put(
        '@',
        text_normalization::optional_line(article.issn.as_ref())
            .or_else(|| text_normalization::optional_line(article.isbn.as_ref())),
    );
    put('R', article.doi.as_ref().map(ToString::to_string));
    put(
        'M',
        article
            .arxiv_id
            .as_ref()
            .map(|it| format!("arXiv:{it}"))
            .or_else(|| text_normalization::optional_line(article.pmid.as_ref())),
    );
    put(
        '2',
        text_normalization::optional_line(article.pmcid.as_ref()),
    );
    put('U', text_normalization::optional_line(article.url.as_ref()));
    put(
        'G',
        text_normalization::optional_line(article.language.as_ref()),
    );
    put(
        '9',
        (article.kind == WorkKind::Preprint).then(|| "Preprint".to_owned()),
    );
    let retracted = article.retracted == Some(true);
    put('Z', retracted.then(|| RETRACTED.to_owned()));
    put('F', Some(key.to_owned()));
    for keyword in &article.keywords {
        put('K', text_normalization::non_empty_line(keyword));
    }
    put(
        'X',
        text_normalization::optional_line(article.summary.as_ref()),
    );
    lines
}
