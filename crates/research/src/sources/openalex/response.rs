//! Converts `OpenAlex` works to articles.

use std::collections::BTreeMap;

use deliberate_core::{Article, ArxivId, WorkKind};
use serde_json::Value;

use super::DEFINITION;
use crate::sources::{
    PdfLocation,
    api::{author_names, finish_article, json, text_cleanup},
};

/// The most words of an abstract; real ones have fewer.
const MAX_ABSTRACT_WORDS: usize = 10_000;

pub(super) fn parse_work(work: &Value) -> Option<Article> {
    let text = |pointer: &str| json::text(work, pointer);
    let arxiv = |pointer: &str| ArxivId::parse(&json::raw(work, pointer)?);
    let article = Article {
        title: json::title(work, "/display_name").or_else(|| json::title(work, "/title"))?,
        authors: authors(work),
        kind: work_kind(work),
        summary: summary(work),
        date: json::date(work, "/publication_date")
            .or_else(|| json::date(work, "/publication_year")),
        venue: text("/primary_location/source/display_name"),
        volume: text("/biblio/volume"),
        issue: text("/biblio/issue"),
        pages: pages(work),
        publisher: text("/primary_location/source/host_organization_name"),
        issn: text("/primary_location/source/issn_l"),
        doi: json::doi(work, "/doi"),
        arxiv_id: arxiv("/primary_location/landing_page_url")
            .or_else(|| arxiv("/best_oa_location/landing_page_url")),
        pmid: json::raw(work, "/ids/pmid").and_then(|it| last_number(&it)),
        pmcid: json::raw(work, "/ids/pmcid")
            .and_then(|it| last_number(&it))
            .map(|it| format!("PMC{it}")),
        openalex_id: parse_openalex_id(work, "/id"),
        url: json::url(work, "/primary_location/landing_page_url")
            .or_else(|| json::url(work, "/id")),
        pdf_url: json::url(work, "/best_oa_location/pdf_url")
            .or_else(|| json::url(work, "/primary_location/pdf_url")),
        keywords: json::texts(work, "/keywords", "/display_name"),
        language: text("/language"),
        citation_count: json::number(work, "/cited_by_count"),
        retracted: json::flag(work, "/is_retracted"),
        open_access: json::flag(work, "/open_access/is_oa"),
        ..Article::default()
    };
    finish_article(article, DEFINITION.name)
}

/// Extracts `W123` from `https://openalex.org/W123`.
pub(super) fn parse_openalex_id(value: &Value, pointer: &str) -> Option<String> {
    let id = json::raw(value, pointer)?;
    let id = id.trim().rsplit('/').next()?.to_uppercase();
    let digits = id.strip_prefix('W')?;
    let fine =
        !digits.is_empty() && digits.len() < 16 && digits.bytes().all(|it| it.is_ascii_digit());
    fine.then_some(id)
}

/// The open-access PDFs of a work, best first, without duplicates.
pub(super) fn pdf_locations(work: &Value) -> Vec<PdfLocation> {
    let best = work.get("best_oa_location").into_iter();
    let open = |it: &&Value| json::flag(it, "/is_oa") != Some(false);
    let mut places: Vec<PdfLocation> = Vec::new();
    for it in best
        .chain(json::list(work, "/locations"))
        .filter(open)
        .take(50)
    {
        let Some(url) = json::url(it, "/pdf_url") else {
            continue;
        };
        if places.iter().all(|it| it.url != url) {
            places.push(PdfLocation {
                url,
                source: DEFINITION.name.to_owned(),
                version: json::text(it, "/version").map(|it| it.replace("Version", "")),
                licence: json::text(it, "/license"),
            });
        }
    }
    places
}

fn authors(work: &Value) -> Vec<deliberate_core::Author> {
    let author = |it: &Value| {
        let name = json::raw(it, "/author/display_name");
        let mut author =
            author_names::parse_author(&name.or_else(|| json::raw(it, "/raw_author_name"))?)?;
        author.orcid = json::raw(it, "/author/orcid").and_then(|it| author_names::orcid(&it));
        Some(author)
    };
    let all = json::list(work, "/authorships").iter().filter_map(author);
    all.take(text_cleanup::MAX_AUTHORS).collect()
}

/// The abstract, which the API gives as words with their positions.
fn summary(work: &Value) -> Option<String> {
    let index = work.get("abstract_inverted_index")?.as_object()?;
    let mut words: BTreeMap<u64, &str> = BTreeMap::new();
    for (word, places) in index {
        for place in places
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_u64)
        {
            if words.len() < MAX_ABSTRACT_WORDS {
                words.insert(place, word);
            }
        }
    }
    let text = words.into_values().collect::<Vec<_>>().join(" ");
    text_cleanup::clean_abstract(&text)
}

fn pages(work: &Value) -> Option<String> {
    let first = json::text(work, "/biblio/first_page")?;
    match json::text(work, "/biblio/last_page") {
        Some(last) if last != first => Some(format!("{first}-{last}")),
        _ => Some(first),
    }
}

fn work_kind(work: &Value) -> WorkKind {
    let place = json::text(work, "/primary_location/source/type");
    match json::text(work, "/type").as_deref() {
        Some("preprint") => WorkKind::Preprint,
        Some("book") => WorkKind::Book,
        Some("book-chapter") => WorkKind::Chapter,
        Some("dissertation") => WorkKind::Thesis,
        Some("report") => WorkKind::Report,
        Some("dataset") => WorkKind::Dataset,
        Some("software") => WorkKind::Software,
        Some("conference-paper" | "conference-abstract") => WorkKind::ConferencePaper,
        Some("article" | "review" | "letter" | "editorial" | "erratum" | "retraction") => {
            match place.as_deref() {
                Some("conference") => WorkKind::ConferencePaper,
                Some("repository") => WorkKind::Preprint,
                Some("book series" | "ebook platform") => WorkKind::Chapter,
                _ => WorkKind::JournalArticle,
            }
        }
        _ => WorkKind::Unknown,
    }
}

/// Extracts `123` from `https://pubmed.ncbi.nlm.nih.gov/123`.
fn last_number(text: &str) -> Option<String> {
    let last = text.trim_end_matches('/').rsplit('/').next()?;
    let digits = last.trim_start_matches("PMC");
    let fine =
        !digits.is_empty() && digits.len() < 12 && digits.bytes().all(|it| it.is_ascii_digit());
    fine.then(|| digits.to_owned())
}
