//! Searches several sources concurrently, fuses their rankings, merges records of the same paper,
//! and reports on each source. A source that failed is never reported as one that found nothing.

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

/// The callback that receives each source's report as soon as the source is done.
pub type OnSourceReport = Arc<dyn Fn(&SourceReport) + Send + Sync>;

/// The options of a search.
#[derive(Clone)]
pub struct PaperSearchOptions {
    /// The number of papers requested from each source.
    pub per_source: usize,
    /// The timeout of each source.
    pub timeout: Duration,
    /// The constant of reciprocal rank fusion: the larger, the less the first ranks count.
    pub rank_constant: f64,
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
    /// The default options with this number of papers per source.
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

/// The papers found and the report of each source.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct PaperSearchResult {
    /// The papers, best first, or newest first if the query says so.
    pub papers: Vec<RankedPaper>,
    /// The reports in the order of the sources.
    pub reports: Vec<SourceReport>,
}

impl PaperSearchResult {
    /// Whether no source answered, so that "nothing found" would be wrong.
    pub fn all_failed(&self) -> bool {
        !self.reports.iter().any(SourceReport::is_ok)
    }
}

/// A paper with its rank.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RankedPaper {
    /// The merged record of all sources.
    pub article: Article,
    /// The fused score of the sources' rankings.
    pub score: f64,
    /// The rank in each source, from 1.
    pub ranks: BTreeMap<String, u32>,
    /// The number of merged duplicates.
    pub duplicates: u32,
}

/// Searches all sources concurrently and merges their results. The options set the number of papers
/// per source; the limit of the query is ignored.
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

/// Searches each source with its own query.
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
        // The ranks of different sources' newest papers are not comparable, so the date decides.
        // Papers without a date come last.
        papers.sort_by_key(|it| Reverse(it.article.date));
    }
    PaperSearchResult { papers, reports }
}

/// Searches one source within the timeout.
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

/// Whether the date shown for a paper is in the range. Sources have several dates of a paper and
/// may search by another one. A paper without a date is kept.
fn is_in_date_range(article: &Article, query: &PaperQuery) -> bool {
    let is = |date: PartialDate, edge: Option<PartialDate>, not: Ordering| {
        edge.is_none_or(|edge| compare_dates(date, edge) != not)
    };
    article.date.is_none_or(|date| {
        is(date, query.from, Ordering::Less) && is(date, query.to, Ordering::Greater)
    })
}
