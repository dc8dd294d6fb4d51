//! One question to several sources at once: each in its own time, their orders fused, the same
//! paper from several made one, and a word from each source on how it went. A source that failed
//! is never taken for one that found nothing.

mod dedup_keys;
pub mod rank_fusion;
mod source_report;

use std::{
    cmp::{Ordering, Reverse},
    collections::BTreeMap,
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use deliberate_core::{Article, PartialDate};
use schemars::JsonSchema;
use serde::Serialize;

use super::compare_dates;
use crate::{
    http::HttpClientError,
    sources::{PaperOrder, PaperQuery, PaperSource, SourceResult},
};

pub use dedup_keys::dedup_keys;
pub use rank_fusion::fuse;
pub use source_report::{SourceOutcome, SourceReport};

/// Hears of each source as soon as it is done.
pub type OnSourceReport = Arc<dyn Fn(&SourceReport) + Send + Sync>;

/// How sources are asked together.
#[derive(Clone)]
pub struct PaperSearchOptions {
    /// How many papers each is asked for.
    pub per_source: usize,
    /// How long each may take.
    pub timeout: Duration,
    /// The constant of the fusion: the larger, the less the first places count.
    pub rank_constant: f64,
    /// Hears of each source as soon as it is done.
    pub on_progress: Option<OnSourceReport>,
}

impl Default for PaperSearchOptions {
    fn default() -> Self {
        Self {
            per_source: 20,
            timeout: Duration::from_secs(30),
            rank_constant: 60.0,
            on_progress: None,
        }
    }
}

impl PaperSearchOptions {
    /// As usual, with so many papers from each source.
    pub fn with_limit(per_source: usize) -> Self {
        Self {
            per_source,
            ..Self::default()
        }
    }
}

impl fmt::Debug for PaperSearchOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PaperSearchOptions")
            .field("per_source", &self.per_source)
            .field("time", &self.timeout)
            .field("rank_constant", &self.rank_constant)
            .finish_non_exhaustive()
    }
}

/// What was found, and how it went.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct PaperSearchResult {
    /// The papers, best first; the newest first where that was asked for.
    pub papers: Vec<RankedPaper>,
    /// A word from each source, in the order in which they were given.
    pub reports: Vec<SourceReport>,
}

impl PaperSearchResult {
    /// Whether no source answered, so that "nothing found" would be a lie.
    pub fn all_failed(&self) -> bool {
        !self.reports.iter().any(SourceReport::is_ok)
    }
}

/// A paper that was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RankedPaper {
    /// The paper, with all that the sources say of it.
    pub article: Article,
    /// How well it fits, as the sources' orders together say.
    pub score: f64,
    /// Its place with each source, from 1.
    pub ranks: BTreeMap<String, u32>,
    /// How many further records were of the same paper.
    pub duplicates: u32,
}

/// Asks all sources at once and makes one list of what they find. How many each is asked for is in
/// the options; the question's own limit does not matter here.
pub async fn search(
    sources: &[Arc<dyn PaperSource>],
    query: &PaperQuery,
    options: &PaperSearchOptions,
) -> PaperSearchResult {
    let asked: Vec<_> = sources
        .iter()
        .map(|it| (it.clone(), query.clone()))
        .collect();
    search_with_queries(&asked, options).await
}

/// The same, each source with a question of its own.
pub async fn search_with_queries(
    asked: &[(Arc<dyn PaperSource>, PaperQuery)],
    options: &PaperSearchOptions,
) -> PaperSearchResult {
    let by_date = asked
        .iter()
        .all(|(_, query)| query.order == PaperOrder::Newest);
    let asked = asked
        .iter()
        .map(|(source, query)| search_source(source.as_ref(), query, options));
    let answers = futures::future::join_all(asked).await;
    let (found, reports): (Vec<_>, Vec<_>) = answers.into_iter().unzip();
    let mut papers = fuse(found, options.rank_constant);
    if by_date {
        // A place among the newest of one source says nothing of those of another. Papers without
        // a date come last.
        papers.sort_by_key(|it| Reverse(it.article.date));
    }
    PaperSearchResult { papers, reports }
}

/// Asks one source, within its time.
async fn search_source(
    source: &dyn PaperSource,
    query: &PaperQuery,
    options: &PaperSearchOptions,
) -> ((String, Vec<Article>), SourceReport) {
    let name = source.info().name;
    let began = Instant::now();
    let query = PaperQuery {
        limit: options.per_source,
        ..query.clone()
    };
    let answer = tokio::time::timeout(options.timeout, source.search(&query)).await;
    let answer = answer.unwrap_or_else(|_| {
        Err(HttpClientError::Timeout {
            host: name.clone(),
            timeout: options.timeout,
        })
    });
    let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (found, outcome) = match answer {
        Ok(mut found) => {
            found.articles.retain(|it| is_in_date_range(it, &query));
            found.articles.truncate(options.per_source);
            let (count, total) = (found.articles.len(), found.total);
            (found, SourceOutcome::Ok { count, total })
        }
        Err(error) => (SourceResult::default(), SourceOutcome::from(&error)),
    };
    let report = SourceReport {
        source: name.clone(),
        outcome,
        took_ms,
        ignored: found.ignored.iter().map(|it| (*it).to_owned()).collect(),
        skipped: found.skipped,
        kept: found.from_cache,
    };
    if let Some(tell) = &options.on_progress {
        tell(&report);
    }
    ((name, found.articles), report)
}

/// Whether a paper is of the time that is asked for, by the date it is shown with: sources have
/// several of a paper, and search by another. One without a date may be.
fn is_in_date_range(article: &Article, query: &PaperQuery) -> bool {
    let is = |date: PartialDate, edge: Option<PartialDate>, not: Ordering| {
        edge.is_none_or(|edge| compare_dates(date, edge) != not)
    };
    article.date.is_none_or(|date| {
        is(date, query.from, Ordering::Less) && is(date, query.to, Ordering::Greater)
    })
}
