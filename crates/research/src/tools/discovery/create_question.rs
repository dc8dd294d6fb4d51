//! `create_research_question`.

use std::{cmp::Ordering, sync::Arc};

use deliberate_core::PartialDate;
use deliberate_toolkit::{About, Annotations, Call, Issue, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{default_user, look_at_questions::Shown};
use crate::{
    Lab,
    discover::{Frequency, Question, QuestionVersion, Questions, Schedule, chosen, compared},
    tools::shown::about,
};

/// `create_research_question`.
pub(crate) struct CreateResearchQuestion(pub(super) Arc<Lab>);

/// What it is called with.
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
    /// `*` is all
    #[serde(default = "all")]
    #[schemars(length(min = 1, max = 20), inner(length(max = 100)), extend("x-separated" = "words"))]
    selected_sources: Vec<String>,
    #[serde(default)]
    schedule_frequency: Frequency,
    #[serde(default = "at_three")]
    #[schemars(length(max = 20))]
    schedule_time: String,
    /// 1 is Monday; of weekly ones
    #[serde(default)]
    #[schemars(length(max = 7), inner(range(min = 1, max = 7)))]
    schedule_days_of_week: Vec<u8>,
    #[serde(default = "seven_tenths")]
    #[schemars(range(min = 0.0, max = 1.0))]
    min_relevance_score: f64,
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = 500))]
    max_articles_per_run: u32,
    /// Fetch and read open PDFs
    #[serde(default)]
    auto_download_enabled: bool,
    /// 0.7 without it
    #[schemars(range(min = 0.0, max = 1.0))]
    auto_download_min_score: Option<f64>,
    publication_date_range: Option<DateRange>,
}

/// From when to when.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct DateRange {
    pub(super) start: Option<PartialDate>,
    pub(super) end: Option<PartialDate>,
}

fn all() -> Vec<String> {
    vec!["*".to_owned()]
}

fn at_three() -> String {
    "03:00".to_owned()
}

pub(super) fn seven_tenths() -> f64 {
    0.7
}

fn fifty() -> u32 {
    50
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    /// The question
    question: Shown,
}

impl Tool for CreateResearchQuestion {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        about(
            "create_research_question",
            "Create research question",
            "Save a search that is run on a schedule; new papers that fit are kept",
            Annotations::ADDS,
        )
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let now = call.now();
        let range = input.publication_date_range;
        let (fetches, fetched_from) = (input.auto_download_enabled, input.auto_download_min_score);
        let idle = [
            idle_days(input.schedule_frequency, &input.schedule_days_of_week),
            idle_score(fetches, fetched_from),
        ];
        let mut question = Question {
            id: call.fresh(),
            user: input.user_id,
            name: input.name.trim().to_owned(),
            description: input.description,
            keywords: tidy(input.keywords),
            topics: tidy(input.topics),
            authors: tidy(input.authors),
            categories: Vec::new(),
            sources: input.selected_sources,
            schedule: Schedule {
                frequency: input.schedule_frequency,
                time: input.schedule_time,
                days_of_week: input.schedule_days_of_week,
            },
            min_relevance: input.min_relevance_score,
            max_articles: input.max_articles_per_run,
            download_from: fetches.then(|| fetched_from.unwrap_or_else(seven_tenths)),
            from: range.and_then(|it| it.start),
            to: range.and_then(|it| it.end),
            active: true,
            is_source: false,
            answered_by: Vec::new(),
            created_at: now,
            last_run: None,
            next_run: None,
        };
        check(&self.0, &question, idle.into_iter().flatten())?;
        taken(call, &question).await?;
        question.plan(now);
        let shown = Shown::of(&question);
        let version = QuestionVersion {
            question,
            version: 0,
        };
        Ok(Outcome {
            output: Output {
                said: format!("The question is saved.\n\n{}", shown.said()),
                question: shown,
            },
            changes: vec![version.put(now)],
            session: None,
        })
    }
}

/// Each once, without those that say nothing.
pub(super) fn tidy(list: Vec<String>) -> Vec<String> {
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

/// What is wrong with a name, if anything is.
pub(super) fn wrong_name(name: &str) -> Option<Issue> {
    if name.trim().is_empty() {
        return Some(Issue::new("name", "must not be empty"));
    }
    let rule = "must be on one line, without control characters";
    name.chars()
        .any(char::is_control)
        .then(|| Issue::new("name", rule))
}

/// Days are those of weekly questions: given to another, they would come to nothing unseen.
pub(super) fn idle_days(frequency: Frequency, days: &[u8]) -> Option<Issue> {
    let rule = "is of use only with schedule_frequency weekly; set that, too";
    let idle = frequency != Frequency::Weekly && !days.is_empty();
    idle.then(|| Issue::new("schedule_days_of_week", rule))
}

/// The same of a score to fetch files from, where none are fetched.
pub(super) fn idle_score(fetches: bool, from: Option<f64>) -> Option<Issue> {
    let rule = "is of use only with auto_download_enabled; set that, too";
    let idle = from.is_some() && !fetches;
    idle.then(|| Issue::new("auto_download_min_score", rule))
}

/// What no schema can say, beside what is known to be wrong already.
pub(super) fn check(
    lab: &Lab,
    question: &Question,
    wrong: impl IntoIterator<Item = Issue>,
) -> Result<(), ToolError> {
    let mut issues: Vec<Issue> = wrong.into_iter().collect();
    issues.extend(wrong_name(&question.name));
    if question.keywords.is_empty() && question.topics.is_empty() {
        issues.push(Issue::new(
            "keywords",
            "must hold at least one, or `topics` must",
        ));
    }
    if Schedule::time_of_day(&question.schedule.time).is_none() {
        let rule = "must be a time of day, such as 03:00";
        issues
            .push(Issue::new("schedule_time", rule).given(&question.schedule.time.as_str().into()));
    }
    if let (Some(from), Some(to)) = (question.from, question.to)
        && compared(from, to) == Ordering::Greater
    {
        issues.push(Issue::new(
            "publication_date_range",
            "must not end before it begins",
        ));
    }
    if issues.is_empty() {
        chosen(lab.sources(), &question.sources)?;
        return Ok(());
    }
    Err(ToolError::Invalid(issues))
}

/// A name that another question of the user has.
pub(super) async fn taken(call: &Call, question: &Question) -> Result<(), ToolError> {
    let questions = Questions(call.store());
    if questions
        .has(&question.user, &question.name, question.is_source)
        .await?
    {
        let rule = "is the name of another one, which may be inactive; choose another, or change \
                    that one";
        let issue = Issue::new("name", rule).given(&question.name.as_str().into());
        return Err(ToolError::Invalid(vec![issue]));
    }
    Ok(())
}
