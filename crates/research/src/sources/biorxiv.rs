//! bioRxiv and medRxiv: preprints in biology and medicine. Their API has no search by words: a
//! range of days is read, a limited number of the newest pages first, and filtered here.

use std::{sync::Arc, time::Duration};

use deliberate_core::{Article, Author, Doi, PartialDate, WorkKind};
use serde_json::Value;

use super::{
    PaperId, PaperQuery, PaperSource, PdfLocation, SourceDefinition, SourceFuture, SourceInfo,
    SourceResult, SourceSettings,
    api::{
        author_names,
        client::{ApiResponse, SourceApiClient, clamp_limit, not_found_as_none},
        client_side_filter, finish_article, json,
        pagination::PagedResults,
        query_terms::{QueryTerms, first_day, last_day},
        text_cleanup,
        text_folding::fold_text,
    },
};
use crate::http::{HttpClient, HttpClientError, SourceRateLimit};

/// The most pages one search reads.
const MAX_PAGES: usize = 12;
/// After this time no further page is read, and the search returns the papers found so far.
const PAGING_TIMEOUT: Duration = Duration::from_secs(20);
/// The length of the date range if the query has no start.
const DEFAULT_WINDOW_DAYS: i64 = 30;

pub(crate) const DEFINITION: SourceDefinition = SourceDefinition {
    by_words: false,
    ..SourceDefinition::new(
        "biorxiv",
        "https://api.biorxiv.org",
        |http_client, settings| Arc::new(Biorxiv::new(http_client, settings)),
    )
};

pub(crate) const MEDRXIV: SourceDefinition = SourceDefinition {
    by_words: false,
    ..SourceDefinition::new(
        "medrxiv",
        "https://api.biorxiv.org",
        |http_client, settings| Arc::new(Biorxiv::new_medrxiv(http_client, settings)),
    )
};

/// The key of the rate limit that bioRxiv and medRxiv share: one machine serves both.
const RATE_LIMIT_KEY: &str = "biorxiv";

/// The DOI prefixes of Cold Spring Harbor Laboratory and of the foundation that now runs both
/// servers.
const DOI_PREFIXES: &[&str] = &["10.1101/", "10.64898/"];

/// The source bioRxiv or medRxiv.
pub struct Biorxiv {
    api: SourceApiClient,
    name: &'static str,
    title: &'static str,
}

impl Biorxiv {
    /// Creates the source bioRxiv.
    pub fn new(web: HttpClient, settings: SourceSettings) -> Self {
        Self::with_name(web, settings, DEFINITION.name, "bioRxiv")
    }

    /// Creates the source medRxiv.
    pub fn new_medrxiv(web: HttpClient, settings: SourceSettings) -> Self {
        Self::with_name(web, settings, MEDRXIV.name, "medRxiv")
    }

    fn with_name(
        web: HttpClient,
        settings: SourceSettings,
        name: &'static str,
        title: &'static str,
    ) -> Self {
        let pace = SourceRateLimit::new(RATE_LIMIT_KEY, Duration::from_millis(500));
        let api = SourceApiClient::new(web, settings, DEFINITION.default_url, pace);
        Self { api, name, title }
    }

    async fn find(&self, query: &PaperQuery) -> Result<SourceResult, HttpClientError> {
        let asked = query_terms(query)?;
        let limit = clamp_limit(query.limit);
        let window = date_window(query);
        let mut gathered = PagedResults::new(limit, limit);
        let begun = tokio::time::Instant::now();
        let (first, total, count) = self.fetch_page(&window, 0, &mut gathered).await?;
        // The oldest papers come first, so the first page only shows where the newest ones are.
        let pages = if count == 0 { 0 } else { total.div_ceil(count) };
        let (mut papers, mut read) = (Vec::new(), 1);
        for page in (1..pages).rev().take(MAX_PAGES - 1) {
            if begun.elapsed() > PAGING_TIMEOUT {
                break;
            }
            let cursor = page.saturating_mul(count);
            papers.extend(self.fetch_page(&window, cursor, &mut gathered).await?.0);
            read += 1;
        }
        papers.extend(first);
        if papers.is_empty() && (gathered.result.skipped > 0 || total > 0) {
            let reason = "none of its records can be read";
            return Err(gathered.response_error(&self.api, reason).await);
        }
        let mut found = gathered.result;
        // The number of papers in the date range is not the number of matches, so no total is
        // given.
        found.articles = filter_and_rank(newest_versions(papers), query, &asked, limit);
        if pages > read {
            found.ignored.push("older days of the window");
        }
        if query.from.is_none() {
            found.ignored.push("papers older than 30 days");
        }
        Ok(found)
    }

    /// Reads the page at a cursor; returns its papers, the total, and the number of records on it.
    async fn fetch_page(
        &self,
        window: &(String, String),
        cursor: usize,
        results: &mut PagedResults,
    ) -> Result<(Vec<PreprintVersion>, usize, usize), HttpClientError> {
        let cursor = cursor.to_string();
        let path = ["details", self.name, &window.0, &window.1, &cursor, "json"];
        let got = self.api.get_json(&path, &[]).await?;
        results.record_response(&got);
        let count = |name: &str| {
            let number = json::number(&got.body, &format!("/messages/0/{name}"));
            number.and_then(|it| usize::try_from(it).ok())
        };
        let records = self.records(&got).await?;
        let papers: Vec<PreprintVersion> = records
            .iter()
            .filter_map(|it| self.parse_record(it))
            .collect();
        let skipped = u32::try_from(records.len() - papers.len()).unwrap_or(u32::MAX);
        results.result.skipped += skipped;
        let total = count("total").unwrap_or(records.len());
        Ok((papers, total, records.len()))
    }

    /// The records of a response. The API reports an empty list by a status message.
    async fn records<'a>(
        &self,
        response: &'a ApiResponse<Value>,
    ) -> Result<&'a [Value], HttpClientError> {
        let status = json::text(&response.body, "/messages/0/status").unwrap_or_default();
        if status.to_lowercase().starts_with("no posts found") {
            return Ok(&[]);
        }
        self.api.list_at(response, "/collection").await
    }

    async fn fetch_by_id(&self, id: &PaperId) -> Result<Option<PreprintVersion>, HttpClientError> {
        let PaperId::Doi(doi) = id else {
            return Ok(None);
        };
        if !is_preprint_doi(doi) {
            return Ok(None);
        }
        let mut path = vec!["details", self.name];
        path.extend(doi.as_str().split('/'));
        path.extend(["na", "json"]);
        let Some(got) = not_found_as_none(self.api.get_json(&path, &[]).await)? else {
            return Ok(None);
        };
        let records = self.records(&got).await?;
        let papers = records.iter().filter_map(|it| self.parse_record(it));
        Ok(papers.max_by_key(|it| it.version))
    }

    fn parse_record(&self, record: &Value) -> Option<PreprintVersion> {
        let text = |pointer: &str| json::text(record, pointer);
        let doi = json::doi(record, "/doi");
        let version = json::number(record, "/version").unwrap_or(1);
        let page = doi
            .as_ref()
            .map(|doi| format!("https://www.{}.org/content/{doi}v{version}", self.name));
        let kind = text("/type").unwrap_or_default().to_lowercase();
        let article = Article {
            title: json::title(record, "/title")?,
            authors: parse_authors(&json::raw(record, "/authors").unwrap_or_default()),
            kind: WorkKind::Preprint,
            summary: json::summary(record, "/abstract"),
            date: json::date(record, "/date"),
            venue: Some(self.title.to_owned()),
            publisher: Some("Cold Spring Harbor Laboratory".to_owned()),
            pdf_url: page.as_ref().map(|it| format!("{it}.full.pdf")),
            url: page,
            doi,
            keywords: json::texts(record, "/category", ""),
            open_access: Some(true),
            retracted: kind.contains("withdraw").then_some(true),
            ..Article::default()
        };
        Some(PreprintVersion {
            article: finish_article(article, self.name)?,
            version,
            license: text("/license"),
        })
    }
}

/// Whether a DOI may name a preprint of bioRxiv or medRxiv.
pub(crate) fn is_preprint_doi(doi: &Doi) -> bool {
    DOI_PREFIXES.iter().any(|it| doi.as_str().starts_with(it))
}

/// Whether a name is that of one of the two servers.
pub(crate) fn is_server_name(name: &str) -> bool {
    name == DEFINITION.name || name == MEDRXIV.name
}

struct PreprintVersion {
    article: Article,
    version: u64,
    license: Option<String>,
}

impl PaperSource for Biorxiv {
    fn info(&self) -> SourceInfo {
        let of = if self.name == MEDRXIV.name {
            "medicine"
        } else {
            "biology"
        };
        SourceInfo {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            description: format!("Preprints in {of}; read by date and filtered here"),
            by_words: DEFINITION.by_words,
            has_key: false,
            key_hint: None,
        }
    }

    fn search<'a>(&'a self, query: &'a PaperQuery) -> SourceFuture<'a, SourceResult> {
        Box::pin(self.find(query))
    }

    fn look_up<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Article>> {
        Box::pin(async move { Ok(self.fetch_by_id(id).await?.map(|it| it.article)) })
    }

    fn open_pdfs<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Vec<PdfLocation>> {
        Box::pin(async move {
            let place = |paper: PreprintVersion| {
                Some(PdfLocation {
                    url: paper.article.pdf_url?,
                    source: self.name.to_owned(),
                    version: Some("submitted".to_owned()),
                    licence: paper.license,
                })
            };
            Ok(self
                .fetch_by_id(id)
                .await?
                .and_then(place)
                .into_iter()
                .collect())
        })
    }

    fn rate_limit_key(&self) -> String {
        RATE_LIMIT_KEY.to_owned()
    }

    fn metadata_rank(&self, id: &PaperId) -> Option<u8> {
        match id {
            PaperId::Doi(doi) if is_preprint_doi(doi) => Some(0),
            _ => None,
        }
    }

    fn pdf_rank(&self) -> Option<u8> {
        Some(4)
    }
}

/// Extracts the terms of a query. A query without text means all papers of the date range; one
/// whose text holds no word is an error.
fn query_terms(query: &PaperQuery) -> Result<QueryTerms, HttpClientError> {
    let nothing_typed =
        query.words.trim().is_empty() && query.phrases.is_empty() && query.authors.is_empty();
    if nothing_typed {
        Ok(QueryTerms::from_query(query))
    } else {
        QueryTerms::from_non_empty_query(query)
    }
}

/// The first and last day of a query's date range.
fn date_window(query: &PaperQuery) -> (String, String) {
    let today = jiff::Timestamp::now()
        .to_zoned(jiff::tz::TimeZone::UTC)
        .date();
    date_window_until(query, today)
}

/// The date range as seen on a given day. A later end is moved to that day: future days hold no
/// papers, and counting the default range back from a future end would find nothing.
fn date_window_until(query: &PaperQuery, today: jiff::civil::Date) -> (String, String) {
    let end = query.to.and_then(|it| last_day(it).parse().ok());
    let end: jiff::civil::Date = end.map_or(today, |end: jiff::civil::Date| end.min(today));
    let back = || {
        let day = end.checked_sub(jiff::Span::new().days(DEFAULT_WINDOW_DAYS));
        day.unwrap_or(end).to_string()
    };
    let from = query.from.map_or_else(back, first_day);
    let to = end.to_string().max(from.clone());
    (from, to)
}

/// Keeps the latest version of each preprint.
fn newest_versions(papers: Vec<PreprintVersion>) -> Vec<Article> {
    let mut last: Vec<PreprintVersion> = Vec::with_capacity(papers.len());
    let mut at = std::collections::HashMap::new();
    for paper in papers {
        let known = paper
            .article
            .doi
            .clone()
            .map(|doi| *at.entry(doi).or_insert(last.len()));
        match known.and_then(|at| last.get_mut(at)) {
            Some(it) if it.version < paper.version => *it = paper,
            Some(_) => {}
            None => last.push(paper),
        }
    }
    last.into_iter().map(|it| it.article).collect()
}

/// Keeps the matching papers and sorts them by match or by date.
fn filter_and_rank(
    papers: Vec<Article>,
    query: &PaperQuery,
    terms: &QueryTerms,
    limit: usize,
) -> Vec<Article> {
    let in_class = |it: &Article| {
        let classes = it.keywords.iter().map(|it| fold_text(it));
        let wanted = |class: &String| query.categories.iter().any(|it| fold_text(it) == *class);
        query.categories.is_empty() || classes.into_iter().any(|it| wanted(&it))
    };
    let fits = |it: Article| {
        Some((client_side_filter::match_score(&it, terms), it)).filter(|(fit, _)| *fit > 0)
    };
    let mut found: Vec<(usize, Article)> = papers
        .into_iter()
        .filter(|it| {
            in_class(it)
                && client_side_filter::matches_authors(it, terms)
                && client_side_filter::matches_venue(it, terms)
        })
        .filter_map(fits)
        .collect();
    let date = |it: &Article| it.date.map_or(0, PartialDate::as_number);
    found.sort_by(|(a_fit, a), (b_fit, b)| {
        let by_fit = if terms.newest_first {
            std::cmp::Ordering::Equal
        } else {
            b_fit.cmp(a_fit)
        };
        let by_name = || a.doi.cmp(&b.doi);
        by_fit
            .then_with(|| date(b).cmp(&date(a)))
            .then_with(by_name)
    });
    found.into_iter().map(|(_, it)| it).take(limit).collect()
}

/// Parses `Smith, J. A.; Doe, J.`.
fn parse_authors(names: &str) -> Vec<Author> {
    let names = names.split(';').filter_map(author_names::parse_author);
    names.take(text_cleanup::MAX_AUTHORS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_today_at_the_latest() {
        let today = jiff::civil::date(2026, 11, 16);
        let of = |from: &str, to: &str| {
            let query = PaperQuery {
                from: PartialDate::parse(from),
                to: PartialDate::parse(to),
                ..PaperQuery::default()
            };
            let (from, to) = date_window_until(&query, today);
            format!("{from} {to}")
        };
        assert_eq!(of("", ""), "2026-10-17 2026-11-16");
        assert_eq!(of("", "2026"), "2026-10-17 2026-11-16");
        assert_eq!(of("2026-11", "2027"), "2026-11-01 2026-11-16");
        assert_eq!(of("", "2024"), "2024-12-01 2024-12-31");
    }
}
