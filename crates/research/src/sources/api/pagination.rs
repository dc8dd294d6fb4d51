//! Pages of records until there are enough: what was read of them, and whether to go on.

use deliberate_core::Article;
use serde_json::Value;

use super::client::{ApiResponse, SourceApiClient};
use crate::{
    http::{FetchRequest, HttpClientError},
    sources::SourceResult,
};

/// The most pages of one question, whatever is on them.
const MAX_PAGES: usize = 10;

/// What was read of a list of records, page by page.
pub(crate) struct PagedResults {
    pub(crate) result: SourceResult,
    limit: usize,
    page_size: usize,
    records_read: usize,
    is_finished: bool,
    requests: Vec<FetchRequest>,
}

impl PagedResults {
    /// Nothing yet of so many that are wanted, at most so many on a page.
    pub(crate) fn new(limit: usize, page_size: usize) -> Self {
        Self {
            result: SourceResult::default(),
            limit,
            page_size,
            records_read: 0,
            is_finished: false,
            requests: Vec::new(),
        }
    }

    /// How many are to be asked for on the next page; `None` if there is to be none.
    pub(crate) fn next_page_size(&self) -> Option<usize> {
        let left = self.limit.saturating_sub(self.result.articles.len());
        let more = left > 0 && !self.is_finished && self.requests.len() < MAX_PAGES;
        more.then(|| left.min(self.page_size))
    }

    /// How many records came so far, whether they could be read or not.
    pub(crate) fn records_read(&self) -> usize {
        self.records_read
    }

    /// Takes in a page of records; those that can't be read are counted. One without any is the
    /// last.
    pub(crate) fn add_page<T>(
        &mut self,
        got: &ApiResponse<T>,
        records: impl IntoIterator<Item = Option<Article>>,
    ) {
        self.record_response(got);
        let before = self.records_read;
        for record in records {
            self.records_read += 1;
            match record {
                Some(article) => self.result.articles.push(article),
                None => self.result.skipped += 1,
            }
        }
        self.is_finished |= self.records_read == before;
    }

    /// Takes note of where a page came from.
    pub(crate) fn record_response<T>(&mut self, got: &ApiResponse<T>) {
        self.result.from_cache =
            got.from_cache && (self.requests.is_empty() || self.result.from_cache);
        self.requests.push(got.request.clone());
    }

    /// There are no more pages.
    pub(crate) fn finish(&mut self) {
        self.is_finished = true;
    }

    /// What was found. Records of which none can be read are no empty result.
    pub(crate) async fn into_result(
        mut self,
        limit: usize,
        api: &SourceApiClient,
    ) -> Result<SourceResult, HttpClientError> {
        let said = self.result.total.unwrap_or(0);
        if self.result.articles.is_empty() && (self.records_read > 0 || said > 0) {
            let reason = format!("it speaks of {} papers, and none can be read", said.max(1));
            return Err(self.response_error(api, &reason).await);
        }
        self.result.articles.truncate(limit);
        Ok(self.result)
    }

    /// The error of pages that are no answer. They are not used again.
    pub(crate) async fn response_error(
        &self,
        api: &SourceApiClient,
        reason: &str,
    ) -> HttpClientError {
        let asked: Vec<&FetchRequest> = self.requests.iter().collect();
        api.discard_responses(&asked, &Value::Null, reason).await
    }
}
