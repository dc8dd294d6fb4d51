//! Saved sources: looking at them and deleting them.

use std::fmt::Write as _;

use deliberate_toolkit::{About, Annotations, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    change_question::removal,
    look_at_questions::{last, listed, more, or_nothing, twenty, yes_or_no},
};
use crate::{
    discover::{Match, Question, Questions, RunRecord, SOURCE_USER},
    tools::shown::{about, only_read, plain, reads},
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

    /// In one line.
    fn line(&self) -> String {
        let mut text = format!("- **{}**: {}, {}", self.name, self.source, self.schedule);
        for some in [&self.keywords, &self.categories] {
            if !some.is_empty() {
                let _ = write!(text, ", {}", some.join(", "));
            }
        }
        if self.last_run.is_some() {
            let _ = write!(text, "; last run {}", last(self.last_run.as_ref()));
        }
        text.push('\n');
        text
    }

    /// All of it.
    pub(super) fn said(&self) -> String {
        let categories = match self.categories.as_slice() {
            [] if self.source == "arxiv" => "all".to_owned(),
            some => some.join(", "),
        };
        let lines = listed(&[
            ("source", self.source.clone()),
            ("keywords", self.keywords.join(", ")),
            ("categories", categories),
            ("published from", or_nothing(self.published_from.as_deref())),
            ("published to", or_nothing(self.published_to.as_deref())),
            ("asked", self.schedule.clone()),
            ("papers a run", self.max_articles.to_string()),
            ("active", yes_or_no(self.is_active)),
            ("next run", or_nothing(self.next_run.as_deref())),
            ("last run", last(self.last_run.as_ref())),
        ]);
        format!("## {}\n\n{lines}", self.name)
    }
}

/// A paper that a saved source found, in one line.
pub(super) fn paper(found: &Match) -> String {
    format!("- **{}** (`{}`)\n", plain(&found.title), found.article_id)
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
            _ => sources.iter().map(Saved::line).collect(),
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

/// What one is asked for with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetInput {
    source_name: String,
    /// Papers that are shown
    #[serde(default = "twenty")]
    #[schemars(range(min = 0, max = 500))]
    max_matches: u32,
}

/// One saved source.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GetOutput {
    said: String,
    /// The saved source
    sources: Vec<Saved>,
    /// Papers it found, the last found first
    matches: Vec<Match>,
    /// How many there are in all
    total_matches: u64,
}

impl Tool for GetDiscoverySource {
    type Input = GetInput;
    type Output = GetOutput;

    fn about(&self) -> About {
        reads(
            "get_discovery_source",
            "Get discovery source",
            "A saved source and the papers it found",
        )
    }

    async fn run(&self, input: GetInput, call: &Call) -> Result<Outcome<GetOutput>, ToolError> {
        let store = call.store();
        let version = Questions(store).source(&input.source_name).await?;
        let found = Match::standing(store, &version.question, input.max_matches).await?;
        let saved = Saved::of(&version.question);
        let papers: String = found.matches.iter().map(paper).collect();
        let said = format!(
            "{}\n### Papers it found ({})\n\n{papers}{}",
            saved.said(),
            found.total,
            more(found.matches.len(), found.total)
        );
        Ok(only_read(GetOutput {
            said,
            sources: vec![saved],
            matches: found.matches,
            total_matches: found.total,
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
