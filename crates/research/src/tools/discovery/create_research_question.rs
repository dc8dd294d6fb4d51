//! The `create_research_question` tool: saves a question that is searched on a schedule.

use std::{cmp::Ordering, sync::Arc};

use deliberate_core::PartialDate;
use deliberate_toolkit::{
    ArgumentIssue, Schedule, ScheduleFrequency, Tool, ToolContext, ToolError, ToolHints, ToolMeta,
    ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{default_user, get_research_question::QuestionView};
use crate::{
    ResearchServices,
    discovery::{
        QuestionRepository, ResearchQuestion, VersionedQuestion, compare_dates, select_sources,
    },
    tools::rendering::tool_meta,
};

/// The `create_research_question` tool.
pub(crate) struct CreateResearchQuestion(pub(super) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[serde(default = "default_user")]
    #[schemars(length(max = 100))]
    user_id: String,
    #[schemars(length(min = 1, max = 255))]
    name: String,
    #[serde(default)]
    #[schemars(length(max = 4000))]
    description: String,
    #[serde(default)]
    #[schemars(length(max = 50), inner(length(max = 200)), extend("x-separated" = "words"))]
    keywords: Vec<String>,
    #[serde(default)]
    #[schemars(length(max = 50), inner(length(max = 200)), extend("x-separated" = "words"))]
    topics: Vec<String>,
    /// Preferred authors
    #[serde(default)]
    #[schemars(length(max = 50), inner(length(max = 200)), extend("x-separated" = "families"))]
    authors: Vec<String>,
    /// `*` means all
    #[serde(default = "default_sources")]
    #[schemars(length(min = 1, max = 20), inner(length(max = 100)), extend("x-separated" = "words"))]
    selected_sources: Vec<String>,
    #[serde(default)]
    schedule_frequency: ScheduleFrequency,
    #[serde(default = "default_schedule_time")]
    #[schemars(length(max = 20))]
    schedule_time: String,
    /// 1 is Monday; only for weekly
    #[serde(default)]
    #[schemars(length(max = 7), inner(range(min = 1, max = 7)))]
    schedule_days_of_week: Vec<u8>,
    #[serde(default = "default_min_relevance")]
    #[schemars(range(min = 0.0, max = 1.0))]
    min_relevance_score: f64,
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = 500))]
    max_articles_per_run: u32,
    /// Download and read open PDFs
    #[serde(default)]
    auto_download_enabled: bool,
    /// Default 0.7
    #[schemars(range(min = 0.0, max = 1.0))]
    auto_download_min_score: Option<f64>,
    publication_date_range: Option<DateRange>,
}

/// Range of dates.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct DateRange {
    pub(super) start: Option<PartialDate>,
    pub(super) end: Option<PartialDate>,
}

fn default_sources() -> Vec<String> {
    vec!["*".to_owned()]
}

fn default_schedule_time() -> String {
    "03:00".to_owned()
}

pub(super) fn default_min_relevance() -> f64 {
    0.7
}

fn fifty() -> u32 {
    50
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    question: QuestionView,
}

impl Tool for CreateResearchQuestion {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "create_research_question",
            "Create research question",
            "Save a search that runs on a schedule and stores new papers that match",
            ToolHints::ADDITIVE,
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let now = call.now();
        let range = input.publication_date_range;
        let (fetches, fetched_from) = (input.auto_download_enabled, input.auto_download_min_score);
        let idle = [
            unused_days_issue(input.schedule_frequency, &input.schedule_days_of_week),
            unused_score_issue(fetches, fetched_from),
        ];
        let mut question = ResearchQuestion {
            id: call.new_id(),
            user: input.user_id,
            name: input.name.trim().to_owned(),
            description: input.description,
            keywords: dedup_non_blank(input.keywords),
            topics: dedup_non_blank(input.topics),
            authors: dedup_non_blank(input.authors),
            categories: Vec::new(),
            sources: input.selected_sources,
            schedule: Schedule {
                frequency: input.schedule_frequency,
                time: input.schedule_time,
                days_of_week: input.schedule_days_of_week,
            },
            min_relevance: input.min_relevance_score,
            max_articles: input.max_articles_per_run,
            download_from: fetches.then(|| fetched_from.unwrap_or_else(default_min_relevance)),
            from: range.and_then(|it| it.start),
            to: range.and_then(|it| it.end),
            active: true,
            is_source: false,
            answered_by: Vec::new(),
            created_at: now,
            last_run: None,
            next_run: None,
        };
        validate_question(&self.0, &question, idle.into_iter().flatten())?;
        check_name_is_free(call, &question).await?;
        question.schedule_next(now);
        let shown = QuestionView::from_question(&question);
        let version = VersionedQuestion {
            question,
            version: 0,
        };
        Ok(ToolOutput {
            output: Output {
                said: format!("The question is saved.\n\n{}", shown.render_text()),
                question: shown,
            },
            changes: vec![version.put_change(now)],
            session: None,
        })
    }
}

/// Removes duplicates and blank items.
pub(super) fn dedup_non_blank(list: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for it in list {
        let words = it.split_whitespace().collect::<Vec<_>>().join(" ");
        let known = all
            .iter()
            .any(|it| it.to_lowercase() == words.to_lowercase());
        if words.chars().any(char::is_alphanumeric) && !known {
            all.push(words);
        }
    }
    all
}

/// Checks a question name.
pub(super) fn name_issue(name: &str) -> Option<ArgumentIssue> {
    if name.trim().is_empty() {
        return Some(ArgumentIssue::new("name", "must not be empty"));
    }
    let rule = "must be on one line, without control characters";
    name.chars()
        .any(char::is_control)
        .then(|| ArgumentIssue::new("name", rule))
}

/// Rejects weekdays of a question that is not weekly, because they would be ignored silently.
pub(super) fn unused_days_issue(
    frequency: ScheduleFrequency,
    days: &[u8],
) -> Option<ArgumentIssue> {
    let rule = "requires schedule_frequency weekly";
    let idle = frequency != ScheduleFrequency::Weekly && !days.is_empty();
    idle.then(|| ArgumentIssue::new("schedule_days_of_week", rule))
}

/// Rejects a download score of a question that downloads nothing, for the same reason.
pub(super) fn unused_score_issue(fetches: bool, from: Option<f64>) -> Option<ArgumentIssue> {
    let rule = "requires auto_download_enabled";
    let idle = from.is_some() && !fetches;
    idle.then(|| ArgumentIssue::new("auto_download_min_score", rule))
}

/// Checks what the schema cannot express, in addition to the given issues.
pub(super) fn validate_question(
    services: &ResearchServices,
    question: &ResearchQuestion,
    wrong: impl IntoIterator<Item = ArgumentIssue>,
) -> Result<(), ToolError> {
    let mut issues: Vec<ArgumentIssue> = wrong.into_iter().collect();
    issues.extend(name_issue(&question.name));
    if question.keywords.is_empty() && question.topics.is_empty() {
        issues.push(ArgumentIssue::new(
            "keywords",
            "must contain at least one, unless `topics` does",
        ));
    }
    if Schedule::parse_time_of_day(&question.schedule.time).is_none() {
        let rule = "must be a time of day, such as 03:00";
        issues.push(
            ArgumentIssue::new("schedule_time", rule)
                .with_value(&question.schedule.time.as_str().into()),
        );
    }
    if let (Some(from), Some(to)) = (question.from, question.to)
        && compare_dates(from, to) == Ordering::Greater
    {
        issues.push(ArgumentIssue::new(
            "publication_date_range",
            "must not end before it begins",
        ));
    }
    if issues.is_empty() {
        select_sources(services.sources(), &question.sources)?;
        return Ok(());
    }
    Err(ToolError::Invalid(issues))
}

/// Rejects a name that another question of the user has.
pub(super) async fn check_name_is_free(
    call: &ToolContext,
    question: &ResearchQuestion,
) -> Result<(), ToolError> {
    let questions = QuestionRepository(call.store());
    if questions
        .exists(&question.user, &question.name, question.is_source)
        .await?
    {
        let rule = "is the name of another question, which may be inactive; choose another name, or \
                    change that question";
        let issue = ArgumentIssue::new("name", rule).with_value(&question.name.as_str().into());
        return Err(ToolError::Invalid(vec![issue]));
    }
    Ok(())
}
