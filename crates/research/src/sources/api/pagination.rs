//! Collects pages of records until there are enough.

use deliberate_core::Article;
use serde_json::Value;

use super::client::{ApiResponse, SourceApiClient};
use crate::{
    http::{FetchRequest, HttpClientError},
    sources::SourceResult,
};

/// The most pages one search reads, whatever they hold.
const MAX_PAGES: usize = 10;

/// The records read so far, page by page.
pub(crate) struct PagedResults {
    pub(crate) result: SourceResult,
    limit: usize,
    page_size: usize,
    records_read: usize,
    is_finished: bool,
    requests: Vec<FetchRequest>,
}

impl PagedResults {
    /// An empty collection for `limit` records, read in pages of at most `page_size`.
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

    /// The number of records to request on the next page; `None` if no page is needed.
    pub(crate) fn next_page_size(&self) -> Option<usize> {
        let left = self.limit.saturating_sub(self.result.articles.len());
        let more = left > 0 && !self.is_finished && self.requests.len() < MAX_PAGES;
        more.then(|| left.min(self.page_size))
    }

    /// The number of records received so far, readable or not.
    pub(crate) fn records_read(&self) -> usize {
        self.records_read
    }

    /// Adds a page of records and counts the unreadable ones. A page without records is the last.
    pub(crate) fn add_page<T>(
        &mut self,
        response: &ApiResponse<T>,
        records: impl IntoIterator<Item = Option<Article>>,
    ) {
        self.record_response(response);
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

    /// Remembers the request of a page and whether its response came from the cache.
    pub(crate) fn record_response<T>(&mut self, got: &ApiResponse<T>) {
        self.result.from_cache =
            got.from_cache && (self.requests.is_empty() || self.result.from_cache);
        self.requests.push(got.request.clone());
    }

    /// Marks the last page as read.
    pub(crate) fn finish(&mut self) {
        self.is_finished = true;
    }

    /// Returns the result. It is an error if there are records and none can be read.
    pub(crate) async fn into_result(
        mut self,
        limit: usize,
        api: &SourceApiClient,
    ) -> Result<SourceResult, HttpClientError> {
        let said = self.result.total.unwrap_or(0);
        if self.result.articles.is_empty() && (self.records_read > 0 || said > 0) {
            let reason = format!(
                "it lists {} papers, and none of them can be read",
                said.max(1)
            );
            return Err(self.response_error(api, &reason).await);
        }
        self.result.articles.truncate(limit);
        Ok(self.result)
    }

    /// The error for unusable pages. They are removed from the cache.
    pub(crate) async fn response_error(
        &self,
        api: &SourceApiClient,
        reason: &str,
    ) -> HttpClientError {
        let asked: Vec<&FetchRequest> = self.requests.iter().collect();
        api.discard_responses(&asked, &Value::Null, reason).await
    }
}
