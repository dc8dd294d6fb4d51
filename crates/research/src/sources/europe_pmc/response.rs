//! Converts Europe PMC's records to articles.

use deliberate_core::{Article, Author, PartialDate, WorkKind};
use serde_json::Value;

use super::DEFINITION;
use crate::sources::{
    PaperNotice, PaperNoticeKind, PdfLocation,
    api::{author_names, finish_article, json, text_cleanup},
};

/// Converts a full record.
pub(super) fn parse_record(record: &Value) -> Option<Article> {
    let text = |pointer: &str| json::text(record, pointer);
    let types = json::texts(record, "/pubTypeList/pubType", "");
    let is = |kind: &str| types.iter().any(|it| it.eq_ignore_ascii_case(kind));
    let retracted = is("Retracted Publication")
        || notices(record)
            .iter()
            .any(|it| it.kind == PaperNoticeKind::Retraction);
    let place = record_key(record);
    let mut keywords = json::texts(record, "/keywordList/keyword", "");
    for it in json::texts(record, "/meshHeadingList/meshHeading", "/descriptorName") {
        if !keywords.contains(&it) {
            keywords.push(it);
        }
    }
    let preprint = is("Preprint") || text("/source").as_deref() == Some("PPR");
    let article = Article {
        title: text_cleanup::strip_title_marks(&json::title(record, "/title")?),
        authors: authors(record),
        kind: match preprint {
            true => WorkKind::Preprint,
            false if is("book") => WorkKind::Book,
            false if record.get("journalInfo").is_some() => WorkKind::JournalArticle,
            false => WorkKind::Unknown,
        },
        summary: json::summary(record, "/abstractText"),
        date: date(record),
        venue: text("/journalInfo/journal/title")
            .or_else(|| text("/bookOrReportDetails/publisher")),
        volume: text("/journalInfo/volume"),
        issue: text("/journalInfo/issue"),
        pages: text("/pageInfo"),
        publisher: text("/bookOrReportDetails/publisher"),
        issn: text("/journalInfo/journal/issn").or_else(|| text("/journalInfo/journal/essn")),
        doi: json::doi(record, "/doi"),
        pmid: text("/pmid"),
        pmcid: text("/pmcid"),
        url: place.map(|(source, id)| format!("https://europepmc.org/article/{source}/{id}")),
        pdf_url: pdf_locations(record).into_iter().next().map(|it| it.url),
        keywords,
        language: text("/language"),
        citation_count: json::number(record, "/citedByCount"),
        retracted: Some(retracted),
        open_access: json::flag(record, "/isOpenAccess"),
        ..Article::default()
    };
    finish_article(article, DEFINITION.name)
}

/// Converts a record of a list of citations or references, which has fewer fields.
pub(super) fn parse_brief_record(record: &Value) -> Option<Article> {
    let text = |pointer: &str| json::text(record, pointer);
    let medical = text("/source").as_deref() == Some("MED");
    let authors = json::raw(record, "/authorString").unwrap_or_default();
    let article = Article {
        title: text_cleanup::strip_title_marks(&json::title(record, "/title")?),
        authors: author_names::parse_author_list(&authors),
        kind: match text("/source").as_deref() {
            Some("PPR") => WorkKind::Preprint,
            Some("MED" | "PMC") => WorkKind::JournalArticle,
            _ => WorkKind::Unknown,
        },
        date: json::date(record, "/pubYear"),
        venue: text("/journalAbbreviation"),
        volume: text("/volume"),
        issue: text("/issue"),
        pages: text("/pageInfo"),
        doi: json::doi(record, "/doi"),
        pmid: text("/id").filter(|_| medical),
        citation_count: json::number(record, "/citedByCount"),
        ..Article::default()
    };
    finish_article(article, DEFINITION.name)
}

/// The collection of Europe PMC that holds a record, and the record's number there.
pub(super) fn record_key(record: &Value) -> Option<(String, String)> {
    let fine = |it: &String| it.len() < 30 && it.bytes().all(|it| it.is_ascii_alphanumeric());
    let part = |pointer: &str| json::text(record, pointer).filter(fine);
    Some((part("/source")?, part("/id")?))
}

/// The corrections and retractions of a paper.
pub(super) fn notices(record: &Value) -> Vec<PaperNotice> {
    let all = json::list(record, "/commentCorrectionList/commentCorrection");
    let notice = |it: &Value| {
        let kind = match json::text(it, "/type")?.to_lowercase().as_str() {
            "retraction in" => PaperNoticeKind::Retraction,
            "expression of concern in" => PaperNoticeKind::ExpressionOfConcern,
            "partial retraction in" | "erratum in" | "corrected and republished in" => {
                PaperNoticeKind::Correction
            }
            "update in" => PaperNoticeKind::Other,
            _ => return None,
        };
        let reference = json::text(it, "/reference").unwrap_or_default();
        let mut words = reference.split(|it: char| !it.is_ascii_digit());
        let year = words
            .find(|it| it.len() == 4)
            .and_then(|it| it.parse().ok());
        Some(PaperNotice {
            kind,
            date: year.and_then(|it| PartialDate::new(it, None, None)),
            doi: None,
            source: DEFINITION.name.to_owned(),
        })
    };
    all.iter().take(100).filter_map(notice).collect()
}

/// The open-access PDFs of a paper.
pub(super) fn pdf_locations(record: &Value) -> Vec<PdfLocation> {
    let open = |it: &&Value| {
        let code = json::text(it, "/availabilityCode");
        let style = json::text(it, "/documentStyle");
        style.as_deref() == Some("pdf") && matches!(code.as_deref(), Some("OA" | "F"))
    };
    let place = |it: &Value| {
        Some(PdfLocation {
            url: json::url(it, "/url")?,
            source: DEFINITION.name.to_owned(),
            version: None,
            licence: json::text(record, "/license"),
        })
    };
    let all = json::list(record, "/fullTextUrlList/fullTextUrl").iter();
    all.filter(open).filter_map(place).take(10).collect()
}

fn authors(record: &Value) -> Vec<Author> {
    let author = |it: &Value| {
        let given = json::text(it, "/firstName").or_else(|| json::text(it, "/initials"));
        let person = author_names::author_from_parts(json::text(it, "/lastName"), given);
        let group = || json::text(it, "/collectiveName").map(author_names::organization);
        let whole = || author_names::parse_author(&json::raw(it, "/fullName")?);
        let mut author = person.or_else(group).or_else(whole)?;
        let is_orcid = json::text(it, "/authorId/type").as_deref() == Some("ORCID");
        let orcid = json::raw(it, "/authorId/value").filter(|_| is_orcid);
        author.orcid = orcid.and_then(|it| author_names::orcid(&it));
        Some(author)
    };
    let all = json::list(record, "/authorList/author")
        .iter()
        .filter_map(author);
    let all: Vec<Author> = all.take(text_cleanup::MAX_AUTHORS).collect();
    match json::raw(record, "/authorString") {
        Some(line) if all.is_empty() => author_names::parse_author_list(&line),
        _ => all,
    }
}

/// The date of the issue as far as it is known, or else the first day of publication.
fn date(record: &Value) -> Option<PartialDate> {
    let small = |pointer: &str| {
        let number = json::number(record, pointer)?;
        u8::try_from(number).ok()
    };
    let year = json::number(record, "/journalInfo/yearOfPublication");
    let year = year.and_then(|it| i32::try_from(it).ok());
    let issue =
        year.and_then(|it| PartialDate::new(it, small("/journalInfo/monthOfPublication"), None));
    let first = json::date(record, "/firstPublicationDate");
    match (issue, first) {
        // Only the date of first publication has a day.
        (Some(issue), Some(first)) if issue.year == first.year => Some(first),
        (issue, first) => issue.or(first).or_else(|| json::date(record, "/pubYear")),
    }
}
