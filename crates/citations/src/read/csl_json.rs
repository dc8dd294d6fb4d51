//! Reads CSL-JSON: a list, one item, or an object with a list in `items` or `references`.

use deliberate_core::{Article, ArxivId, Author, Doi, PartialDate, WorkKind};
use serde_json::Value;

use super::{
    BibRecord, MAX_AUTHORS, MAX_VALUE_BYTES, ReadProblem, RecordCollector, complete_identifiers,
    is_retraction_note, limit_input, pages, truncate_bytes,
};
use crate::text_normalization;

pub fn read_csl_json(text: &str) -> (Vec<BibRecord>, Vec<ReadProblem>) {
    let mut collector = RecordCollector::default();
    let text = limit_input(text, &mut collector).trim_start_matches('\u{FEFF}');
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(err) => {
            collector.add_problem(err.line().max(1), format!("this is not JSON: {err}"));
            return collector.finish();
        }
    };
    for (at, item) in items(&value).iter().enumerate() {
        // The parser keeps no line numbers, so the index in the list is reported.
        if !item.is_object() {
            collector.add_problem(1, format!("item {} of the list is not an object", at + 1));
            continue;
        }
        let key = text_field(item, "id")
            .or_else(|| text_field(item, "citation-key"))
            .unwrap_or_default();
        if !collector.add_record(1, &key, article(item)) {
            break;
        }
    }
    collector.finish()
}

fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        Value::Object(fields) => {
            let list = ["items", "references"]
                .iter()
                .find_map(|it| fields.get(*it)?.as_array());
            list.map_or(std::slice::from_ref(value), Vec::as_slice)
        }
        other => std::slice::from_ref(other),
    }
}

/// A text or number field; some exports wrap it in a list of one.
fn text_field(item: &Value, name: &str) -> Option<String> {
    match item.get(name)? {
        Value::String(text) => {
            text_normalization::non_empty_line(&without_tags(truncate_bytes(text, MAX_VALUE_BYTES)))
        }
        Value::Number(number) => Some(number.to_string()),
        Value::Array(list) => list
            .first()
            .and_then(Value::as_str)
            .and_then(|it| text_normalization::non_empty_line(truncate_bytes(it, MAX_VALUE_BYTES))),
        _ => None,
    }
}

/// Removes the few tags that CSL-JSON allows in a text.
fn without_tags(text: &str) -> String {
    const TAGS: &[&str] = &[
        "<i>",
        "</i>",
        "<b>",
        "</b>",
        "<sub>",
        "</sub>",
        "<sup>",
        "</sup>",
        "<span class=\"nocase\">",
        "</span>",
    ];
    TAGS.iter()
        .fold(text.to_owned(), |text, tag| text.replace(tag, ""))
}

fn article(item: &Value) -> Article {
    let text = |name: &str| text_field(item, name);
    let keywords = text("keyword").unwrap_or_default();
    let kind = work_kind(&text("type").unwrap_or_default());
    let number = text("number").unwrap_or_default();
    let arxiv_id = number
        .to_lowercase()
        .starts_with("arxiv")
        .then(|| ArxivId::parse(&number))
        .flatten();
    let publisher = text("publisher").filter(|it| !(kind == WorkKind::Preprint && it == "arXiv"));
    let mut article = Article {
        title: text("title").unwrap_or_default(),
        authors: item
            .get("author")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .take(MAX_AUTHORS)
            .filter_map(author)
            .collect(),
        kind,
        summary: text("abstract"),
        date: item.get("issued").and_then(date),
        venue: text("container-title"),
        volume: text("volume"),
        issue: text("issue"),
        pages: text("page").and_then(|it| pages(&it)),
        publisher,
        issn: text("ISSN"),
        isbn: text("ISBN"),
        doi: text("DOI").and_then(|it| Doi::parse(&it)),
        arxiv_id,
        pmid: text("PMID"),
        pmcid: text("PMCID"),
        url: text("URL"),
        keywords: keywords
            .split([',', ';'])
            .filter_map(text_normalization::non_empty_line)
            .collect(),
        language: text("language"),
        retracted: text("status").and_then(|it| is_retraction_note(&it)),
        ..Article::default()
    };
    complete_identifiers(&mut article);
    article
}

fn author(value: &Value) -> Option<Author> {
    let text = |name: &str| text_field(value, name);
    if let Some(family) = text("literal") {
        return Some(Author {
            family,
            organisation: true,
            ..Author::default()
        });
    }
    let particle = text("non-dropping-particle").or_else(|| text("dropping-particle"));
    let family = [particle, text("family")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ");
    let given = match (text("given"), text("suffix")) {
        (Some(given), Some(suffix)) => Some(format!("{given}, {suffix}")),
        (given, _) => given,
    };
    let family = text_normalization::non_empty_line(&family)?;
    Some(Author {
        family,
        given,
        ..Author::default()
    })
}

/// `date-parts`, or a literal date that starts with a year.
fn date(value: &Value) -> Option<PartialDate> {
    let parts = value
        .get("date-parts")
        .and_then(|it| it.get(0))
        .and_then(Value::as_array);
    let number = |it: &Value| it.as_i64().or_else(|| it.as_str()?.trim().parse().ok());
    let of_parts = |parts: &Vec<Value>| {
        let part = |at: usize| parts.get(at).and_then(number);
        let small = |at: usize| part(at).and_then(|it| u8::try_from(it).ok());
        PartialDate::new(i32::try_from(part(0)?).ok()?, small(1), small(2))
    };
    let words = || {
        ["raw", "literal"]
            .iter()
            .find_map(|it| PartialDate::parse(value.get(*it)?.as_str()?))
    };
    parts.and_then(of_parts).or_else(words)
}

fn work_kind(kind: &str) -> WorkKind {
    match kind {
        "article-journal" | "article-magazine" | "article-newspaper" | "review"
        | "journal-article" => WorkKind::JournalArticle,
        "paper-conference" | "proceedings-article" => WorkKind::ConferencePaper,
        "article" | "preprint" | "posted-content" => WorkKind::Preprint,
        "book" | "monograph" => WorkKind::Book,
        "chapter" | "book-chapter" | "entry-encyclopedia" | "entry-dictionary" | "entry" => {
            WorkKind::Chapter
        }
        "thesis" | "dissertation" => WorkKind::Thesis,
        "report" => WorkKind::Report,
        "dataset" => WorkKind::Dataset,
        "software" => WorkKind::Software,
        "webpage" | "post-weblog" | "post" => WorkKind::WebPage,
        "document" | "manuscript" | "pamphlet" => WorkKind::Document,
        _ => WorkKind::Unknown,
    }
}
