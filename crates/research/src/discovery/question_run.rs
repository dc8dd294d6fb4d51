//! One run of a question: sources are asked, what they found is scored, what fits is kept.

use std::{cmp::Ordering, sync::Arc, time::Instant};

use deliberate_core::{Article, Change, PartialDate, Timestamp};
use deliberate_toolkit::{ToolContext, ToolError};
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

/// What is wanted of a run, beside what the question says.
#[derive(Debug, Clone, Copy, Default)]
pub struct QuestionRunOptions {
    /// How many papers are looked at.
    pub max_articles: Option<u32>,
    /// Old ones, too, although they were looked at before.
    pub include_old: bool,
}

/// The most PDFs that are fetched after one run; what is left is fetched after the next.
const MAX_PDFS_PER_RUN: usize = 25;

/// Papers come to sources long after they appeared; what is asked again goes back so far behind the
/// last run.
const LATE_INDEXING_DAYS: i64 = 120;

/// What a run came to.
#[derive(Debug, Clone)]
pub struct QuestionRunResult {
    /// What is to be kept: papers, matches, the question's record.
    pub changes: Vec<Change>,
    /// The record.
    pub record: QuestionRunRecord,
    /// Papers that fit, the most relevant first.
    pub matches: Vec<QuestionMatch>,
    /// How each source answered.
    pub reports: Vec<SourceReport>,
    /// Articles whose PDFs are to be fetched, by their ids.
    pub to_fetch: Vec<String>,
}

/// What the sources had, as it is kept while somebody thinks about it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct FetchedPapers {
    articles: Vec<Article>,
    reports: Vec<SourceReport>,
}

/// Runs a question.
pub async fn run_question(
    lab: &ResearchServices,
    call: &ToolContext,
    version: &VersionedQuestion,
    wish: QuestionRunOptions,
) -> Result<QuestionRunResult, ToolError> {
    let begun = Instant::now();
    let question = &version.question;
    // What is new is not among the answers kept from before.
    let sources = select_sources(lab.uncached_sources(), &question.sources)?;
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

/// From when on papers are asked for of sources that answered the question before: those that fit
/// best would be the same for ever. All of them, if its own window ends before that.
fn incremental_start(question: &ResearchQuestion, now: Timestamp) -> Option<PartialDate> {
    let last = question.last_run.as_ref()?;
    // A run in the time to come was by a clock that was wrong.
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

/// Those of these names among the sources, however they are written; `*` is all.
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
        code: "SourceNotFound".to_owned(),
        message: format!(
            "there is no source named {:?}",
            deliberate_core::truncate_chars(name, 80)
        ),
        hint: Some(format!(
            "There are {}; `*` is all of them.",
            names.join(", ")
        )),
    }
}

/// Nothing was found because nobody could be asked: that is no empty answer.
pub(crate) fn all_failed_error(reports: &[SourceReport]) -> ToolError {
    let problems: Vec<String> = reports.iter().filter_map(SourceReport::problem).collect();
    let wait = reports.iter().filter_map(SourceReport::wait_seconds).min();
    ToolError::Custom {
        code: "SourcesFailed".to_owned(),
        message: format!("no source could be asked: {}", problems.join("; ")),
        hint: Some(match wait {
            Some(wait) => format!("Ask again in {wait} s."),
            None => "Check the connection to the net, or name other sources.".to_owned(),
        }),
    }
}

/// What each source is asked: one that did not answer before has more to tell.
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

/// The end of the time that the newest are looked for in, where nobody says: issues are dated
/// ahead, and records with a year far off would be the newest for ever.
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

/// How relevant each is. All that a saved source finds is what was asked for.
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

/// What a saved source finds needs no judge.
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
