//! `OpenAlex`: works of all fields with their citations, free and open. Since 2026 most of the
//! allowance needs a free API key. Cursors need one too, so requests without a key use page
//! numbers.

mod response;

use std::{sync::Arc, time::Duration};

use deliberate_core::Article;
use serde_json::Value;

use super::{
    CitationDirection, CitationLink, PaperId, PaperNotice, PaperNoticeKind, PaperQuery,
    PaperSource, PdfLocation, SourceDefinition, SourceFuture, SourceInfo, SourceResult,
    SourceSettings,
    api::{
        client::{ApiKeyLocation, SourceApiClient, clamp_limit, not_found_as_none},
        client_side_filter, json,
        pagination::PagedResults,
        query_terms::{QueryTerms, first_day, last_day},
    },
};
use crate::http::{HttpClient, HttpClientError, SourceRateLimit};
use response::parse_work;

const FIELDS: &str = "id,doi,display_name,publication_year,publication_date,ids,language,type,\
                      primary_location,best_oa_location,open_access,authorships,cited_by_count,\
                      biblio,is_retracted,keywords,abstract_inverted_index";
/// The most records on one page, and the most values in one filter.
const PAGE_SIZE: usize = 100;

pub(crate) const DEFINITION: SourceDefinition = SourceDefinition::new(
    "openalex",
    "https://api.openalex.org",
    |http_client, settings| Arc::new(OpenAlex::new(http_client, settings)),
);

/// The source `OpenAlex`.
pub struct OpenAlex {
    api: SourceApiClient,
}

impl OpenAlex {
    pub fn new(web: HttpClient, settings: SourceSettings) -> Self {
        let pace =
            SourceRateLimit::new(DEFINITION.name, Duration::from_millis(200)).max_concurrent(2);
        let api = SourceApiClient::new(web, settings, DEFINITION.default_url, pace);
        Self {
            api: api.with_key(ApiKeyLocation::Query("api_key")),
        }
    }

    async fn find(&self, query: &PaperQuery) -> Result<SourceResult, HttpClientError> {
        let asked = QueryTerms::from_non_empty_query(query)?;
        let limit = clamp_limit(query.limit);
        let wanted = client_side_filter::overfetch_limit(limit, asked.venue.is_some());
        let mut gathered = self
            .fetch_pages(&build_query(query, &asked), wanted)
            .await?;
        if !query.categories.is_empty() {
            gathered.result.ignored.push("categories");
        }
        let mut found = gathered.into_result(wanted, &self.api).await?;
        found
            .articles
            .retain(|it| client_side_filter::matches_venue(it, &asked));
        found.articles.truncate(limit);
        Ok(found)
    }

    /// Reads pages of a list until there are enough records.
    async fn fetch_pages(
        &self,
        question: &[(&str, String)],
        wanted: usize,
    ) -> Result<PagedResults, HttpClientError> {
        let by_cursor = self.api.has_key();
        let (by, first) = if by_cursor {
            ("cursor", "*")
        } else {
            ("page", "1")
        };
        let mut place = first.to_owned();
        let mut page = 1_usize;
        // The start of a page follows from its number, so all pages must have the same size.
        let size = wanted.clamp(1, PAGE_SIZE);
        let mut gathered = PagedResults::new(wanted, size);
        while gathered.next_page_size().is_some() {
            let mut query = question.to_vec();
            query.push(("select", FIELDS.to_owned()));
            query.push(("per-page", size.to_string()));
            query.push((by, place.clone()));
            let got = self.api.get_json(&["works"], &query).await?;
            gathered.result.total = json::number(&got.body, "/meta/count");
            let records = self.api.list_at(&got, "/results").await?;
            gathered.add_page(&got, records.iter().map(parse_work));
            page += 1;
            match json::raw(&got.body, "/meta/next_cursor") {
                _ if records.len() < PAGE_SIZE => gathered.finish(),
                _ if !by_cursor => place = page.to_string(),
                Some(next) => place = next,
                None => gathered.finish(),
            }
        }
        Ok(gathered)
    }

    async fn fetch_by_id(
        &self,
        id: &PaperId,
        fields: &str,
    ) -> Result<Option<Value>, HttpClientError> {
        let Some(name) = work_key(id) else {
            return Ok(None);
        };
        let path: Vec<&str> = ["works"].into_iter().chain(name.split('/')).collect();
        let got = self
            .api
            .get_json(&path, &[("select", fields.to_owned())])
            .await;
        let Some(got) = not_found_as_none(got)? else {
            return Ok(None);
        };
        if got.body.get("id").is_none() {
            return Err(self.api.response_error(&got, "it holds no work").await);
        }
        Ok(Some(got.body))
    }

    async fn fetch_links(
        &self,
        id: &PaperId,
        direction: CitationDirection,
        limit: usize,
    ) -> Result<Option<Vec<CitationLink>>, HttpClientError> {
        let limit = clamp_limit(limit);
        let Some(work) = self.fetch_by_id(id, "id,referenced_works").await? else {
            return Ok(None);
        };
        let mut articles = Vec::new();
        match direction {
            CitationDirection::Citing => {
                let Some(own) = response::parse_openalex_id(&work, "/id") else {
                    return Ok(None);
                };
                let filter = format!("cites:{own}");
                let most_cited = "cited_by_count:desc".to_owned();
                let question = [("filter", filter), ("sort", most_cited)];
                let found = self.fetch_pages(&question, limit).await?;
                articles = found.into_result(limit, &self.api).await?.articles;
            }
            CitationDirection::Cited => {
                let cited = json::list(&work, "/referenced_works").iter();
                let cited: Vec<String> = cited
                    .filter_map(|it| response::parse_openalex_id(it, ""))
                    .collect();
                let cited = cited.get(..limit.min(cited.len())).unwrap_or_default();
                for some in cited.chunks(PAGE_SIZE) {
                    let filter = format!("openalex:{}", some.join("|"));
                    let found = self.fetch_pages(&[("filter", filter)], some.len()).await?;
                    articles.extend(found.into_result(PAGE_SIZE, &self.api).await?.articles);
                }
                // The response has an order of its own; restore that of the references.
                let place = |it: &Article| {
                    let id = it.openalex_id.as_ref();
                    cited.iter().position(|cited| Some(cited) == id)
                };
                articles.sort_by_key(place);
            }
        }
        articles.truncate(limit);
        let link = |article| CitationLink {
            article,
            contexts: Vec::new(),
            influential: None,
        };
        Ok(Some(articles.into_iter().map(link).collect()))
    }
}

fn build_query(query: &PaperQuery, terms: &QueryTerms) -> Vec<(&'static str, String)> {
    let mut filters = Vec::new();
    let edge = |name: &str, day: Option<String>| day.map(|day| format!("{name}:{day}"));
    filters.extend(edge("from_publication_date", query.from.map(first_day)));
    filters.extend(edge("to_publication_date", query.to.map(last_day)));
    // A comma or a bar would start another filter; plain names contain neither.
    let names = terms.authors.iter().map(deliberate_core::Author::full_name);
    filters.extend(names.map(|it| format!("raw_author_name.search:{it}")));
    let words = terms.boolean_query();
    let order = match (terms.newest_first, words.is_empty()) {
        (true, _) => "publication_date:desc",
        (false, false) => "relevance_score:desc",
        // Without words there is no relevance, and sorting by it is an error.
        (false, true) => "cited_by_count:desc",
    };
    let mut question = vec![("sort", order.to_owned())];
    if !words.is_empty() {
        question.push(("search", words));
    }
    if !filters.is_empty() {
        question.push(("filter", filters.join(",")));
    }
    question
}

fn work_key(id: &PaperId) -> Option<String> {
    match id {
        PaperId::Doi(doi) => Some(format!("doi:{doi}")),
        PaperId::Arxiv(id) => Some(format!("doi:{}", id.doi())),
        PaperId::Pubmed(id) => Some(format!("pmid:{id}")),
        PaperId::Pmc(id) => Some(format!("pmcid:{id}")),
        PaperId::OpenAlex(id) => Some(id.clone()),
        PaperId::SemanticScholar(_) => None,
    }
}

impl PaperSource for OpenAlex {
    fn info(&self) -> SourceInfo {
        SourceInfo {
            name: DEFINITION.name.to_owned(),
            title: "OpenAlex".to_owned(),
            description: "Works of all fields with citations, open-access status and retractions"
                .to_owned(),
            by_words: DEFINITION.by_words,
            has_key: self.api.has_key(),
            key_hint: Some(
                "a free key allows about a thousand searches a day, ten times as many as without"
                    .to_owned(),
            ),
        }
    }

    fn search<'a>(&'a self, query: &'a PaperQuery) -> SourceFuture<'a, SourceResult> {
        Box::pin(self.find(query))
    }

    fn look_up<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Article>> {
        Box::pin(async move {
            Ok(self
                .fetch_by_id(id, FIELDS)
                .await?
                .as_ref()
                .and_then(parse_work))
        })
    }

    fn citation_links<'a>(
        &'a self,
        id: &'a PaperId,
        direction: CitationDirection,
        limit: usize,
    ) -> SourceFuture<'a, Option<Vec<CitationLink>>> {
        Box::pin(self.fetch_links(id, direction, limit))
    }

    fn notices<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Vec<PaperNotice>>> {
        Box::pin(async move {
            let Some(work) = self.fetch_by_id(id, "id,is_retracted").await? else {
                return Ok(None);
            };
            let notice = PaperNotice {
                kind: PaperNoticeKind::Retraction,
                date: None,
                doi: None,
                source: DEFINITION.name.to_owned(),
            };
            let retracted = json::flag(&work, "/is_retracted");
            Ok(retracted.map(|it| if it { vec![notice] } else { Vec::new() }))
        })
    }

    fn open_pdfs<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Vec<PdfLocation>> {
        Box::pin(async move {
            let work = self
                .fetch_by_id(id, "id,best_oa_location,locations")
                .await?;
            Ok(work
                .as_ref()
                .map(response::pdf_locations)
                .unwrap_or_default())
        })
    }

    fn metadata_rank(&self, id: &PaperId) -> Option<u8> {
        match id {
            PaperId::OpenAlex(_) => Some(0),
            PaperId::Doi(_) | PaperId::Arxiv(_) => Some(2),
            _ => None,
        }
    }

    fn citation_check_rank(&self) -> Option<u8> {
        Some(1)
    }

    fn has_citation_links(&self) -> bool {
        true
    }

    fn pdf_rank(&self) -> Option<u8> {
        Some(2)
    }

    fn pdf_lookup_id(&self, article: &Article) -> Option<PaperId> {
        let own = article.openalex_id.clone().map(PaperId::OpenAlex);
        let doi = article.doi.clone().map(PaperId::Doi);
        let pubmed = article.pmid.clone().map(PaperId::Pubmed);
        own.or(doi).or(pubmed)
    }
}
