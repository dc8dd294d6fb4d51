//! Converts BibTeX entries to records.

use std::collections::HashMap;

use deliberate_core::{Article, ArxivId, Doi, PartialDate, WorkKind};

use super::{
    BibRecord, ReadProblem, RecordCollector, bibtex, complete_identifiers, is_retraction_note,
    latex, limit_input, names, pages,
};
use crate::{text_normalization, write::MONTHS};

/// Reads BibTeX and BibLaTeX.
pub fn read_bibtex(text: &str) -> (Vec<BibRecord>, Vec<ReadProblem>) {
    let mut collector = RecordCollector::default();
    let text = limit_input(text, &mut collector);
    for entry in bibtex::parse_entries(text, &mut collector) {
        let article = article(&entry.kind, &BibtexFields(&entry.fields));
        if !collector.add_record(entry.line, &entry.key, article) {
            break;
        }
    }
    collector.finish()
}

struct BibtexFields<'a>(&'a HashMap<String, String>);

impl BibtexFields<'_> {
    /// The raw value of the first of these fields that exists.
    fn raw(&self, any: &[&str]) -> Option<&str> {
        any.iter()
            .find_map(|it| self.0.get(*it))
            .map(String::as_str)
    }

    /// The text of the first of these fields that is not empty.
    fn text(&self, any: &[&str]) -> Option<String> {
        let of =
            |name: &&str| text_normalization::non_empty_line(&latex::decode(self.0.get(*name)?));
        any.iter().find_map(of)
    }

    fn url(&self, any: &[&str]) -> Option<String> {
        any.iter()
            .find_map(|it| text_normalization::non_empty_line(&latex::decode_url(self.0.get(*it)?)))
    }
}

fn article(kind: &str, fields: &BibtexFields<'_>) -> Article {
    let title = fields.text(&["title"]).unwrap_or_default();
    let title = match fields.text(&["subtitle"]) {
        Some(subtitle) => format!("{title}: {subtitle}"),
        None => title,
    };
    let keywords = fields.text(&["keywords", "keyword"]).unwrap_or_default();
    let mut article = Article {
        title,
        authors: names::parse_bibtex_names(fields.raw(&["author", "editor"]).unwrap_or_default()),
        kind: work_kind(kind, fields),
        summary: fields.text(&["abstract"]),
        date: date(fields),
        venue: fields.text(&[
            "journal",
            "journaltitle",
            "booktitle",
            "howpublished",
            "series",
        ]),
        volume: fields.text(&["volume"]),
        issue: fields.text(&["number", "issue"]),
        pages: fields.text(&["pages", "eid"]).and_then(|it| pages(&it)),
        publisher: fields.text(&["publisher", "school", "institution", "organization"]),
        issn: fields.text(&["issn"]),
        isbn: fields.text(&["isbn"]),
        doi: fields.url(&["doi"]).and_then(|it| Doi::parse(&it)),
        arxiv_id: arxiv_id(fields),
        pmid: fields.text(&["pmid"]),
        pmcid: fields.text(&["pmcid"]),
        url: fields
            .url(&["url"])
            .filter(|it| !it.contains(char::is_whitespace)),
        language: fields.text(&["language", "langid"]),
        keywords: keywords
            .split([',', ';'])
            .filter_map(text_normalization::non_empty_line)
            .collect(),
        retracted: fields
            .text(&["note"])
            .and_then(|it| is_retraction_note(&it)),
        ..Article::default()
    };
    complete_identifiers(&mut article);
    normalize_venue(&mut article);
    article
}

fn work_kind(kind: &str, fields: &BibtexFields<'_>) -> WorkKind {
    match kind {
        "article" | "periodical" | "suppperiodical" => WorkKind::JournalArticle,
        "inproceedings" | "conference" => WorkKind::ConferencePaper,
        "book" | "proceedings" | "collection" | "mvbook" | "booklet" => WorkKind::Book,
        "incollection" | "inbook" | "inreference" | "suppbook" => WorkKind::Chapter,
        "phdthesis" | "mastersthesis" | "thesis" => WorkKind::Thesis,
        "techreport" | "report" => WorkKind::Report,
        "dataset" => WorkKind::Dataset,
        "software" => WorkKind::Software,
        "online" | "electronic" | "www" => WorkKind::WebPage,
        "manual" => WorkKind::Document,
        _ => match fields.text(&["entrysubtype"]).as_deref() {
            Some("preprint") => WorkKind::Preprint,
            Some("document") => WorkKind::Document,
            _ if arxiv_id(fields).is_some() || kind == "unpublished" => WorkKind::Preprint,
            _ => WorkKind::Unknown,
        },
    }
}

fn date(fields: &BibtexFields<'_>) -> Option<PartialDate> {
    let partial_date = fields
        .text(&["date"])
        .and_then(|it| PartialDate::parse(&it));
    let parts = || {
        let year = fields.text(&["year"])?;
        let digits: String = year
            .chars()
            .skip_while(|it| !it.is_ascii_digit())
            .take_while(char::is_ascii_digit)
            .collect();
        let month = fields.text(&["month"]).and_then(|it| month(&it));
        let day = fields.text(&["day"]).and_then(|it| it.parse().ok());
        PartialDate::new(digits.parse().ok()?, month, day)
    };
    partial_date.or_else(parts)
}

/// `may`, `May`, `5`.
fn month(text: &str) -> Option<u8> {
    let text = text.trim().to_lowercase();
    let named = MONTHS
        .iter()
        .position(|it| text.starts_with(it))
        .and_then(|it| u8::try_from(it + 1).ok());
    named.or_else(|| text.parse().ok())
}

fn arxiv_id(fields: &BibtexFields<'_>) -> Option<ArxivId> {
    let archive = fields
        .text(&["archiveprefix", "eprinttype"])
        .unwrap_or_default();
    let eprint = fields
        .url(&["eprint"])
        .filter(|_| archive.is_empty() || archive.eq_ignore_ascii_case("arxiv"));
    let named = fields.url(&["arxivid", "arxiv"]);
    eprint
        .and_then(|it| ArxivId::parse(&it))
        .or_else(|| ArxivId::parse(&named?))
}

/// Many exports give arXiv as the journal, with the id in its name. It is not a journal, and the
/// work is a preprint.
fn normalize_venue(article: &mut Article) {
    let Some(venue) = article.venue.clone() else {
        return;
    };
    if let Some(url) = Some(venue.trim()).filter(|it| it.starts_with("http") && !it.contains(' ')) {
        article.url.get_or_insert_with(|| url.to_owned());
        article.venue = None;
        return;
    }
    let lower = venue.to_lowercase();
    if lower == "corr"
        || lower == "arxiv"
        || lower.starts_with("arxiv ")
        || lower.starts_with("arxiv:")
    {
        let id = venue.split([' ', ',']).find_map(ArxivId::parse);
        let inside = article
            .volume
            .as_deref()
            .and_then(|it| ArxivId::parse(it.strip_prefix("abs/").unwrap_or(it)));
        // The volume repeats the id.
        if inside.is_some() {
            article.volume = None;
        }
        article.arxiv_id = article.arxiv_id.take().or(id).or(inside);
        article.kind = WorkKind::Preprint;
        article.venue = None;
    }
}
