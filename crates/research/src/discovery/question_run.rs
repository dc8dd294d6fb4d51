//! One run of a research question: searches the sources, scores the papers, and records the
//! matches.

use std::{cmp::Ordering, sync::Arc, time::Instant};

use deliberate_core::{Article, Change, PartialDate, Timestamp};
use deliberate_toolkit::{ErrorCode, ToolContext, ToolError};
use serde::{Deserialize, Serialize};

use super::{
    QuestionMatch, QuestionRunRecord, ResearchQuestion, VersionedQuestion, compare_dates,
    match_recorder::MatchRecorder,
    search::{PaperSearchOptions, SourceReport, search_with_queries},
};
use crate::{
    ResearchServices,
    answer::{Relevance, RelevanceQuery, ScoredBy, score_relevance},
    pdf_locator::normalize_source_name,
    sources::{PaperOrder, PaperQuery, PaperSource},
};

/// The options of one run.
#[derive(Debug, Clone, Copy, Default)]
pub struct QuestionRunOptions {
    /// The most papers to examine, in place of the question's own limit.
    pub max_articles: Option<u32>,
    /// Whether papers that were examined before are included.
    pub include_old: bool,
}

/// The most PDFs fetched after one run; the rest is fetched after the next.
const MAX_PDFS_PER_RUN: usize = 25;

/// Sources index papers long after publication, so an incremental run goes back this far before the
/// last run.
const LATE_INDEXING_DAYS: i64 = 120;

/// The result of a run.
#[derive(Debug, Clone)]
pub struct QuestionRunResult {
    /// The changes to commit: papers, matches, and the run record of the question.
    pub changes: Vec<Change>,
    pub record: QuestionRunRecord,
    /// The matching papers, the most relevant first.
    pub matches: Vec<QuestionMatch>,
    /// The report of each source.
    pub reports: Vec<SourceReport>,
    /// The IDs of the articles whose PDFs are to be fetched.
    pub to_fetch: Vec<String>,
}

/// The papers of the sources, stored while a model scores them.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct FetchedPapers {
    articles: Vec<Article>,
    reports: Vec<SourceReport>,
}

/// Runs a question.
pub async fn run_question(
    services: &ResearchServices,
    call: &ToolContext,
    version: &VersionedQuestion,
    wish: QuestionRunOptions,
) -> Result<QuestionRunResult, ToolError> {
    let begun = Instant::now();
    let question = &version.question;
    // Cached responses do not contain new papers.
    let sources = select_sources(services.uncached_sources(), &question.sources)?;
    let most = wish
        .max_articles
        .unwrap_or(question.max_articles)
        .clamp(1, 500);
    let since = if wish.include_old {
        None
    } else {
        incremental_start(question, call.now())
    };
    call.progress(0.0, Some(3.0), &format!("asking {} sources", sources.len()));
    let asked = source_queries(&sources, question, since, call.now());
    let all_since = asked.iter().all(|(_, query)| query.from == since);
    let gathered = call
        .memoize_async("gathered", fetch_papers(&asked, most))
        .await;
    if gathered.reports.iter().all(|it| !it.is_ok()) {
        return Err(all_failed_error(&gathered.reports));
    }
    let articles = &gathered.articles;
    let what = format!("scoring {} papers", articles.len());
    call.progress(1.0, Some(3.0), &what);
    let mut keeping = MatchRecorder::new(call, question);
    let open = call.memoize("open", keeping.find_unscored(articles).await?);
    let to_score: Vec<&Article> = open.iter().filter_map(|at| articles.get(*at)).collect();
    let scores = score_articles(call, question, &to_score).await?;
    for (at, article) in articles.iter().enumerate() {
        if !open.contains(&at) {
            keeping.record_earlier_match(article).await?;
        }
    }
    for (article, score) in to_score.iter().zip(&scores) {
        keeping.record_match(article, score).await?;
    }
    let record = QuestionRunRecord {
        at: call.now().to_string(),
        found: saturating_u32(articles.len()),
        scored: saturating_u32(to_score.len()),
        matched: saturating_u32(keeping.matches.len()),
        new: keeping.new_count,
        seconds: begun.elapsed().as_secs_f64(),
        since: since.filter(|_| all_since).map(|it| it.to_string()),
        problems: gathered
            .reports
            .iter()
            .filter_map(SourceReport::problem)
            .collect(),
    };
    let to_fetch = keeping.take_pdf_candidates(MAX_PDFS_PER_RUN);
    let mut changes = keeping.changes;
    changes.push(record_run(version, &record, &gathered.reports, call.now()));
    let mut matches = keeping.matches;
    matches.sort_by(|one, other| other.score.total_cmp(&one.score));
    Ok(QuestionRunResult {
        changes,
        record,
        matches,
        reports: gathered.reports,
        to_fetch,
    })
}

/// The start date for sources that already answered the question: without it the best matches would
/// be the same each time. `None` if the question's own date range ends earlier.
fn incremental_start(question: &ResearchQuestion, now: Timestamp) -> Option<PartialDate> {
    let last = question.last_run.as_ref()?;
    // A run in the future was recorded by a wrong clock.
    let at = Timestamp::parse(&last.at)?.as_micros().min(now.as_micros());
    let from = Timestamp::from_micros(at.saturating_sub(LATE_INDEXING_DAYS * 86_400_000_000));
    let from = PartialDate::parse(&from.to_string())?;
    let after_from = question
        .from
        .is_some_and(|own| compare_dates(own, from) != Ordering::Less);
    let before_end = question
        .to
        .is_none_or(|to| compare_dates(to, from) == Ordering::Greater);
    (!question.is_source && before_end && !after_from).then_some(from)
}

fn saturating_u32(many: usize) -> u32 {
    u32::try_from(many).unwrap_or(u32::MAX)
}

/// The sources with these names in any spelling; `*` means all.
pub(crate) fn select_sources(
    sources: &[Arc<dyn PaperSource>],
    names: &[String],
) -> Result<Vec<Arc<dyn PaperSource>>, ToolError> {
    if names.is_empty() || names.iter().any(|it| it.trim() == "*") {
        return Ok(sources.to_vec());
    }
    let mut all: Vec<Arc<dyn PaperSource>> = Vec::new();
    for name in names {
        let wanted = normalize_source_name(name);
        let found = sources
            .iter()
            .find(|it| normalize_source_name(&it.info().name) == wanted);
        let found = found.ok_or_else(|| unknown_source_error(sources, name))?;
        if !all.iter().any(|it| Arc::ptr_eq(it, found)) {
            all.push(found.clone());
        }
    }
    Ok(all)
}

fn unknown_source_error(sources: &[Arc<dyn PaperSource>], name: &str) -> ToolError {
    let names: Vec<String> = sources.iter().map(|it| it.info().name).collect();
    ToolError::Custom {
        code: ErrorCode::SourceNotFound,
        message: format!(
            "there is no source named {:?}",
            deliberate_core::truncate_chars(name, 80)
        ),
        hint: Some(format!(
            "The sources are {}; `*` means all of them.",
            names.join(", ")
        )),
    }
}

/// The error if every source failed, which differs from an empty result.
pub(crate) fn all_failed_error(reports: &[SourceReport]) -> ToolError {
    let problems: Vec<String> = reports.iter().filter_map(SourceReport::problem).collect();
    let wait = reports.iter().filter_map(SourceReport::wait_seconds).min();
    ToolError::Custom {
        code: ErrorCode::SourcesFailed,
        message: format!("all sources failed: {}", problems.join("; ")),
        hint: Some(match wait {
            Some(wait) => format!("Retry in {wait} s."),
            None => "Check the internet connection or name other sources.".to_owned(),
        }),
    }
}

/// The query for each source. A source that has not answered before gets the full date range.
fn source_queries(
    sources: &[Arc<dyn PaperSource>],
    question: &ResearchQuestion,
    since: Option<PartialDate>,
    now: Timestamp,
) -> Vec<(Arc<dyn PaperSource>, PaperQuery)> {
    let order = if question.is_source {
        PaperOrder::Newest
    } else {
        PaperOrder::Relevance
    };
    let query = PaperQuery {
        words: String::new(),
        phrases: question
            .keywords
            .iter()
            .chain(&question.topics)
            .cloned()
            .collect(),
        authors: Vec::new(),
        venue: None,
        categories: question.categories.clone(),
        from: question.from,
        to: question.to.or_else(|| default_end_date(order, now)),
        limit: 0,
        order,
    };
    let of = |source: &Arc<dyn PaperSource>| {
        let answered = question.answered_by.contains(&source.info().name);
        let from = since.filter(|_| answered).or(question.from);
        let query = PaperQuery {
            from,
            ..query.clone()
        };
        (source.clone(), query)
    };
    sources.iter().map(of).collect()
}

/// The default end of the date range when the newest papers are wanted: issues are dated ahead, and
/// records with a wrong year far ahead would always be the newest.
pub(crate) fn default_end_date(order: PaperOrder, now: Timestamp) -> Option<PartialDate> {
    let today = PartialDate::parse(&now.to_string())?;
    let next_year = PartialDate::new(i32::from(today.year) + 1, None, None);
    next_year.filter(|_| order == PaperOrder::Newest)
}

async fn fetch_papers(asked: &[(Arc<dyn PaperSource>, PaperQuery)], most: u32) -> FetchedPapers {
    let limit = usize::try_from(most).unwrap_or(500);
    let found = search_with_queries(asked, &PaperSearchOptions::with_limit(limit)).await;
    let articles = found.papers.into_iter().map(|it| it.article);
    FetchedPapers {
        articles: articles.take(limit).collect(),
        reports: found.reports,
    }
}

/// Scores the papers. All results of a saved source are relevant.
async fn score_articles(
    call: &ToolContext,
    question: &ResearchQuestion,
    articles: &[&Article],
) -> Result<Vec<Relevance>, ToolError> {
    if question.is_source {
        return Ok(articles
            .iter()
            .map(|_| saved_source_relevance(question))
            .collect());
    }
    let like = RelevanceQuery {
        name: question.name.clone(),
        description: Some(question.description.clone()).filter(|it| !it.is_empty()),
        keywords: question.keywords.clone(),
        topics: question.topics.clone(),
        authors: question.authors.clone(),
    };
    score_relevance(call, &like, articles).await
}

/// The relevance of a saved source's results, which are not scored.
fn saved_source_relevance(question: &ResearchQuestion) -> Relevance {
    Relevance {
        score: 1.0,
        matched_keywords: Vec::new(),
        reasoning: format!("The saved source {:?} found it.", question.name),
        by: ScoredBy::Words,
    }
}

fn record_run(
    version: &VersionedQuestion,
    record: &QuestionRunRecord,
    reports: &[SourceReport],
    now: Timestamp,
) -> Change {
    let mut noted = version.clone();
    noted.question.last_run = Some(record.clone());
    let answered_by = &mut noted.question.answered_by;
    for report in reports.iter().filter(|it| it.is_ok()) {
        if !answered_by.contains(&report.source) {
            answered_by.push(report.source.clone());
        }
    }
    noted.question.schedule_next(now);
    noted.put_change(now)
}
