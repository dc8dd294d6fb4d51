//! The `list_research_questions` and `get_research_question` tools.

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

/// The `list_research_questions` tool.
pub(crate) struct ListResearchQuestions;

/// The `get_research_question` tool.
pub(crate) struct GetResearchQuestion;

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

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListQuestionsOutput {
    said: String,
    /// Newest first
    questions: Vec<QuestionView>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetQuestionInput {
    question_id: String,
    #[serde(default = "default_user")]
    user_id: String,
    /// Papers to show
    #[serde(default = "twenty")]
    #[schemars(range(min = 0, max = 500))]
    max_matches: u32,
}

pub(super) fn twenty() -> u32 {
    20
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GetQuestionOutput {
    said: String,
    question: QuestionView,
    /// Papers that match its current version, most relevant first
    matches: Vec<QuestionMatch>,
    total_matches: u64,
    /// Papers found before it was changed, not shown
    older_matches: u64,
}

/// A saved question in the output.
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

    /// Renders the question.
    pub(super) fn render_text(&self) -> String {
        let mut text = format!("## {}\n\n", self.name);
        if !self.description.is_empty() {
            let _ = writeln!(text, "{}\n", self.description);
        }
        let fetched = self.auto_download_min_score;
        let fetched = fetched.map(|it| format!("from relevance {it}"));
        text.push_str(&render_fields(&[
            ("id", self.question_id.clone()),
            ("keywords", self.keywords.join(", ")),
            ("topics", self.topics.join(", ")),
            ("authors", self.authors.join(", ")),
            ("sources", self.selected_sources.join(", ")),
            ("schedule", self.schedule.clone()),
            ("minimum relevance", self.min_relevance_score.to_string()),
            ("papers per run", self.max_articles_per_run.to_string()),
            ("open PDFs are downloaded", fetched.unwrap_or_default()),
            ("published from", or_empty(self.published_from.as_deref())),
            ("published to", or_empty(self.published_to.as_deref())),
            ("active", yes_or_no(self.is_active)),
            ("next run", or_empty(self.next_run.as_deref())),
            ("last run", last_run_line(self.last_run.as_ref())),
        ]));
        text
    }
}

/// Renders the fields that have a value, one per line.
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

/// Renders the last run.
pub(super) fn last_run_line(run: Option<&QuestionRunRecord>) -> String {
    run.map(|run| format!("{}: {}", run.at, run.render_text()))
        .unwrap_or_default()
}

impl QuestionRunRecord {
    /// Renders the counts of a run.
    pub(crate) fn render_text(&self) -> String {
        let mut text = format!(
            "{} found, {} scored, {} match, {} of them new, in {:.1} s",
            self.found, self.scored, self.matched, self.new, self.seconds
        );
        if let Some(since) = &self.since {
            let _ = write!(text, ", published since {since}");
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

/// Says how many earlier papers are not shown, and why.
fn older_matches_note(found: &MatchSummary) -> String {
    if found.outdated == 0 {
        return String::new();
    }
    format!(
        "\nNot shown: {} found earlier, scored for a previous version of the question or below its \
         current relevance. run_discovery_for_question with force_run scores them again if the \
         sources still have them.\n",
        pluralize(found.outdated, "paper")
    )
}

/// Renders matches.
pub(super) fn render_matches(matches: &[QuestionMatch], total: u64) -> String {
    let mut text = format!("\n### Matching papers ({total})\n\n");
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

/// Says how many further matches there are.
pub(super) fn more_matches_note(shown: usize, total: u64) -> String {
    let shown = u64::try_from(shown).unwrap_or(u64::MAX);
    match total.saturating_sub(shown) {
        0 => String::new(),
        more => format!("- and {more} more; raise max_matches to see them\n"),
    }
}
