//! The tagged format of `EndNote` (`.enw`), which Refer reads too.

use std::fmt::Write as _;

use deliberate_core::{Article, WorkKind};

use super::{RETRACTED, authors, comma_name, page_range};
use crate::{Entry, clean, key};

/// The entries as the tags of `EndNote`.
pub fn to_endnote(entries: &[Entry<'_>]) -> String {
    let keys = key::keys_for(entries);
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
    put('T', clean::some_line(&article.title));
    let venue_tag = if article.kind == WorkKind::JournalArticle {
        'J'
    } else {
        'B'
    };
    put(venue_tag, clean::of(article.venue.as_ref()));
    put('I', clean::of(article.publisher.as_ref()));
    put('D', article.year().map(|it| it.to_string()));
    put(
        '8',
        article
            .date
            .filter(|it| it.month.is_some())
            .map(|it| it.to_string()),
    );
    put('V', clean::of(article.volume.as_ref()));
    put('N', clean::of(article.issue.as_ref()));
    let pages = clean::of(article.pages.as_ref());
    let range = pages
        .as_deref()
        .and_then(page_range)
        .map(|(first, last)| format!("{first}-{last}"));
    put('P', range.or(pages));
    put(
        '@',
        clean::of(article.issn.as_ref()).or_else(|| clean::of(article.isbn.as_ref())),
    );
    put('R', article.doi.as_ref().map(ToString::to_string));
    put(
        'M',
        article
            .arxiv_id
            .as_ref()
            .map(|it| format!("arXiv:{it}"))
            .or_else(|| clean::of(article.pmid.as_ref())),
    );
    put('2', clean::of(article.pmcid.as_ref()));
    put('U', clean::of(article.url.as_ref()));
    put('G', clean::of(article.language.as_ref()));
    put(
        '9',
        (article.kind == WorkKind::Preprint).then(|| "Preprint".to_owned()),
    );
    let retracted = article.retracted == Some(true);
    put('Z', retracted.then(|| RETRACTED.to_owned()));
    put('F', Some(key.to_owned()));
    for keyword in &article.keywords {
        put('K', clean::some_line(keyword));
    }
    put('X', clean::of(article.summary.as_ref()));
    lines
}
