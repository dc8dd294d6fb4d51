//! Converts Crossref's works to articles and reads their notices.

use deliberate_core::{Article, Author, Doi, PartialDate, WorkKind};
use serde_json::Value;

use super::DEFINITION;
use crate::sources::{
    PaperNotice, PaperNoticeKind, PdfLocation,
    api::{author_names, finish_article, json, text_cleanup},
};

pub(super) fn parse_work(work: &Value) -> Option<Article> {
    let text = |pointer: &str| json::text(work, pointer);
    let preprint = || text("/institution/0/name").or_else(|| text("/group-title"));
    let notices = notices(work);
    let taken_back = |it: &PaperNotice| {
        matches!(
            it.kind,
            PaperNoticeKind::Retraction | PaperNoticeKind::Withdrawal
        )
    };
    let article = Article {
        title: title(work)?,
        authors: authors(work),
        kind: work_kind(work),
        summary: json::summary(work, "/abstract"),
        date: date(work),
        venue: text("/container-title/0")
            .or_else(|| text("/event/name"))
            .or_else(preprint),
        volume: text("/volume"),
        issue: text("/issue").or_else(|| text("/journal-issue/issue")),
        pages: text("/page").or_else(|| text("/article-number")),
        publisher: text("/publisher"),
        issn: text("/ISSN/0"),
        isbn: text("/ISBN/0"),
        doi: json::doi(work, "/DOI"),
        url: json::url(work, "/resource/primary/URL").or_else(|| json::url(work, "/URL")),
        pdf_url: pdf_locations(work).into_iter().next().map(|it| it.url),
        keywords: json::texts(work, "/subject", ""),
        language: text("/language"),
        citation_count: json::number(work, "/is-referenced-by-count"),
        retracted: notices.iter().any(taken_back).then_some(true),
        open_access: license(work)
            .is_some_and(|it| it.contains("creativecommons.org"))
            .then_some(true),
        ..Article::default()
    };
    finish_article(article, DEFINITION.name)
}

/// The notices in a work's own record.
pub(super) fn notices(work: &Value) -> Vec<PaperNotice> {
    let all = json::list(work, "/updated-by").iter().take(100);
    all.filter_map(|it| parse_notice(it, json::doi(it, "/DOI")))
        .collect()
}

/// The notices about the work `of` in another record.
pub(super) fn update_notices(item: &Value, of: &Doi) -> Vec<PaperNotice> {
    let all = json::list(item, "/update-to").iter().take(100);
    all.filter(|it| json::doi(it, "/DOI").as_ref() == Some(of))
        .filter_map(|it| parse_notice(it, json::doi(item, "/DOI")))
        .collect()
}

/// The publisher's PDFs for readers, without those for similarity checking.
pub(super) fn pdf_locations(work: &Value) -> Vec<PdfLocation> {
    let is_pdf = |it: &&Value| {
        let kind = json::text(it, "/content-type");
        let purpose = json::text(it, "/intended-application");
        kind.as_deref() == Some("application/pdf")
            && purpose.as_deref() != Some("similarity-checking")
    };
    let place = |it: &Value| {
        Some(PdfLocation {
            url: json::url(it, "/URL")?,
            source: DEFINITION.name.to_owned(),
            version: json::text(it, "/content-version").map(|it| version(&it).to_owned()),
            licence: license(work),
        })
    };
    let links = json::list(work, "/link").iter().filter(is_pdf);
    links.filter_map(place).take(10).collect()
}

fn parse_notice(update: &Value, doi: Option<Doi>) -> Option<PaperNotice> {
    let kind = json::text(update, "/type")?
        .to_lowercase()
        .replace([' ', '-'], "_");
    Some(PaperNotice {
        kind: match kind.as_str() {
            "retraction" => PaperNoticeKind::Retraction,
            "withdrawal" | "removal" => PaperNoticeKind::Withdrawal,
            "expression_of_concern" => PaperNoticeKind::ExpressionOfConcern,
            // After a partial retraction the rest of the paper still stands.
            "partial_retraction" | "correction" | "corrigendum" | "erratum" | "addendum"
            | "clarification" => PaperNoticeKind::Correction,
            _ => PaperNoticeKind::Other,
        },
        date: date_parts(update, "/updated"),
        doi,
        source: match json::text(update, "/source").as_deref() {
            Some("retraction-watch") => "crossref (Retraction Watch)".to_owned(),
            _ => DEFINITION.name.to_owned(),
        },
    })
}

fn title(work: &Value) -> Option<String> {
    let title = json::title(work, "/title/0").or_else(|| json::title(work, "/title"))?;
    match json::title(work, "/subtitle/0") {
        Some(more) if !title.to_lowercase().contains(&more.to_lowercase()) => {
            text_cleanup::clean_text(
                &format!("{}: {more}", title.trim_end_matches(':')),
                text_cleanup::MAX_TITLE_CHARS,
            )
        }
        _ => Some(title),
    }
}

fn authors(work: &Value) -> Vec<Author> {
    let author = |it: &Value| {
        let person =
            author_names::author_from_parts(json::text(it, "/family"), json::text(it, "/given"));
        let group = || json::text(it, "/name").map(author_names::organization);
        let mut author = person.or_else(group)?;
        author.orcid = json::raw(it, "/ORCID").and_then(|it| author_names::orcid(&it));
        Some(author)
    };
    let all = json::list(work, "/author").iter().filter_map(author);
    all.take(text_cleanup::MAX_AUTHORS).collect()
}

/// The date of the issue, or else the first day of publication.
fn date(work: &Value) -> Option<PartialDate> {
    [
        "/published-print",
        "/published-online",
        "/issued",
        "/posted",
        "/published",
    ]
    .iter()
    .find_map(|it| date_parts(work, it))
}

fn date_parts(value: &Value, pointer: &str) -> Option<PartialDate> {
    let part = |at: u8| json::number(value, &format!("{pointer}/date-parts/0/{at}"));
    let small = |at: u8| part(at).and_then(|it| u8::try_from(it).ok());
    PartialDate::new(i32::try_from(part(0)?).ok()?, small(1), small(2))
}

fn license(work: &Value) -> Option<String> {
    let all = json::list(work, "/license").iter();
    let all: Vec<String> = all.filter_map(|it| json::url(it, "/URL")).collect();
    let open = all.iter().find(|it| it.contains("creativecommons.org"));
    open.or(all.first()).cloned()
}

fn version(text: &str) -> &'static str {
    match text {
        "vor" => "published",
        "am" => "accepted",
        _ => "unspecified",
    }
}

fn work_kind(work: &Value) -> WorkKind {
    match json::text(work, "/type").as_deref() {
        Some("journal-article") => WorkKind::JournalArticle,
        Some("proceedings-article") => WorkKind::ConferencePaper,
        Some("posted-content") => WorkKind::Preprint,
        Some("book" | "monograph" | "edited-book" | "reference-book" | "proceedings") => {
            WorkKind::Book
        }
        Some("book-chapter" | "book-section" | "book-part" | "reference-entry") => {
            WorkKind::Chapter
        }
        Some("dissertation") => WorkKind::Thesis,
        Some("report" | "report-component") => WorkKind::Report,
        Some("dataset" | "database") => WorkKind::Dataset,
        _ => WorkKind::Unknown,
    }
}
