//! Tools that list, show, and delete saved sources.

use std::fmt::Write as _;

use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    get_research_question::{
        last_run_line, more_matches_note, or_empty, render_fields, twenty, yes_or_no,
    },
    update_research_question::deletion_changes,
};
use crate::{
    discovery::{
        QuestionMatch, QuestionRepository, QuestionRunRecord, ResearchQuestion, SOURCE_USER,
    },
    sources::find_definition,
    tools::rendering::{escape_markdown, read_only_meta, read_only_output, tool_meta},
};

/// A saved source in the output.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct SavedSource {
    name: String,
    source: String,
    keywords: Vec<String>,
    categories: Vec<String>,
    published_from: Option<String>,
    published_to: Option<String>,
    schedule: String,
    max_articles: u32,
    is_active: bool,
    last_run: Option<QuestionRunRecord>,
    next_run: Option<String>,
}

impl SavedSource {
    pub(super) fn from_question(question: &ResearchQuestion) -> Self {
        Self {
            name: question.name.clone(),
            source: question.sources.join(", "),
            keywords: question.keywords.clone(),
            categories: question.categories.clone(),
            published_from: question.from.map(|it| it.to_string()),
            published_to: question.to.map(|it| it.to_string()),
            schedule: question.schedule.describe(),
            max_articles: question.max_articles,
            is_active: question.active,
            last_run: question.last_run.clone(),
            next_run: question.next_run.map(|it| it.to_string()),
        }
    }

    /// Renders the source as one line.
    fn summary_line(&self) -> String {
        let mut text = format!("- **{}**: {}, {}", self.name, self.source, self.schedule);
        for some in [&self.keywords, &self.categories] {
            if !some.is_empty() {
                let _ = write!(text, ", {}", some.join(", "));
            }
        }
        if self.last_run.is_some() {
            let _ = write!(text, "; last run {}", last_run_line(self.last_run.as_ref()));
        }
        text.push('\n');
        text
    }

    /// Renders all fields.
    pub(super) fn render_text(&self) -> String {
        let categories = match self.categories.as_slice() {
            [] if find_definition(&self.source).is_some_and(|it| it.has_categories) => {
                "all".to_owned()
            }
            some => some.join(", "),
        };
        let lines = render_fields(&[
            ("source", self.source.clone()),
            ("keywords", self.keywords.join(", ")),
            ("categories", categories),
            ("published from", or_empty(self.published_from.as_deref())),
            ("published to", or_empty(self.published_to.as_deref())),
            ("asked", self.schedule.clone()),
            ("papers a run", self.max_articles.to_string()),
            ("active", yes_or_no(self.is_active)),
            ("next run", or_empty(self.next_run.as_deref())),
            ("last run", last_run_line(self.last_run.as_ref())),
        ]);
        format!("## {}\n\n{lines}", self.name)
    }
}

/// Renders a paper of a saved source as one line.
pub(super) fn match_line(found: &QuestionMatch) -> String {
    format!(
        "- **{}** (`{}`)\n",
        escape_markdown(&found.title),
        found.article_id
    )
}

/// Output of the tools that list or create saved sources.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SavedSourcesOutput {
    pub(super) said: String,
    pub(super) sources: Vec<SavedSource>,
}

/// The `list_discovery_sources` tool.
pub(crate) struct ListDiscoverySources;

/// Input of a tool without arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmptyInput {}

impl Tool for ListDiscoverySources {
    type Input = EmptyInput;
    type Output = SavedSourcesOutput;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "list_discovery_sources",
            "List discovery sources",
            "Saved sources with their schedules",
        )
    }

    async fn run(
        &self,
        _: EmptyInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<SavedSourcesOutput>, ToolError> {
        let found = QuestionRepository(call.store())
            .list_for_user(SOURCE_USER, true, false)
            .await?;
        let sources: Vec<SavedSource> = found
            .iter()
            .map(|it| SavedSource::from_question(&it.question))
            .collect();
        let said = match sources.len() {
            0 => "There are no saved sources. create_arxiv_source and similar tools save one."
                .to_owned(),
            _ => sources.iter().map(SavedSource::summary_line).collect(),
        };
        Ok(read_only_output(SavedSourcesOutput { said, sources }))
    }
}

/// The `get_discovery_source` tool.
pub(crate) struct GetDiscoverySource;

/// Input that names a saved source.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceNameInput {
    source_name: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetSourceInput {
    source_name: String,
    /// Papers to show
    #[serde(default = "twenty")]
    #[schemars(range(min = 0, max = 500))]
    max_matches: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GetSourceOutput {
    said: String,
    sources: Vec<SavedSource>,
    /// Papers found, newest first
    matches: Vec<QuestionMatch>,
    total_matches: u64,
}

impl Tool for GetDiscoverySource {
    type Input = GetSourceInput;
    type Output = GetSourceOutput;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "get_discovery_source",
            "Get discovery source",
            "A saved source and the papers it found",
        )
    }

    async fn run(
        &self,
        input: GetSourceInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<GetSourceOutput>, ToolError> {
        let store = call.store();
        let version = QuestionRepository(store)
            .find_source(&input.source_name)
            .await?;
        let found =
            QuestionMatch::load_summary(store, &version.question, input.max_matches).await?;
        let saved = SavedSource::from_question(&version.question);
        let papers: String = found.matches.iter().map(match_line).collect();
        let said = format!(
            "{}\n### Papers found ({})\n\n{papers}{}",
            saved.render_text(),
            found.total,
            more_matches_note(found.matches.len(), found.total)
        );
        Ok(read_only_output(GetSourceOutput {
            said,
            sources: vec![saved],
            matches: found.matches,
            total_matches: found.total,
        }))
    }
}

/// The `delete_discovery_source` tool.
pub(crate) struct DeleteDiscoverySource;

impl Tool for DeleteDiscoverySource {
    type Input = SourceNameInput;
    type Output = DeleteSourceOutput;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "delete_discovery_source",
            "Delete discovery source",
            "Delete a saved source; papers it found stay",
            ToolHints {
                destructive: true,
                ..ToolHints::ADDITIVE
            },
        )
    }

    async fn run(
        &self,
        input: SourceNameInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<DeleteSourceOutput>, ToolError> {
        let version = QuestionRepository(call.store())
            .find_source(&input.source_name)
            .await?;
        let (changes, ends) = deletion_changes(call, &version).await?;
        let name = version.question.name;
        Ok(ToolOutput {
            output: DeleteSourceOutput {
                said: format!("The saved source {name:?} is deleted; papers it found stay."),
                next: (!ends).then(|| json!({ "source_name": name })),
                name,
            },
            changes,
            session: None,
        })
    }

    fn next_step(&self, output: &DeleteSourceOutput) -> Option<Value> {
        output.next.clone()
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeleteSourceOutput {
    said: String,
    name: String,
    #[serde(skip)]
    #[schemars(skip)]
    next: Option<Value>,
}
