//! Writes RIS, one tag per line.

use std::fmt::Write as _;

use deliberate_core::{Article, PartialDate, WorkKind};

use super::{RETRACTED, authors, comma_name, page_range};
use crate::{BibliographyEntry, citation_key, text_normalization};

pub fn to_ris(entries: &[BibliographyEntry<'_>]) -> String {
    let keys = citation_key::citation_keys(entries);
    let mut out = String::new();
    for (entry, key) in entries.iter().zip(&keys) {
        for (tag, value) in lines(key, entry.article) {
            let _ = write!(out, "{tag}  - {value}\r\n");
        }
        out.push_str("ER  - \r\n\r\n");
    }
    out
}

/// The reference type. RIS has none for preprints and documents; `M3` distinguishes them.
fn reference_type(kind: WorkKind) -> &'static str {
    match kind {
        WorkKind::JournalArticle => "JOUR",
        WorkKind::ConferencePaper => "CONF",
        WorkKind::Preprint => "UNPB",
        WorkKind::Book => "BOOK",
        WorkKind::Chapter => "CHAP",
        WorkKind::Thesis => "THES",
        WorkKind::Report => "RPRT",
        WorkKind::Dataset => "DATA",
        WorkKind::Software => "COMP",
        WorkKind::WebPage => "ELEC",
        WorkKind::Document | WorkKind::Unknown => "GEN",
    }
}

fn lines(key: &str, article: &Article) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("TY", reference_type(article.kind).to_owned()),
        ("ID", key.to_owned()),
    ];
    let mut put = |tag, value: Option<String>| {
        if let Some(value) = value {
            lines.push((tag, value));
        }
    };
    for author in authors(article) {
        put("AU", Some(comma_name(&author)));
    }
    put("TI", text_normalization::non_empty_line(&article.title));
    put(
        "T2",
        text_normalization::optional_line(article.venue.as_ref()),
    );
    put(
        "PB",
        text_normalization::optional_line(article.publisher.as_ref()),
    );
    put("PY", article.year().map(|it| it.to_string()));
    put("DA", article.date.filter(|it| it.month.is_some()).map(date));
    put(
        "VL",
        text_normalization::optional_line(article.volume.as_ref()),
    );
    put(
        "IS",
        text_normalization::optional_line(article.issue.as_ref()),
    );
    let pages = text_normalization::optional_line(article.pages.as_ref());
    match pages.as_deref().and_then(page_range) {
        Some((first, last)) => {
            put("SP", Some(first));
            put("EP", Some(last));
        }
        None => put("SP", pages),
    }
    let number = text_normalization::optional_line(article.issn.as_ref())
        .or_else(|| text_normalization::optional_line(article.isbn.as_ref()));
    put("SN", number);
    put("DO", article.doi.as_ref().map(ToString::to_string));
    put(
        "AN",
        article.arxiv_id.as_ref().map(|it| format!("arXiv:{it}")),
    );
    put(
        "UR",
        text_normalization::optional_line(article.url.as_ref()),
    );
    put(
        "L1",
        text_normalization::optional_line(article.pdf_url.as_ref()),
    );
    put(
        "LA",
        text_normalization::optional_line(article.language.as_ref()),
    );
    let subtype = matches!(article.kind, WorkKind::Preprint | WorkKind::Document);
    put("M3", subtype.then(|| article.kind.as_str().to_owned()));
    put(
        "N1",
        text_normalization::optional_line(article.pmid.as_ref()).map(|it| format!("PMID: {it}")),
    );
    put(
        "N1",
        text_normalization::optional_line(article.pmcid.as_ref()).map(|it| format!("PMCID: {it}")),
    );
    let retracted = article.retracted == Some(true);
    put("N1", retracted.then(|| RETRACTED.to_owned()));
    for keyword in &article.keywords {
        put("KW", text_normalization::non_empty_line(keyword));
    }
    put(
        "AB",
        text_normalization::optional_line(article.summary.as_ref()),
    );
    lines
}

/// `2024/05/17/`: unknown parts stay empty and the slashes stay.
fn date(date: PartialDate) -> String {
    let part = |it: Option<u8>| it.map(|it| format!("{it:02}")).unwrap_or_default();
    format!("{}/{}/{}/", date.year, part(date.month), part(date.day))
}
