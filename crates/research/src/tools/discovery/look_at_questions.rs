//! `list_research_questions` and `get_research_question`.

use std::fmt::Write as _;

use deliberate_store::Page;
use deliberate_toolkit::{About, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::default_user;
use crate::{
    discover::{Match, Question, Questions, RunRecord},
    tools::shown::{only_read, plain, reads},
};

/// `list_research_questions`.
pub(crate) struct ListResearchQuestions;

/// `get_research_question`.
pub(crate) struct GetResearchQuestion;

/// What the list is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListInput {
    #[serde(default = "default_user")]
    user_id: String,
    #[serde(default = "yes")]
    active_only: bool,
}

fn yes() -> bool {
    true
}

/// What the list answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListOutput {
    said: String,
    /// The last made first
    questions: Vec<Shown>,
}

/// What one is asked for with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetInput {
    question_id: String,
    #[serde(default = "default_user")]
    user_id: String,
    /// Papers that are shown
    #[serde(default = "twenty")]
    #[schemars(range(min = 0, max = 500))]
    max_matches: u32,
}

fn twenty() -> u32 {
    20
}

/// One question.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GetOutput {
    said: String,
    /// The question
    question: Shown,
    /// Papers it found, the most relevant first
    matches: Vec<Match>,
    /// How many there are in all
    total_matches: u64,
}

/// A question, as it is shown.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Shown {
    question_id: String,
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
    keywords: Vec<String>,
    topics: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authors: Vec<String>,
    selected_sources: Vec<String>,
    schedule: String,
    min_relevance_score: f64,
    max_articles_per_run: u32,
    auto_download_min_score: Option<f64>,
    published_from: Option<String>,
    published_to: Option<String>,
    is_active: bool,
    created_at: String,
    last_run: Option<RunRecord>,
    next_run: Option<String>,
}

impl Shown {
    pub(super) fn of(question: &Question) -> Self {
        let question = question.clone();
        Self {
            question_id: question.id,
            name: question.name,
            description: question.description,
            keywords: question.keywords,
            topics: question.topics,
            authors: question.authors,
            selected_sources: question.sources,
            schedule: question.schedule.said(),
            min_relevance_score: question.min_relevance,
            max_articles_per_run: question.max_articles,
            auto_download_min_score: question.download_from,
            published_from: question.from.map(|it| it.to_string()),
            published_to: question.to.map(|it| it.to_string()),
            is_active: question.active,
            created_at: question.created_at.to_string(),
            last_run: question.last_run,
            next_run: question
                .next_run
                .filter(|_| question.active)
                .map(|it| it.to_string()),
        }
    }

    /// As it is read.
    pub(super) fn said(&self) -> String {
        let mut text = format!("## {}\n\n", self.name);
        if !self.description.is_empty() {
            let _ = writeln!(text, "{}\n", self.description);
        }
        let mut line = |name: &str, value: String| {
            if !value.is_empty() {
                let _ = writeln!(text, "- {name}: {value}");
            }
        };
        line("id", self.question_id.clone());
        line("keywords", self.keywords.join(", "));
        line("topics", self.topics.join(", "));
        line("authors", self.authors.join(", "));
        line("sources", self.selected_sources.join(", "));
        line("asked", self.schedule.clone());
        line("relevance from", self.min_relevance_score.to_string());
        line("papers a run", self.max_articles_per_run.to_string());
        let fetched = self.auto_download_min_score;
        let fetched = fetched.map(|it| format!("from relevance {it} on"));
        line("open PDFs are fetched", fetched.unwrap_or_default());
        line(
            "published from",
            self.published_from.clone().unwrap_or_default(),
        );
        line(
            "published to",
            self.published_to.clone().unwrap_or_default(),
        );
        line(
            "active",
            if self.is_active { "yes" } else { "no" }.to_owned(),
        );
        line("next run", self.next_run.clone().unwrap_or_default());
        if let Some(run) = &self.last_run {
            line("last run", format!("{}: {}", run.at, run.said()));
        }
        text
    }
}

impl RunRecord {
    /// As it is read.
    pub(crate) fn said(&self) -> String {
        let mut text = format!(
            "{} found, {} scored, {} fit, {} of them new, in {:.1} s",
            self.found, self.scored, self.matched, self.new, self.seconds
        );
        if let Some(since) = &self.since {
            let _ = write!(text, ", of papers since {since}");
        }
        if !self.problems.is_empty() {
            let _ = write!(text, " ({})", self.problems.join("; "));
        }
        text
    }
}

impl Tool for ListResearchQuestions {
    type Input = ListInput;
    type Output = ListOutput;

    fn about(&self) -> About {
        reads(
            "list_research_questions",
            "List research questions",
            "Saved questions with their ids and schedules",
        )
    }

    async fn run(&self, input: ListInput, call: &Call) -> Result<Outcome<ListOutput>, ToolError> {
        let questions = Questions(call.store());
        let found = questions
            .of(&input.user_id, false, input.active_only)
            .await?;
        let questions: Vec<Shown> = found.iter().map(|it| Shown::of(&it.question)).collect();
        let said = match questions.len() {
            0 => "There are no questions. create_research_question saves one.".to_owned(),
            _ => questions
                .iter()
                .map(Shown::said)
                .collect::<Vec<_>>()
                .join("\n"),
        };
        Ok(only_read(ListOutput { said, questions }))
    }
}

impl Tool for GetResearchQuestion {
    type Input = GetInput;
    type Output = GetOutput;

    fn about(&self) -> About {
        reads(
            "get_research_question",
            "Get research question",
            "A saved question and the papers it found",
        )
    }

    async fn run(&self, input: GetInput, call: &Call) -> Result<Outcome<GetOutput>, ToolError> {
        let store = call.store();
        let version = Questions(store)
            .get(&input.question_id, &input.user_id)
            .await?;
        let id = &version.question.id;
        let matches = Match::of(store, id, Page::first(input.max_matches)).await?;
        let total_matches = Match::count(store, id).await?;
        let question = Shown::of(&version.question);
        let mut said = question.said();
        said.push_str(&told(&matches, total_matches));
        Ok(only_read(GetOutput {
            said,
            question,
            matches,
            total_matches,
        }))
    }
}

/// Matches, as they are read.
pub(super) fn told(matches: &[Match], total: u64) -> String {
    let mut text = format!("\n### Papers that fit ({total})\n\n");
    for found in matches {
        let _ = writeln!(
            text,
            "- {:.2} **{}** (`{}`, by {}): {}",
            found.score,
            plain(&found.title),
            found.article_id,
            found.scored_by,
            plain(&found.reasoning)
        );
    }
    text
}
