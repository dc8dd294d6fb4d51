//! Saved sources: looking at them and deleting them.

use std::fmt::Write as _;

use deliberate_toolkit::{About, Annotations, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::change_question::removal;
use crate::{
    discover::{Question, Questions, RunRecord, SOURCE_USER},
    tools::shown::{about, only_read, reads},
};

/// A saved source, as it is shown.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Saved {
    name: String,
    source: String,
    keywords: Vec<String>,
    categories: Vec<String>,
    published_from: Option<String>,
    published_to: Option<String>,
    schedule: String,
    max_articles: u32,
    is_active: bool,
    last_run: Option<RunRecord>,
    next_run: Option<String>,
}

impl Saved {
    pub(super) fn of(question: &Question) -> Self {
        Self {
            name: question.name.clone(),
            source: question.sources.join(", "),
            keywords: question.keywords.clone(),
            categories: question.categories.clone(),
            published_from: question.from.map(|it| it.to_string()),
            published_to: question.to.map(|it| it.to_string()),
            schedule: question.schedule.said(),
            max_articles: question.max_articles,
            is_active: question.active,
            last_run: question.last_run.clone(),
            next_run: question.next_run.map(|it| it.to_string()),
        }
    }

    pub(super) fn said(&self) -> String {
        let mut text = format!("- **{}**: {}, {}", self.name, self.source, self.schedule);
        if !self.keywords.is_empty() {
            let _ = write!(text, ", {}", self.keywords.join(", "));
        }
        if let Some(run) = &self.last_run {
            let _ = write!(text, "; last run {}: {}", run.at, run.said());
        }
        text.push('\n');
        text
    }
}

/// What the tools about one or more of them answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SavedOutput {
    pub(super) said: String,
    /// The saved sources
    pub(super) sources: Vec<Saved>,
}

/// `list_discovery_sources`.
pub(crate) struct ListDiscoverySources;

/// What takes nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

impl Tool for ListDiscoverySources {
    type Input = Nothing;
    type Output = SavedOutput;

    fn about(&self) -> About {
        reads(
            "list_discovery_sources",
            "List discovery sources",
            "Saved sources with their schedules",
        )
    }

    async fn run(&self, _: Nothing, call: &Call) -> Result<Outcome<SavedOutput>, ToolError> {
        let found = Questions(call.store()).of(SOURCE_USER, true, false).await?;
        let sources: Vec<Saved> = found.iter().map(|it| Saved::of(&it.question)).collect();
        let said = match sources.len() {
            0 => {
                "There are no saved sources. create_arxiv_source and its kind save one.".to_owned()
            }
            _ => sources.iter().map(Saved::said).collect(),
        };
        Ok(only_read(SavedOutput { said, sources }))
    }
}

/// `get_discovery_source`.
pub(crate) struct GetDiscoverySource;

/// What names one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Named {
    source_name: String,
}

impl Tool for GetDiscoverySource {
    type Input = Named;
    type Output = SavedOutput;

    fn about(&self) -> About {
        reads(
            "get_discovery_source",
            "Get discovery source",
            "A saved source",
        )
    }

    async fn run(&self, input: Named, call: &Call) -> Result<Outcome<SavedOutput>, ToolError> {
        let version = Questions(call.store()).source(&input.source_name).await?;
        let saved = Saved::of(&version.question);
        Ok(only_read(SavedOutput {
            said: saved.said(),
            sources: vec![saved],
        }))
    }
}

/// `delete_discovery_source`.
pub(crate) struct DeleteDiscoverySource;

impl Tool for DeleteDiscoverySource {
    type Input = Named;
    type Output = DeletedOutput;

    fn about(&self) -> About {
        about(
            "delete_discovery_source",
            "Delete discovery source",
            "Delete a saved source; papers it found stay",
            Annotations {
                destructive: true,
                ..Annotations::ADDS
            },
        )
    }

    async fn run(&self, input: Named, call: &Call) -> Result<Outcome<DeletedOutput>, ToolError> {
        let version = Questions(call.store()).source(&input.source_name).await?;
        let (changes, ends) = removal(call, &version).await?;
        let name = version.question.name;
        Ok(Outcome {
            output: DeletedOutput {
                said: format!("The saved source {name:?} is deleted; papers it found stay."),
                next: (!ends).then(|| json!({ "source_name": name })),
                name,
            },
            changes,
            session: None,
        })
    }

    fn goes_on(&self, output: &DeletedOutput) -> Option<Value> {
        output.next.clone()
    }
}

/// What deleting answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeletedOutput {
    said: String,
    name: String,
    #[serde(skip)]
    #[schemars(skip)]
    next: Option<Value>,
}
