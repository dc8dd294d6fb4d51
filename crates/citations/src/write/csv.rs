//! Writes a table with a row per work, quoted according to RFC 4180.

use deliberate_core::{Article, Author};

use super::authors;
use crate::{BibliographyEntry, citation_key, text_normalization};

const COLUMNS: [&str; 22] = [
    "key",
    "type",
    "title",
    "authors",
    "year",
    "date",
    "venue",
    "volume",
    "issue",
    "pages",
    "publisher",
    "doi",
    "arxiv_id",
    "pmid",
    "pmcid",
    "issn",
    "isbn",
    "url",
    "keywords",
    "citation_count",
    "retracted",
    "abstract",
];

pub fn to_csv(entries: &[BibliographyEntry<'_>]) -> String {
    let keys = citation_key::citation_keys(entries);
    let mut out = COLUMNS.join(",");
    out.push_str("\r\n");
    for (entry, key) in entries.iter().zip(&keys) {
        let cells: Vec<String> = row(key, entry.article).iter().map(|it| cell(it)).collect();
        out.push_str(&cells.join(","));
        out.push_str("\r\n");
    }
    out
}

fn row(key: &str, article: &Article) -> [String; 22] {
    let text =
        |it: &Option<String>| text_normalization::optional_line(it.as_ref()).unwrap_or_default();
    let names: Vec<String> = authors(article).map(|it| name(&it)).collect();
    let keywords: Vec<String> = article
        .keywords
        .iter()
        .filter_map(|it| text_normalization::non_empty_line(it))
        .collect();
    [
        key.to_owned(),
        article.kind.as_str().to_owned(),
        text_normalization::single_line(&article.title),
        names.join("; "),
        article.year().map(|it| it.to_string()).unwrap_or_default(),
        article.date.map(|it| it.to_string()).unwrap_or_default(),
        text(&article.venue),
        text(&article.volume),
        text(&article.issue),
        text(&article.pages),
        text(&article.publisher),
        article
            .doi
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        article
            .arxiv_id
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        text(&article.pmid),
        text(&article.pmcid),
        text(&article.issn),
        text(&article.isbn),
        text(&article.url),
        keywords.join("; "),
        article
            .citation_count
            .map(|it| it.to_string())
            .unwrap_or_default(),
        article
            .retracted
            .map(|it| it.to_string())
            .unwrap_or_default(),
        text(&article.summary),
    ]
}

fn name(author: &Author) -> String {
    match &author.given {
        Some(given) if !author.organisation => format!("{}, {given}", author.family),
        _ => author.family.clone(),
    }
}

/// Quotes a cell. A leading apostrophe keeps a spreadsheet from running a formula.
fn cell(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@']) {
        "'"
    } else {
        ""
    };
    let text = format!("{guard}{text}");
    let needs_quotes = text.contains([',', '"', '\'', ';']) || text.starts_with(' ');
    if needs_quotes {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}
