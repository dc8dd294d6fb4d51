//! `PubMed`: medicine and the life sciences. A search returns IDs, and a second request returns
//! their records. Three requests a second are allowed, ten with an API key.

mod response;

use std::{sync::Arc, time::Duration};

use deliberate_core::{Article, Author};

use super::{
    PaperId, PaperNotice, PaperQuery, PaperSource, SourceDefinition, SourceFuture, SourceInfo,
    SourceResult, SourceSettings,
    api::{
        client::{ApiKeyLocation, ApiResponse, SourceApiClient, clamp_limit, not_found_as_none},
        json,
        pagination::PagedResults,
        query_terms::{QueryTerms, first_day, last_day},
        xml::XmlElement,
    },
};
use crate::{
    http::{HttpClient, HttpClientError, SourceRateLimit},
    prompt_fence::strip_markup_chars,
};

/// The number of records in one request.
const PAGE_SIZE: usize = 200;
/// The most words that an abstract must contain all of. With more words any of them suffices, and
/// the best match comes first.
const MAX_REQUIRED_WORDS: usize = 6;
/// NCBI counts the requests to all of its databases together.
const RATE_LIMIT_KEY: &str = "ncbi";

pub(crate) const DEFINITION: SourceDefinition = SourceDefinition::new(
    "pubmed",
    "https://eutils.ncbi.nlm.nih.gov/entrez/eutils",
    |http_client, settings| Arc::new(Pubmed::new(http_client, settings)),
);

/// The source `PubMed`.
pub struct Pubmed {
    search_api: SourceApiClient,
    fetch_api: SourceApiClient,
}

impl Pubmed {
    pub fn new(web: HttpClient, settings: SourceSettings) -> Self {
        let every = if settings.key.is_some() { 110 } else { 350 };
        let pace =
            SourceRateLimit::new(RATE_LIMIT_KEY, Duration::from_millis(every)).max_concurrent(3);
        let api = SourceApiClient::new(web, settings, DEFINITION.default_url, pace);
        let api = api.with_key(ApiKeyLocation::Query("api_key"));
        let api = api.with_contact("email");
        Self {
            search_api: api.clone(),
            fetch_api: api.for_xml(&[]),
        }
    }

    async fn find(&self, query: &PaperQuery) -> Result<SourceResult, HttpClientError> {
        let asked = QueryTerms::from_non_empty_query(query)?;
        let limit = clamp_limit(query.limit);
        let order = if asked.newest_first {
            "pub_date"
        } else {
            "relevance"
        };
        let (ids, total, kept) = self
            .search_ids(build_query(query, &asked), limit, order)
            .await?;
        let mut gathered = PagedResults::new(limit, PAGE_SIZE);
        for some in ids.chunks(PAGE_SIZE) {
            let got = self.fetch_records(some).await?;
            let mut records = response::records(&got.body);
            // The records have an order of their own; restore that of the search.
            let place = |id: Option<&String>| some.iter().position(|it| Some(it) == id);
            records.sort_by_key(|it| place(it.as_ref().and_then(|it| it.pmid.as_ref())));
            let count = records.len();
            gathered.add_page(&got, records);
            if count < some.len() {
                let lost = u32::try_from(some.len() - count).unwrap_or(u32::MAX);
                gathered.result.skipped += lost;
            }
        }
        gathered.result.from_cache = kept && (ids.is_empty() || gathered.result.from_cache);
        gathered.result.total = Some(total);
        if !query.categories.is_empty() {
            gathered.result.ignored.push("categories");
        }
        gathered.into_result(limit, &self.fetch_api).await
    }

    /// Searches for IDs; returns them, the total, and whether the response came from the cache.
    async fn search_ids(
        &self,
        term: String,
        limit: usize,
        order: &str,
    ) -> Result<(Vec<String>, u64, bool), HttpClientError> {
        let query = [
            ("db", "pubmed".to_owned()),
            ("term", term),
            ("retmax", limit.to_string()),
            ("retmode", "json".to_owned()),
            ("sort", order.to_owned()),
            ("tool", "deliberate".to_owned()),
        ];
        let got = self.search_api.get_json(&["esearch.fcgi"], &query).await?;
        if json::raw(&got.body, "/esearchresult/ERROR").is_some() {
            return Err(self
                .search_api
                .response_error(&got, "the search failed")
                .await);
        }
        let ids = self
            .search_api
            .list_at(&got, "/esearchresult/idlist")
            .await?;
        let fine = |it: &String| it.len() < 12 && it.bytes().all(|it| it.is_ascii_digit());
        let ids: Vec<String> = ids
            .iter()
            .filter_map(|it| json::raw(it, ""))
            .filter(fine)
            .collect();
        let total = json::number(&got.body, "/esearchresult/count");
        let total = total.unwrap_or(ids.len() as u64);
        Ok((ids.into_iter().take(limit).collect(), total, got.from_cache))
    }

    async fn fetch_records(
        &self,
        ids: &[String],
    ) -> Result<ApiResponse<XmlElement>, HttpClientError> {
        let query = [
            ("db", "pubmed".to_owned()),
            ("id", ids.join(",")),
            ("retmode", "xml".to_owned()),
            ("tool", "deliberate".to_owned()),
        ];
        let got = self.fetch_api.get_xml(&["efetch.fcgi"], &query).await?;
        if got.body.name == "PubmedArticleSet" {
            return Ok(got);
        }
        let said = got
            .body
            .line_at(&["ERROR"])
            .unwrap_or_else(|| "it holds no records".to_owned());
        let nothing = serde_json::Value::Null;
        let said = strip_markup_chars(&said);
        Err((self
            .fetch_api
            .discard_responses(&[&got.request], &nothing, &said))
        .await)
    }

    /// Requests the record set of one paper.
    async fn fetch_by_id(&self, id: &PaperId) -> Result<Option<XmlElement>, HttpClientError> {
        let ids = match id {
            PaperId::Pubmed(id) => vec![id.clone()],
            PaperId::Doi(doi) => {
                let doi = doi.as_str().replace('"', " ");
                let term = format!("\"{doi}\"[AID]");
                self.search_ids(term, 2, "relevance").await?.0
            }
            PaperId::Pmc(id) => {
                self.search_ids(format!("{id}[PMCID]"), 2, "relevance")
                    .await?
                    .0
            }
            PaperId::Arxiv(_) | PaperId::SemanticScholar(_) | PaperId::OpenAlex(_) => Vec::new(),
        };
        if ids.is_empty() {
            return Ok(None);
        }
        Ok(not_found_as_none(self.fetch_records(&ids).await)?.map(|it| it.body))
    }
}

/// Builds the query in `PubMed`'s syntax.
fn build_query(query: &PaperQuery, terms: &QueryTerms) -> String {
    let telling = terms.content_words();
    let join = if telling.len() > MAX_REQUIRED_WORDS {
        " OR "
    } else {
        " AND "
    };
    let either = |all: Vec<String>| match all.len() {
        0 | 1 => all.concat(),
        _ => format!("({})", all.join(" OR ")),
    };
    let phrases = terms
        .phrases
        .iter()
        .map(|it| format!("\"{it}\"[Title/Abstract]"));
    let mut parts = Vec::new();
    if !telling.is_empty() {
        parts.push(format!("({})", telling.join(join)));
    }
    parts.push(either(phrases.collect()));
    parts.extend(
        terms
            .authors
            .iter()
            .map(|it| format!("{}[Author]", short_name(it))),
    );
    parts.extend(terms.venue.as_ref().map(|it| format!("\"{it}\"[Journal]")));
    if query.from.is_some() || query.to.is_some() {
        let slashed = |it: String| it.replace('-', "/");
        let from = query
            .from
            .map_or("1800/01/01".to_owned(), |it| slashed(first_day(it)));
        let to = query
            .to
            .map_or("3000/12/31".to_owned(), |it| slashed(last_day(it)));
        parts.push(format!(
            "(\"{from}\"[Date - Publication] : \"{to}\"[Date - Publication])"
        ));
    }
    parts.retain(|it| !it.is_empty());
    parts.join(" AND ")
}

/// Whether an article has this identifier. If `PubMed` does not find an identifier as a whole, it
/// searches for its parts, so a result may be another paper.
fn has_id(article: &Article, id: &PaperId) -> bool {
    match id {
        PaperId::Doi(doi) => article.doi.as_ref() == Some(doi),
        PaperId::Pmc(id) => article.pmcid.as_ref() == Some(id),
        PaperId::Pubmed(id) => article.pmid.as_ref() == Some(id),
        PaperId::Arxiv(_) | PaperId::SemanticScholar(_) | PaperId::OpenAlex(_) => false,
    }
}

/// Writes a name in `PubMed`'s form: `Doe JA`.
fn short_name(author: &Author) -> String {
    let given = author.given.as_deref().unwrap_or_default();
    let initials = given
        .split([' ', '-', '.'])
        .filter_map(|it| it.chars().next());
    let initials: String = initials.flat_map(char::to_uppercase).collect();
    format!("{} {initials}", author.family).trim().to_owned()
}

impl PaperSource for Pubmed {
    fn info(&self) -> SourceInfo {
        SourceInfo {
            name: DEFINITION.name.to_owned(),
            title: "PubMed".to_owned(),
            description: "Medicine and the life sciences, with abstracts and subject headings"
                .to_owned(),
            by_words: DEFINITION.by_words,
            has_key: self.search_api.has_key(),
            key_hint: Some("a free key allows ten requests a second instead of three".to_owned()),
        }
    }

    fn search<'a>(&'a self, query: &'a PaperQuery) -> SourceFuture<'a, SourceResult> {
        Box::pin(self.find(query))
    }

    fn look_up<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Article>> {
        Box::pin(async move {
            let set = self.fetch_by_id(id).await?.unwrap_or_default();
            let mut found = response::records(&set).into_iter().flatten();
            Ok(found.find(|it| has_id(it, id)))
        })
    }

    fn notices<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Vec<PaperNotice>>> {
        Box::pin(async move {
            let set = self.fetch_by_id(id).await?.unwrap_or_default();
            Ok(response::notices(&set, |it| has_id(it, id)))
        })
    }

    fn rate_limit_key(&self) -> String {
        RATE_LIMIT_KEY.to_owned()
    }

    fn metadata_rank(&self, id: &PaperId) -> Option<u8> {
        match id {
            PaperId::Pubmed(_) => Some(0),
            PaperId::Pmc(_) => Some(1),
            _ => None,
        }
    }

    fn citation_check_rank(&self) -> Option<u8> {
        Some(4)
    }
}
