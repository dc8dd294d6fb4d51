//! Pages of records until there are enough: what was read of them, and whether to go on.

use deliberate_core::Article;
use serde_json::Value;

use crate::{
    sources::SourceFound,
    web::{Request, WebError},
};

use super::ask::{Api, Got};

/// The most pages of one question, whatever is on them.
const PAGES: usize = 10;

/// What was read of a list of records, page by page.
pub(crate) struct Gathered {
    pub(crate) found: SourceFound,
    wanted: usize,
    a_page: usize,
    seen: usize,
    ended: bool,
    asked: Vec<Request>,
}

impl Gathered {
    /// Nothing yet of so many that are wanted, at most so many on a page.
    pub(crate) fn of(wanted: usize, a_page: usize) -> Self {
        Self {
            found: SourceFound::default(),
            wanted,
            a_page,
            seen: 0,
            ended: false,
            asked: Vec::new(),
        }
    }

    /// How many are to be asked for on the next page; `None` if there is to be none.
    pub(crate) fn next_page(&self) -> Option<usize> {
        let left = self.wanted.saturating_sub(self.found.articles.len());
        let more = left > 0 && !self.ended && self.asked.len() < PAGES;
        more.then(|| left.min(self.a_page))
    }

    /// How many records came so far, whether they could be read or not.
    pub(crate) fn seen(&self) -> usize {
        self.seen
    }

    /// Takes in a page of records; those that can't be read are counted. One without any is the
    /// last.
    pub(crate) fn add<T>(
        &mut self,
        got: &Got<T>,
        records: impl IntoIterator<Item = Option<Article>>,
    ) {
        self.note(got);
        let before = self.seen;
        for record in records {
            self.seen += 1;
            match record {
                Some(article) => self.found.articles.push(article),
                None => self.found.skipped += 1,
            }
        }
        self.ended |= self.seen == before;
    }

    /// Takes note of where a page came from.
    pub(crate) fn note<T>(&mut self, got: &Got<T>) {
        self.found.kept = got.kept && (self.asked.is_empty() || self.found.kept);
        self.asked.push(got.request.clone());
    }

    /// There are no more pages.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    /// What was found. Records of which none can be read are no empty result.
    pub(crate) async fn done(mut self, limit: usize, api: &Api) -> Result<SourceFound, WebError> {
        let said = self.found.total.unwrap_or(0);
        if self.found.articles.is_empty() && (self.seen > 0 || said > 0) {
            let reason = format!("it speaks of {} papers, and none can be read", said.max(1));
            return Err(self.refused(api, &reason).await);
        }
        self.found.articles.truncate(limit);
        Ok(self.found)
    }

    /// The error of pages that are no answer. They are not used again.
    pub(crate) async fn refused(&self, api: &Api, reason: &str) -> WebError {
        let asked: Vec<&Request> = self.asked.iter().collect();
        api.disowned(&asked, &Value::Null, reason).await
    }
}
