//! Semantic Scholar: papers of all fields with citations, their contexts, and open PDFs. Requests
//! without an API key share one worldwide allowance, so they are often rate limited.

use std::{sync::Arc, time::Duration};

use deliberate_core::{Article, WorkKind};
use serde_json::Value;

use super::{
    CitationDirection, CitationLink, PaperId, PaperQuery, PaperSource, PdfLocation,
    SourceDefinition, SourceFuture, SourceInfo, SourceResult, SourceSettings,
    api::{
        author_names,
        client::{ApiKeyLocation, SourceApiClient, clamp_limit, not_found_as_none},
        client_side_filter, finish_article, json,
        pagination::PagedResults,
        query_terms::QueryTerms,
        text_cleanup,
    },
};
use crate::http::{HttpClient, HttpClientError, SourceRateLimit};

const FIELDS: &str = "paperId,externalIds,title,abstract,venue,publicationVenue,year,\
                      publicationDate,publicationTypes,authors,journal,citationCount,\
                      isOpenAccess,openAccessPdf,fieldsOfStudy,url";
/// The most records on one page of the relevance search.
const PAGE_SIZE: usize = 100;
/// The most sentences kept of one citation.
const MAX_CONTEXTS: usize = 20;

pub(crate) const DEFINITION: SourceDefinition = SourceDefinition::new(
    "semantic_scholar",
    "https://api.semanticscholar.org/graph/v1",
    |http_client, settings| Arc::new(SemanticScholar::new(http_client, settings)),
);

/// The source Semantic Scholar.
pub struct SemanticScholar {
    api: SourceApiClient,
}

impl SemanticScholar {
    pub fn new(web: HttpClient, settings: SourceSettings) -> Self {
        let pace = SourceRateLimit::new(DEFINITION.name, Duration::from_millis(1_100));
        let api = SourceApiClient::new(web, settings, DEFINITION.default_url, pace);
        Self {
            api: api.with_key(ApiKeyLocation::Header("x-api-key", "")),
        }
    }

    async fn find(&self, query: &PaperQuery) -> Result<SourceResult, HttpClientError> {
        let asked = QueryTerms::from_non_empty_query(query)?;
        let limit = clamp_limit(query.limit);
        // The API can't filter by author, so the results are filtered here.
        let wanted = client_side_filter::overfetch_limit(limit, !asked.authors.is_empty());
        let mut gathered = PagedResults::new(wanted, PAGE_SIZE);
        let mut place = PageCursor::Offset(0);
        while let Some(many) = gathered.next_page_size() {
            let (path, query) = build_request(query, &asked, many, &place);
            let got = self.api.get_json(&path, &query).await?;
            let total = json::number(&got.body, "/total");
            gathered.result.total = total.or(gathered.result.total);
            // If nothing is found, the response has no list.
            let none = total == Some(0) && got.body.get("data").is_none();
            let records = if none {
                &[]
            } else {
                self.api.list_at(&got, "/data").await?
            };
            gathered.add_page(&got, records.iter().map(parse_paper));
            match next_cursor(&got.body, asked.newest_first) {
                Some(next) => place = next,
                None => gathered.finish(),
            }
        }
        if !query.categories.is_empty() {
            gathered.result.ignored.push("categories");
        }
        let mut found = gathered.into_result(wanted, &self.api).await?;
        found
            .articles
            .retain(|it| client_side_filter::matches_authors(it, &asked));
        found.articles.truncate(limit);
        Ok(found)
    }

    async fn fetch_by_id(&self, id: &PaperId) -> Result<Option<Value>, HttpClientError> {
        let name = api_paper_id(id);
        let path: Vec<&str> = ["paper"].into_iter().chain(name.split('/')).collect();
        let got = self
            .api
            .get_json(&path, &[("fields", FIELDS.to_owned())])
            .await;
        let Some(got) = not_found_as_none(got)? else {
            return Ok(None);
        };
        if got.body.get("paperId").is_none() {
            return Err(self.api.response_error(&got, "it holds no paper").await);
        }
        Ok(Some(got.body))
    }

    async fn fetch_links(
        &self,
        id: &PaperId,
        direction: CitationDirection,
        limit: usize,
    ) -> Result<Option<Vec<CitationLink>>, HttpClientError> {
        let (list, paper) = match direction {
            CitationDirection::Citing => ("citations", "/citingPaper"),
            CitationDirection::Cited => ("references", "/citedPaper"),
        };
        let name = api_paper_id(id);
        let path: Vec<&str> = ["paper"]
            .into_iter()
            .chain(name.split('/'))
            .chain([list])
            .collect();
        let limit = clamp_limit(limit);
        let query = [
            ("fields", format!("contexts,isInfluential,{FIELDS}")),
            ("limit", limit.to_string()),
        ];
        let Some(got) = not_found_as_none(self.api.get_json(&path, &query).await)? else {
            return Ok(None);
        };
        // Some publishers forbid the list; then `data` is present and null.
        if got.body.get("data").is_some_and(Value::is_null) {
            return Ok(None);
        }
        let link = |it: &Value| {
            Some(CitationLink {
                article: parse_paper(it.pointer(paper)?)?,
                contexts: json::texts(it, "/contexts", "")
                    .into_iter()
                    .take(MAX_CONTEXTS)
                    .collect(),
                influential: json::flag(it, "/isInfluential"),
            })
        };
        let records = self.api.list_at(&got, "/data").await?;
        let links = records.iter().filter_map(link);
        Ok(Some(links.take(limit).collect()))
    }
}

/// The start of the next page: the relevance search counts, the search by date returns a token.
enum PageCursor {
    Offset(u64),
    Token(String),
}

fn next_cursor(answer: &Value, newest: bool) -> Option<PageCursor> {
    if newest {
        return json::raw(answer, "/token").map(PageCursor::Token);
    }
    // The relevance search ends at 1,000 results.
    let next = json::number(answer, "/next").filter(|it| *it < 1_000);
    next.map(PageCursor::Offset)
}

fn build_request(
    query: &PaperQuery,
    terms: &QueryTerms,
    many: usize,
    cursor: &PageCursor,
) -> (Vec<&'static str>, Vec<(&'static str, String)>) {
    // Hyphenated words are not found, but the two words are.
    let plain = |text: String| text.replace('-', " ");
    let names = terms.author_query();
    let mut parameters = vec![("fields", FIELDS.to_owned())];
    let path = if terms.newest_first {
        let phrases: Vec<String> = terms.phrases.iter().map(|it| format!("\"{it}\"")).collect();
        let mut parts = vec![plain(terms.content_words().join(" "))];
        if !phrases.is_empty() {
            parts.push(format!("({})", phrases.join(" | ")));
        }
        parts.push(names);
        parts.retain(|it| !it.is_empty());
        parameters.push(("query", parts.join(" ")));
        parameters.push(("sort", "publicationDate:desc".to_owned()));
        if let PageCursor::Token(mark) = cursor {
            parameters.push(("token", mark.clone()));
        }
        vec!["paper", "search", "bulk"]
    } else {
        let mut words = terms.content_words();
        words.extend(terms.phrases.iter().map(String::as_str));
        words.push(&names);
        parameters.push(("query", plain(words.join(" ")).trim().to_owned()));
        if let PageCursor::Offset(offset) = cursor {
            parameters.push(("offset", offset.to_string()));
        }
        parameters.push(("limit", many.to_string()));
        vec!["paper", "search"]
    };
    let edge = |it: Option<_>| it.map(|it: deliberate_core::PartialDate| it.to_string());
    if query.from.is_some() || query.to.is_some() {
        let (from, to) = (edge(query.from), edge(query.to));
        let window = format!("{}:{}", from.unwrap_or_default(), to.unwrap_or_default());
        parameters.push(("publicationDateOrYear", window));
    }
    if let Some(venue) = &terms.venue {
        parameters.push(("venue", venue.clone()));
    }
    (path, parameters)
}

fn api_paper_id(id: &PaperId) -> String {
    match id {
        PaperId::Doi(doi) => format!("DOI:{doi}"),
        PaperId::Arxiv(id) => format!("ARXIV:{id}"),
        PaperId::Pubmed(id) => format!("PMID:{id}"),
        PaperId::Pmc(id) => format!("PMCID:{}", id.trim_start_matches("PMC")),
        PaperId::SemanticScholar(id) => id.clone(),
        // Semantic Scholar does not know these identifiers, so nothing is found by one.
        PaperId::OpenAlex(id) => format!("OPENALEX:{id}"),
    }
}

impl PaperSource for SemanticScholar {
    fn info(&self) -> SourceInfo {
        SourceInfo {
            name: DEFINITION.name.to_owned(),
            title: "Semantic Scholar".to_owned(),
            description: "Papers of all fields, with citations and the citing sentences".to_owned(),
            by_words: DEFINITION.by_words,
            has_key: self.api.has_key(),
            key_hint: Some(
                "a free key allows one request a second; requests without a key share one \
               worldwide allowance"
                    .to_owned(),
            ),
        }
    }

    fn search<'a>(&'a self, query: &'a PaperQuery) -> SourceFuture<'a, SourceResult> {
        Box::pin(self.find(query))
    }

    fn look_up<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Article>> {
        Box::pin(async move {
            if matches!(id, PaperId::OpenAlex(_)) {
                return Ok(None);
            }
            Ok(self.fetch_by_id(id).await?.as_ref().and_then(parse_paper))
        })
    }

    fn citation_links<'a>(
        &'a self,
        id: &'a PaperId,
        direction: CitationDirection,
        limit: usize,
    ) -> SourceFuture<'a, Option<Vec<CitationLink>>> {
        Box::pin(async move {
            if matches!(id, PaperId::OpenAlex(_)) {
                return Ok(None);
            }
            self.fetch_links(id, direction, limit).await
        })
    }

    fn open_pdfs<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Vec<PdfLocation>> {
        Box::pin(async move {
            if matches!(id, PaperId::OpenAlex(_)) {
                return Ok(Vec::new());
            }
            let paper = self.fetch_by_id(id).await?.unwrap_or_default();
            let place = json::url(&paper, "/openAccessPdf/url").map(|url| PdfLocation {
                url,
                source: DEFINITION.name.to_owned(),
                version: None,
                licence: json::text(&paper, "/openAccessPdf/license"),
            });
            Ok(place.into_iter().collect())
        })
    }

    fn metadata_rank(&self, id: &PaperId) -> Option<u8> {
        match id {
            PaperId::SemanticScholar(_) => Some(0),
            PaperId::Arxiv(_) => Some(1),
            PaperId::Doi(_) => Some(3),
            _ => None,
        }
    }

    fn citation_check_rank(&self) -> Option<u8> {
        Some(2)
    }

    fn has_citation_links(&self) -> bool {
        true
    }

    fn has_citation_contexts(&self) -> bool {
        true
    }

    fn pdf_rank(&self) -> Option<u8> {
        Some(1)
    }

    fn pdf_lookup_id(&self, article: &Article) -> Option<PaperId> {
        let own = article.s2_id.clone().map(PaperId::SemanticScholar);
        let doi = article.doi.clone().map(PaperId::Doi);
        let arxiv = article.arxiv_id.clone().map(PaperId::Arxiv);
        let pubmed = article.pmid.clone().map(PaperId::Pubmed);
        own.or(doi).or(arxiv).or(pubmed)
    }
}

fn parse_paper(paper: &Value) -> Option<Article> {
    let text = |pointer: &str| json::text(paper, pointer);
    let authors = json::list(paper, "/authors").iter();
    let authors = authors.filter_map(|it| author_names::parse_author(&json::raw(it, "/name")?));
    let venue = text("/publicationVenue/name").or_else(|| text("/venue"));
    let kind = work_kind(paper, venue.as_deref());
    let arxiv_id = json::arxiv(paper, "/externalIds/ArXiv");
    let article = Article {
        title: json::title(paper, "/title")?,
        authors: authors.take(text_cleanup::MAX_AUTHORS).collect(),
        kind,
        summary: json::summary(paper, "/abstract"),
        date: json::date(paper, "/publicationDate").or_else(|| json::date(paper, "/year")),
        venue: venue.or_else(|| text("/journal/name")),
        volume: text("/journal/volume"),
        pages: text("/journal/pages"),
        issn: text("/publicationVenue/issn"),
        doi: json::doi(paper, "/externalIds/DOI"),
        pmid: text("/externalIds/PubMed"),
        pmcid: text("/externalIds/PubMedCentral")
            .map(|it| format!("PMC{}", it.trim_start_matches("PMC"))),
        s2_id: text("/paperId"),
        url: json::url(paper, "/url"),
        pdf_url: json::url(paper, "/openAccessPdf/url")
            .or_else(|| arxiv_id.as_ref().map(deliberate_core::ArxivId::pdf_url)),
        arxiv_id,
        keywords: json::texts(paper, "/fieldsOfStudy", ""),
        citation_count: json::number(paper, "/citationCount"),
        open_access: json::flag(paper, "/isOpenAccess"),
        ..Article::default()
    };
    finish_article(article, DEFINITION.name)
}

fn work_kind(paper: &Value, venue: Option<&str>) -> WorkKind {
    let types = json::texts(paper, "/publicationTypes", "");
    let has = |it: &str| types.iter().any(|kind| kind == it);
    let preprint = |it: &str| matches!(it, "arXiv.org" | "bioRxiv" | "medRxiv");
    let place = json::text(paper, "/publicationVenue/type");
    match place.as_deref() {
        _ if venue.is_some_and(preprint) => WorkKind::Preprint,
        _ if has("Dataset") => WorkKind::Dataset,
        _ if has("BookSection") => WorkKind::Chapter,
        Some("conference") => WorkKind::ConferencePaper,
        Some("journal") => WorkKind::JournalArticle,
        _ if has("Conference") => WorkKind::ConferencePaper,
        _ if has("JournalArticle") || has("Review") => WorkKind::JournalArticle,
        _ if has("Book") => WorkKind::Book,
        _ => WorkKind::Unknown,
    }
}
