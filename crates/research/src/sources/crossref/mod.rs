//! Crossref: the publishers' records of their works, with corrections and retractions. Requests
//! that carry a contact address are served faster.

mod response;

use std::{sync::Arc, time::Duration};

use deliberate_core::{Article, Doi};
use serde_json::Value;

use super::{
    PaperId, PaperNotice, PaperQuery, PaperSource, PdfLocation, SourceDefinition, SourceFuture,
    SourceInfo, SourceResult, SourceSettings,
    api::{
        client::{ApiKeyLocation, SourceApiClient, clamp_limit, not_found_as_none},
        client_side_filter, json,
        pagination::PagedResults,
        query_terms::QueryTerms,
    },
};
use crate::http::{HttpClient, HttpClientError, SourceRateLimit};
use response::parse_work;

/// Pages are small because each record includes the work's references.
const PAGE_SIZE: usize = 100;

pub(crate) const DEFINITION: SourceDefinition = SourceDefinition {
    lists_paywalled_pdfs: true,
    ..SourceDefinition::new(
        "crossref",
        "https://api.crossref.org",
        |http_client, settings| Arc::new(Crossref::new(http_client, settings)),
    )
};

/// The source Crossref.
pub struct Crossref {
    api: SourceApiClient,
}

impl Crossref {
    pub fn new(web: HttpClient, settings: SourceSettings) -> Self {
        let pace = if settings.contact.is_some() {
            SourceRateLimit::new(DEFINITION.name, Duration::from_millis(120)).max_concurrent(3)
        } else {
            SourceRateLimit::new(DEFINITION.name, Duration::from_millis(250))
        };
        let api = SourceApiClient::new(web, settings, DEFINITION.default_url, pace);
        let place = ApiKeyLocation::Header("crossref-plus-api-token", "Bearer ");
        let api = api.with_key(place);
        Self {
            api: api.with_contact("mailto"),
        }
    }

    async fn find(&self, query: &PaperQuery) -> Result<SourceResult, HttpClientError> {
        let asked = QueryTerms::from_non_empty_query(query)?;
        let limit = clamp_limit(query.limit);
        // Crossref treats author and journal names as words, any of which suffices.
        let wanted = client_side_filter::overfetch_limit(
            limit,
            !asked.authors.is_empty() || asked.venue.is_some(),
        );
        let mut gathered = PagedResults::new(wanted, PAGE_SIZE);
        while let Some(rows) = gathered.next_page_size() {
            let mut question = build_query(query, &asked);
            question.push(("rows", rows.to_string()));
            if gathered.records_read() > 0 {
                question.push(("offset", gathered.records_read().to_string()));
            }
            let got = self.api.get_json(&["works"], &question).await?;
            gathered.result.total = json::number(&got.body, "/message/total-results");
            let items = self.api.list_at(&got, "/message/items").await?;
            gathered.add_page(&got, items.iter().map(parse_work));
            if items.len() < PAGE_SIZE {
                gathered.finish();
            }
        }
        if !query.categories.is_empty() {
            gathered.result.ignored.push("categories");
        }
        let mut found = gathered.into_result(wanted, &self.api).await?;
        let meant = |it: &Article| {
            client_side_filter::matches_authors(it, &asked)
                && client_side_filter::matches_venue(it, &asked)
        };
        found.articles.retain(meant);
        found.articles.truncate(limit);
        Ok(found)
    }

    async fn fetch_by_doi(&self, doi: &Doi) -> Result<Option<Value>, HttpClientError> {
        let path: Vec<&str> = ["works"]
            .into_iter()
            .chain(doi.as_str().split('/'))
            .collect();
        let Some(mut got) = not_found_as_none(self.api.get_json(&path, &[]).await)? else {
            return Ok(None);
        };
        match got.body.get_mut("message") {
            Some(work @ Value::Object(_)) => Ok(Some(work.take())),
            _ => Err(self.api.response_error(&got, "it holds no work").await),
        }
    }

    /// Reads the notices in the work's own record and those in records that update the work. Either
    /// alone misses some.
    async fn fetch_notices(&self, doi: &Doi) -> Result<Option<Vec<PaperNotice>>, HttpClientError> {
        let Some(work) = self.fetch_by_doi(doi).await? else {
            return Ok(None);
        };
        let mut notices = response::notices(&work);
        // A comma starts another filter and can't be escaped.
        if doi.as_str().contains(',') {
            return Ok(Some(notices));
        }
        let query = [
            ("filter", format!("updates:{doi}")),
            ("rows", "50".to_owned()),
        ];
        let got = self.api.get_json(&["works"], &query).await?;
        for item in self.api.list_at(&got, "/message/items").await? {
            for notice in response::update_notices(item, doi) {
                let known = |it: &PaperNotice| it.kind == notice.kind && it.doi == notice.doi;
                if !notices.iter().any(known) {
                    notices.push(notice);
                }
            }
        }
        Ok(Some(notices))
    }
}

fn build_query(query: &PaperQuery, terms: &QueryTerms) -> Vec<(&'static str, String)> {
    let order = if terms.newest_first {
        "published"
    } else {
        "relevance"
    };
    let mut question = vec![("sort", order.to_owned()), ("order", "desc".to_owned())];
    let texts = [
        ("query.bibliographic", terms.plain_query()),
        ("query.author", terms.author_query()),
        (
            "query.container-title",
            terms.venue.clone().unwrap_or_default(),
        ),
    ];
    question.extend(texts.into_iter().filter(|(_, it)| !it.is_empty()));
    let from = query.from.map(|it| format!("from-pub-date:{it}"));
    let to = query.to.map(|it| format!("until-pub-date:{it}"));
    let window: Vec<String> = from.into_iter().chain(to).collect();
    if !window.is_empty() {
        question.push(("filter", window.join(",")));
    }
    question
}

fn as_doi(id: &PaperId) -> Option<&Doi> {
    match id {
        // arXiv's DOIs are registered elsewhere.
        PaperId::Doi(doi) if doi.arxiv_id().is_none() => Some(doi),
        _ => None,
    }
}

impl PaperSource for Crossref {
    fn info(&self) -> SourceInfo {
        SourceInfo {
            name: DEFINITION.name.to_owned(),
            title: "Crossref".to_owned(),
            description: "The publishers' records behind most DOIs, with corrections and \
                        retractions"
                .to_owned(),
            by_words: DEFINITION.by_words,
            has_key: self.api.has_key(),
            key_hint: Some("only for subscribers of Metadata Plus; none is needed".to_owned()),
        }
    }

    fn search<'a>(&'a self, query: &'a PaperQuery) -> SourceFuture<'a, SourceResult> {
        Box::pin(self.find(query))
    }

    fn look_up<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Article>> {
        Box::pin(async move {
            let Some(doi) = as_doi(id) else {
                return Ok(None);
            };
            Ok(self.fetch_by_doi(doi).await?.as_ref().and_then(parse_work))
        })
    }

    fn notices<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Vec<PaperNotice>>> {
        Box::pin(async move {
            match as_doi(id) {
                Some(doi) => self.fetch_notices(doi).await,
                None => Ok(None),
            }
        })
    }

    fn open_pdfs<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Vec<PdfLocation>> {
        Box::pin(async move {
            let Some(doi) = as_doi(id) else {
                return Ok(Vec::new());
            };
            Ok(self
                .fetch_by_doi(doi)
                .await?
                .as_ref()
                .map(response::pdf_locations)
                .unwrap_or_default())
        })
    }

    fn metadata_rank(&self, id: &PaperId) -> Option<u8> {
        match id {
            PaperId::Doi(_) => Some(1),
            _ => None,
        }
    }

    fn citation_check_rank(&self) -> Option<u8> {
        Some(0)
    }

    fn pdf_rank(&self) -> Option<u8> {
        Some(0)
    }

    fn pdf_lookup_id(&self, article: &Article) -> Option<PaperId> {
        article.doi.clone().map(PaperId::Doi)
    }
}
