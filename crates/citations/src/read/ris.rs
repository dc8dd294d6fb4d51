//! Reads RIS.

use std::collections::HashMap;

use deliberate_core::{Article, ArxivId, Doi, PartialDate, WorkKind};

use super::{
    BibRecord, MAX_AUTHORS, MAX_VALUE_BYTES, ReadProblem, RecordCollector, complete_identifiers,
    is_retraction_note, limit_input, names, pages,
};
use crate::text_normalization;

/// The tags of one record with their values, in order.
type RisTags = HashMap<String, Vec<String>>;

pub fn read_ris(text: &str) -> (Vec<BibRecord>, Vec<ReadProblem>) {
    let mut collector = RecordCollector::default();
    let text = limit_input(text, &mut collector).trim_start_matches('\u{FEFF}');
    let mut open: Option<(usize, RisTags)> = None;
    let mut last = String::new();
    for (at, line) in text.lines().enumerate() {
        let line_number = at + 1;
        match parse_tag(line) {
            Some(("TY", value)) => {
                if let Some((start, tags)) = open.take() {
                    collector.add_problem(
                        line_number,
                        "a record starts before the previous one ended with `ER`",
                    );
                    if !record(start, &tags, &mut collector) {
                        return collector.finish();
                    }
                }
                open = Some((
                    line_number,
                    RisTags::from([("TY".to_owned(), vec![value.to_owned()])]),
                ));
                "TY".clone_into(&mut last);
            }
            Some(("ER", _)) => match open.take() {
                Some((start, tags)) => {
                    if !record(start, &tags, &mut collector) {
                        return collector.finish();
                    }
                }
                None => collector.add_problem(line_number, "`ER` ends a record that never started"),
            },
            Some((tag, value)) => match &mut open {
                Some((_, tags)) => {
                    let values = tags.entry(tag.to_owned()).or_default();
                    if values.len() < MAX_AUTHORS {
                        values.push(super::truncate_bytes(value, MAX_VALUE_BYTES).to_owned());
                    }
                    tag.clone_into(&mut last);
                }
                None => collector.add_problem(
                    line_number,
                    format!("`{tag}` is outside a record; `TY` starts one"),
                ),
            },
            // A line without a tag continues the line before it.
            None if !line.trim().is_empty() => {
                let value = open
                    .as_mut()
                    .and_then(|it| it.1.get_mut(&last))
                    .and_then(|it| it.last_mut());
                match value {
                    Some(value) if value.len() + line.len() < MAX_VALUE_BYTES => {
                        value.push(' ');
                        value.push_str(line.trim());
                    }
                    _ => collector.add_problem(line_number, "the line has no tag"),
                }
            }
            None => {}
        }
    }
    if let Some((start, tags)) = open {
        collector.add_problem(start, "the last record does not end with `ER`");
        record(start, &tags, &mut collector);
    }
    collector.finish()
}

/// Splits a line into tag and value: `TY  - JOUR`.
pub(super) fn parse_tag(line: &str) -> Option<(&str, &str)> {
    let tag = line.get(..2)?;
    let mut chars = tag.chars();
    let is_tag = chars.next()?.is_ascii_uppercase()
        && chars
            .next()
            .is_some_and(|it| it.is_ascii_uppercase() || it.is_ascii_digit());
    let rest = line.get(2..)?;
    let value = rest.trim_start_matches(' ').strip_prefix('-')?;
    let apart = rest.starts_with(' ')
        && (value.is_empty() || value.starts_with(' ') || value.starts_with('\r'));
    (is_tag && apart).then(|| (tag, value.trim()))
}

fn record(line: usize, tags: &RisTags, collector: &mut RecordCollector) -> bool {
    let key = first(tags, &["ID"]).unwrap_or_default();
    let kind = first(tags, &["TY"]).unwrap_or_default();
    if work_kind(&kind, tags) == WorkKind::Unknown && kind != "GEN" {
        collector.add_problem(
            line,
            format!(
                "the type {:?} is not known",
                deliberate_core::truncate_chars(&kind, 40)
            ),
        );
    }
    collector.add_record(line, &key, article(&kind, tags))
}

/// The first value of the first of these tags that has one.
fn first(tags: &RisTags, any: &[&str]) -> Option<String> {
    any.iter().find_map(|it| {
        tags.get(*it)?
            .iter()
            .find_map(|it| text_normalization::non_empty_line(it))
    })
}

fn article(kind: &str, tags: &RisTags) -> Article {
    let all = |any: &[&str]| {
        any.iter()
            .find_map(|it| tags.get(*it))
            .cloned()
            .unwrap_or_default()
    };
    let number = first(tags, &["SN"]);
    let notes = tags.get("N1").cloned().unwrap_or_default();
    let note = |prefix: &str| {
        notes
            .iter()
            .find_map(|it| text_normalization::non_empty_line(it.strip_prefix(prefix)?))
    };
    let is_book = matches!(kind, "BOOK" | "CHAP" | "EBOOK" | "ECHAP" | "EDBOOK");
    let (issn, isbn) = if is_book {
        (None, number)
    } else {
        (number, None)
    };
    let mut article = Article {
        title: first(tags, &["TI", "T1", "BT", "CT"]).unwrap_or_default(),
        authors: all(&["AU", "A1"])
            .iter()
            .take(MAX_AUTHORS)
            .filter_map(|it| names::parse_comma_name(it))
            .collect(),
        kind: work_kind(kind, tags),
        summary: first(tags, &["AB", "N2"]),
        date: date(tags),
        venue: first(tags, &["T2", "JF", "JO", "JA", "J2", "BT"]),
        volume: first(tags, &["VL"]),
        issue: first(tags, &["IS"]),
        pages: page_range(tags),
        publisher: first(tags, &["PB"]),
        issn,
        isbn,
        doi: first(tags, &["DO"]).and_then(|it| Doi::parse(&it)),
        arxiv_id: first(tags, &["AN", "C1"])
            .filter(|it| it.to_lowercase().starts_with("arxiv"))
            .and_then(|it| ArxivId::parse(&it)),
        pmid: note("PMID:"),
        pmcid: note("PMCID:").or_else(|| first(tags, &["C2"]).filter(|it| it.starts_with("PMC"))),
        url: first(tags, &["UR"]),
        pdf_url: first(tags, &["L1"]).filter(|it| it.starts_with("http")),
        keywords: all(&["KW"])
            .iter()
            .filter_map(|it| text_normalization::non_empty_line(it))
            .collect(),
        language: first(tags, &["LA"]),
        retracted: notes.iter().find_map(|it| is_retraction_note(it)),
        ..Article::default()
    };
    if article.venue.as_deref() == Some(article.title.as_str()) {
        article.venue = None;
    }
    complete_identifiers(&mut article);
    article
}

fn work_kind(kind: &str, tags: &RisTags) -> WorkKind {
    let subtype = first(tags, &["M3"]).unwrap_or_default().to_lowercase();
    match kind {
        _ if subtype == "preprint" => WorkKind::Preprint,
        _ if subtype == "document" => WorkKind::Document,
        "JOUR" | "EJOUR" | "MGZN" | "NEWS" | "ABST" | "INPR" | "JFULL" => WorkKind::JournalArticle,
        "CONF" | "CPAPER" => WorkKind::ConferencePaper,
        "UNPB" => WorkKind::Preprint,
        "BOOK" | "EBOOK" | "EDBOOK" => WorkKind::Book,
        "CHAP" | "ECHAP" => WorkKind::Chapter,
        "THES" => WorkKind::Thesis,
        "RPRT" | "GOVDOC" => WorkKind::Report,
        "DATA" | "AGGR" => WorkKind::Dataset,
        "COMP" => WorkKind::Software,
        "ELEC" | "BLOG" | "ICOMM" => WorkKind::WebPage,
        "PAMP" | "MANSCPT" | "STAND" => WorkKind::Document,
        _ => WorkKind::Unknown,
    }
}

/// `DA` is more precise than `PY` if both have the same year.
fn date(tags: &RisTags) -> Option<PartialDate> {
    let of = |any: &[&str]| first(tags, any).and_then(|it| PartialDate::parse(&it));
    let year = of(&["PY", "Y1"]);
    match of(&["DA"]) {
        Some(date) if year.is_none_or(|it| it.year == date.year) => Some(date),
        _ => year,
    }
}

fn page_range(tags: &RisTags) -> Option<String> {
    let start = first(tags, &["SP"]);
    match (start, first(tags, &["EP"])) {
        (Some(start), Some(end)) if !start.contains('-') && start != end => {
            pages(&format!("{start}-{end}"))
        }
        (start, end) => pages(&start.or(end)?),
    }
}
