//! `list_research_questions` and `get_research_question`.

use std::fmt::Write as _;

use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::default_user;
use crate::{
    discovery::{
        MatchSummary, QuestionMatch, QuestionRepository, QuestionRunRecord, ResearchQuestion,
    },
    tools::rendering::{escape_markdown, pluralize, read_only_meta, read_only_output},
};

/// `list_research_questions`.
pub(crate) struct ListResearchQuestions;

/// `get_research_question`.
pub(crate) struct GetResearchQuestion;

/// What the list is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListQuestionsInput {
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
pub(crate) struct ListQuestionsOutput {
    said: String,
    /// The last made first
    questions: Vec<QuestionView>,
}

/// What one is asked for with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetQuestionInput {
    question_id: String,
    #[serde(default = "default_user")]
    user_id: String,
    /// Papers that are shown
    #[serde(default = "twenty")]
    #[schemars(range(min = 0, max = 500))]
    max_matches: u32,
}

pub(super) fn twenty() -> u32 {
    20
}

/// One question.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GetQuestionOutput {
    said: String,
    /// The question
    question: QuestionView,
    /// Papers that fit it as it is now, the most relevant first
    matches: Vec<QuestionMatch>,
    /// How many there are in all
    total_matches: u64,
    /// Papers it found before it was changed, which are not shown
    older_matches: u64,
}

/// A question, as it is shown.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct QuestionView {
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
    last_run: Option<QuestionRunRecord>,
    next_run: Option<String>,
}

impl QuestionView {
    pub(super) fn from_question(question: &ResearchQuestion) -> Self {
        let question = question.clone();
        Self {
            question_id: question.id,
            name: question.name,
            description: question.description,
            keywords: question.keywords,
            topics: question.topics,
            authors: question.authors,
            selected_sources: question.sources,
            schedule: question.schedule.describe(),
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
    pub(super) fn render_text(&self) -> String {
        let mut text = format!("## {}\n\n", self.name);
        if !self.description.is_empty() {
            let _ = writeln!(text, "{}\n", self.description);
        }
        let fetched = self.auto_download_min_score;
        let fetched = fetched.map(|it| format!("from relevance {it} on"));
        text.push_str(&render_fields(&[
            ("id", self.question_id.clone()),
            ("keywords", self.keywords.join(", ")),
            ("topics", self.topics.join(", ")),
            ("authors", self.authors.join(", ")),
            ("sources", self.selected_sources.join(", ")),
            ("asked", self.schedule.clone()),
            ("relevance from", self.min_relevance_score.to_string()),
            ("papers a run", self.max_articles_per_run.to_string()),
            ("open PDFs are fetched", fetched.unwrap_or_default()),
            ("published from", or_empty(self.published_from.as_deref())),
            ("published to", or_empty(self.published_to.as_deref())),
            ("active", yes_or_no(self.is_active)),
            ("next run", or_empty(self.next_run.as_deref())),
            ("last run", last_run_line(self.last_run.as_ref())),
        ]));
        text
    }
}

/// What is known of something, one line each, without what is not.
pub(super) fn render_fields(lines: &[(&str, String)]) -> String {
    let mut text = String::new();
    for (name, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(text, "- {name}: {value}");
    }
    text
}

pub(super) fn or_empty(text: Option<&str>) -> String {
    text.unwrap_or_default().to_owned()
}

pub(super) fn yes_or_no(it: bool) -> String {
    let word = if it { "yes" } else { "no" };
    word.to_owned()
}

/// The last run, as it is read.
pub(super) fn last_run_line(run: Option<&QuestionRunRecord>) -> String {
    run.map(|run| format!("{}: {}", run.at, run.render_text()))
        .unwrap_or_default()
}

impl QuestionRunRecord {
    /// As it is read.
    pub(crate) fn render_text(&self) -> String {
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
    type Input = ListQuestionsInput;
    type Output = ListQuestionsOutput;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "list_research_questions",
            "List research questions",
            "Saved questions with their ids and schedules",
        )
    }

    async fn run(
        &self,
        input: ListQuestionsInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<ListQuestionsOutput>, ToolError> {
        let questions = QuestionRepository(call.store());
        let found = questions
            .list_for_user(&input.user_id, false, input.active_only)
            .await?;
        let questions: Vec<QuestionView> = found
            .iter()
            .map(|it| QuestionView::from_question(&it.question))
            .collect();
        let said = match questions.len() {
            0 => "There are no questions. create_research_question saves one.".to_owned(),
            _ => questions
                .iter()
                .map(QuestionView::render_text)
                .collect::<Vec<_>>()
                .join("\n"),
        };
        Ok(read_only_output(ListQuestionsOutput { said, questions }))
    }
}

impl Tool for GetResearchQuestion {
    type Input = GetQuestionInput;
    type Output = GetQuestionOutput;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "get_research_question",
            "Get research question",
            "A saved question and the papers it found",
        )
    }

    async fn run(
        &self,
        input: GetQuestionInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<GetQuestionOutput>, ToolError> {
        let store = call.store();
        let version = QuestionRepository(store)
            .get(&input.question_id, &input.user_id)
            .await?;
        let found =
            QuestionMatch::load_summary(store, &version.question, input.max_matches).await?;
        let question = QuestionView::from_question(&version.question);
        let mut said = question.render_text();
        said.push_str(&render_matches(&found.matches, found.total));
        said.push_str(&more_matches_note(found.matches.len(), found.total));
        said.push_str(&older_matches_note(&found));
        Ok(read_only_output(GetQuestionOutput {
            said,
            question,
            matches: found.matches,
            total_matches: found.total,
            older_matches: found.outdated,
        }))
    }
}

/// How many papers found earlier are left out, and why.
fn older_matches_note(found: &MatchSummary) -> String {
    if found.outdated == 0 {
        return String::new();
    }
    format!(
        "\nNot shown: {} found earlier, judged by the question as it was before or below its \
         relevance now. run_discovery_for_question with force_run judges anew what its sources \
         still have.\n",
        pluralize(found.outdated, "paper")
    )
}

/// Matches, as they are read.
pub(super) fn render_matches(matches: &[QuestionMatch], total: u64) -> String {
    let mut text = format!("\n### Papers that fit ({total})\n\n");
    for found in matches {
        let _ = writeln!(
            text,
            "- {:.2} **{}** (`{}`, by {}): {}",
            found.score,
            escape_markdown(&found.title),
            found.article_id,
            found.scored_by,
            escape_markdown(&found.reasoning)
        );
    }
    text
}

/// How many more there are than are shown.
pub(super) fn more_matches_note(shown: usize, total: u64) -> String {
    let shown = u64::try_from(shown).unwrap_or(u64::MAX);
    match total.saturating_sub(shown) {
        0 => String::new(),
        more => format!("- and {more} more; max_matches shows them\n"),
    }
}
