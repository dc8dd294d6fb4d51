//! Europe PMC: the life sciences including `PubMed` and preprints, with full texts, citations and
//! references.

mod response;

use std::{sync::Arc, time::Duration};

use deliberate_core::Article;
use serde_json::Value;

use super::{
    CitationDirection, CitationLink, PaperId, PaperNotice, PaperQuery, PaperSource, PdfLocation,
    SourceDefinition, SourceFuture, SourceInfo, SourceResult, SourceSettings,
    api::{
        client::{ApiResponse, SourceApiClient, clamp_limit},
        json,
        pagination::PagedResults,
        query_terms::{QueryTerms, first_day, last_day},
    },
};
use crate::http::{HttpClient, HttpClientError, SourceRateLimit};
use response::parse_record;

const PAGE_SIZE: usize = 100;
/// The most words that a paper must contain all of. With more words any of them suffices, and the
/// best match comes first.
const MAX_REQUIRED_WORDS: usize = 6;

pub(crate) const DEFINITION: SourceDefinition = SourceDefinition::new(
    "europe_pmc",
    "https://www.ebi.ac.uk/europepmc/webservices/rest",
    |http_client, settings| Arc::new(EuropePmc::new(http_client, settings)),
);

/// The source Europe PMC.
pub struct EuropePmc {
    api: SourceApiClient,
}

impl EuropePmc {
    pub fn new(web: HttpClient, settings: SourceSettings) -> Self {
        let pace =
            SourceRateLimit::new(DEFINITION.name, Duration::from_millis(200)).max_concurrent(2);
        let api = SourceApiClient::new(web, settings, DEFINITION.default_url, pace);
        Self {
            api: api.with_contact("email"),
        }
    }

    async fn find(&self, query: &PaperQuery) -> Result<SourceResult, HttpClientError> {
        let asked = QueryTerms::from_non_empty_query(query)?;
        let limit = clamp_limit(query.limit);
        let mut gathered = self
            .fetch_pages(&build_query(query, &asked), asked.newest_first, limit)
            .await?;
        if !query.categories.is_empty() {
            gathered.result.ignored.push("categories");
        }
        gathered.into_result(limit, &self.api).await
    }

    async fn fetch_pages(
        &self,
        question: &str,
        newest: bool,
        limit: usize,
    ) -> Result<PagedResults, HttpClientError> {
        let mut gathered = PagedResults::new(limit, PAGE_SIZE);
        let mut mark = "*".to_owned();
        while let Some(many) = gathered.next_page_size() {
            let got = self.fetch_page(question, newest, many, &mark).await?;
            gathered.result.total = json::number(&got.body, "/hitCount");
            let records = self.api.list_at(&got, "/resultList/result").await?;
            gathered.add_page(&got, records.iter().map(parse_record));
            match json::raw(&got.body, "/nextCursorMark") {
                Some(next) if next != mark && records.len() == many => mark = next,
                _ => gathered.finish(),
            }
        }
        Ok(gathered)
    }

    async fn fetch_page(
        &self,
        question: &str,
        newest: bool,
        many: usize,
        mark: &str,
    ) -> Result<ApiResponse<Value>, HttpClientError> {
        let mut query = vec![
            ("query", question.to_owned()),
            ("format", "json".to_owned()),
            ("resultType", "core".to_owned()),
            ("pageSize", many.to_string()),
            ("cursorMark", mark.to_owned()),
        ];
        if newest {
            query.push(("sort", "P_PDATE_D desc".to_owned()));
        }
        self.api.get_json(&["search"], &query).await
    }

    async fn fetch_by_id(&self, id: &PaperId) -> Result<Option<Value>, HttpClientError> {
        let Some(question) = id_query(id) else {
            return Ok(None);
        };
        let got = self.fetch_page(&question, false, 5, "*").await?;
        let records = self.api.list_at(&got, "/resultList/result").await?;
        Ok(records.iter().find(|it| has_id(it, id)).cloned())
    }

    async fn fetch_links(
        &self,
        id: &PaperId,
        direction: CitationDirection,
        limit: usize,
    ) -> Result<Option<Vec<CitationLink>>, HttpClientError> {
        let record = match id {
            PaperId::Pubmed(id) => Some(("MED".to_owned(), id.clone())),
            _ => self
                .fetch_by_id(id)
                .await?
                .and_then(|it| response::record_key(&it)),
        };
        let Some((source, id)) = record else {
            return Ok(None);
        };
        let (list, pointer) = match direction {
            CitationDirection::Citing => ("citations", "/citationList/citation"),
            CitationDirection::Cited => ("references", "/referenceList/reference"),
        };
        let query = [
            ("page", "1".to_owned()),
            ("pageSize", clamp_limit(limit).to_string()),
            ("format", "json".to_owned()),
        ];
        let got = self.api.get_json(&[&source, &id, list], &query).await?;
        // If there are no links, the response has no list.
        let none = json::number(&got.body, "/hitCount") == Some(0);
        let records = if none {
            &[]
        } else {
            self.api.list_at(&got, pointer).await?
        };
        let links = records
            .iter()
            .filter_map(response::parse_brief_record)
            .map(|article| CitationLink {
                article,
                contexts: Vec::new(),
                influential: None,
            });
        Ok(Some(links.take(clamp_limit(limit)).collect()))
    }
}

fn build_query(query: &PaperQuery, terms: &QueryTerms) -> String {
    let telling = terms.content_words();
    let join = if telling.len() > MAX_REQUIRED_WORDS {
        " OR "
    } else {
        " AND "
    };
    let phrases: Vec<String> = terms
        .phrases
        .iter()
        .map(|it| format!("TITLE_ABS:\"{it}\""))
        .collect();
    let mut parts = Vec::new();
    if !telling.is_empty() {
        let words: Vec<String> = telling.iter().map(|it| format!("\"{it}\"")).collect();
        parts.push(format!("({})", words.join(join)));
    }
    if !phrases.is_empty() {
        parts.push(format!("({})", phrases.join(" OR ")));
    }
    let name = |it: &deliberate_core::Author| {
        let initial = it.given.as_deref().and_then(|it| it.chars().next());
        let initial = initial.map(|it| format!(" {it}")).unwrap_or_default();
        format!("AUTH:\"{}{initial}\"", it.family)
    };
    parts.extend(terms.authors.iter().map(name));
    parts.extend(terms.venue.as_ref().map(|it| format!("JOURNAL:\"{it}\"")));
    if query.from.is_some() || query.to.is_some() {
        let from = query.from.map_or("1800-01-01".to_owned(), first_day);
        let to = query.to.map_or("3000-12-31".to_owned(), last_day);
        parts.push(format!("FIRST_PDATE:[{from} TO {to}]"));
    }
    parts.join(" AND ")
}

fn id_query(id: &PaperId) -> Option<String> {
    match id {
        PaperId::Doi(doi) => Some(format!("DOI:\"{doi}\"")),
        PaperId::Arxiv(id) => Some(format!("DOI:\"{}\"", id.doi())),
        PaperId::Pubmed(id) => Some(format!("EXT_ID:{id} AND SRC:MED")),
        PaperId::Pmc(id) => Some(format!("PMCID:{id}")),
        PaperId::SemanticScholar(_) | PaperId::OpenAlex(_) => None,
    }
}

fn has_id(record: &Value, id: &PaperId) -> bool {
    match id {
        PaperId::Doi(doi) => json::doi(record, "/doi").as_ref() == Some(doi),
        PaperId::Arxiv(id) => json::doi(record, "/doi") == Some(id.doi()),
        PaperId::Pubmed(id) => json::text(record, "/pmid").as_ref() == Some(id),
        PaperId::Pmc(id) => json::text(record, "/pmcid").as_ref() == Some(id),
        PaperId::SemanticScholar(_) | PaperId::OpenAlex(_) => false,
    }
}

impl PaperSource for EuropePmc {
    fn info(&self) -> SourceInfo {
        SourceInfo {
            name: DEFINITION.name.to_owned(),
            title: "Europe PMC".to_owned(),
            description: "The life sciences including preprints, with full-text search".to_owned(),
            by_words: DEFINITION.by_words,
            has_key: false,
            key_hint: None,
        }
    }

    fn search<'a>(&'a self, query: &'a PaperQuery) -> SourceFuture<'a, SourceResult> {
        Box::pin(self.find(query))
    }

    fn look_up<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Article>> {
        Box::pin(async move { Ok(self.fetch_by_id(id).await?.as_ref().and_then(parse_record)) })
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
        Box::pin(async move { Ok(self.fetch_by_id(id).await?.as_ref().map(response::notices)) })
    }

    fn open_pdfs<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Vec<PdfLocation>> {
        Box::pin(async move {
            let record = self.fetch_by_id(id).await?;
            Ok(record
                .as_ref()
                .map(response::pdf_locations)
                .unwrap_or_default())
        })
    }

    fn metadata_rank(&self, id: &PaperId) -> Option<u8> {
        match id {
            PaperId::Pmc(_) => Some(0),
            PaperId::Pubmed(_) => Some(1),
            _ => None,
        }
    }

    fn citation_check_rank(&self) -> Option<u8> {
        Some(5)
    }

    fn has_citation_links(&self) -> bool {
        true
    }

    fn pdf_rank(&self) -> Option<u8> {
        Some(3)
    }

    fn pdf_lookup_id(&self, article: &Article) -> Option<PaperId> {
        let pmc = article.pmcid.clone().map(PaperId::Pmc);
        let pubmed = article.pmid.clone().map(PaperId::Pubmed);
        let doi = article.doi.clone().map(PaperId::Doi);
        pmc.or(pubmed).or(doi)
    }
}
