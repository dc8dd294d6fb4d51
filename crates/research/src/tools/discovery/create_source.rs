//! Tools that save a search of one source to run at an interval. Each source has its own tool,
//! because the arguments differ.

use std::{cmp::Ordering, sync::Arc};

use deliberate_core::PartialDate;
use deliberate_toolkit::{
    ArgumentIssue, Schedule, ScheduleFrequency, Tool, ToolContext, ToolError, ToolHints, ToolMeta,
    ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    create_research_question::{check_name_is_free, dedup_non_blank, name_issue},
    saved_sources::{SavedSource, SavedSourcesOutput},
};
use crate::{
    ResearchServices,
    discovery::{ResearchQuestion, SOURCE_USER, VersionedQuestion, compare_dates, select_sources},
    sources::{self, SourceDefinition},
    tools::rendering::tool_meta,
};

/// The `create_arxiv_source` tool and the corresponding tools of other sources.
pub(crate) struct CreateSource {
    lab: Arc<ResearchServices>,
    tool: &'static str,
    title: &'static str,
    description: &'static str,
    source: &'static SourceDefinition,
}

macro_rules! source_constructors {
    ($($name:ident, $tool:literal, $title:literal, $description:literal;)*) => {
        impl CreateSource {$(
            /// Creates the tool for this source.
            pub(super) const fn $name(lab: Arc<ResearchServices>) -> Self {
                Self {
                    lab,
                    tool: $tool,
                    title: $title,
                    description: $description,
                    source: &sources::$name::DEFINITION,
                }
            }
        )*}
    };
}

source_constructors! {
    arxiv, "create_arxiv_source", "Create arXiv source", "Save an arXiv search that runs every few hours";
    pubmed, "create_pubmed_source", "Create PubMed source", "Save a PubMed search that runs every few hours";
    crossref, "create_crossref_source", "Create Crossref source", "Save a Crossref search that runs every few hours";
    openalex, "create_openalex_source", "Create OpenAlex source", "Save an OpenAlex search that runs every few hours";
    semantic_scholar, "create_semantic_scholar_source", "Create Semantic Scholar source", "Save a Semantic Scholar search that runs every few hours";
    europe_pmc, "create_europe_pmc_source", "Create Europe PMC source", "Save a Europe PMC search that runs every few hours";
    biorxiv, "create_biorxiv_source", "Create bioRxiv source", "Save a date range of bioRxiv that is read every few hours";
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateSourceInput {
    #[schemars(length(min = 1, max = 255))]
    name: String,
    #[serde(default)]
    #[schemars(length(max = 50), inner(length(max = 200)), extend("x-separated" = "words"))]
    keywords: Vec<String>,
    /// Only for arXiv: cs.LG; default: all
    #[serde(default)]
    #[schemars(length(max = 50), inner(length(max = 50)), extend("x-separated" = "words"))]
    categories: Vec<String>,
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = 500))]
    max_articles: u32,
    #[serde(default = "a_day")]
    #[schemars(range(min = 1, max = 168))]
    schedule_hours: u32,
    start_date: Option<PartialDate>,
    end_date: Option<PartialDate>,
    /// `YYYY/MM/DD:YYYY/MM/DD`, instead of the two dates
    #[schemars(length(max = 50))]
    date_filter: Option<String>,
}

fn fifty() -> u32 {
    50
}

fn a_day() -> u32 {
    24
}

impl Tool for CreateSource {
    type Input = CreateSourceInput;
    type Output = SavedSourcesOutput;

    fn meta(&self) -> ToolMeta {
        tool_meta(self.tool, self.title, self.description, ToolHints::ADDITIVE)
    }

    async fn run(
        &self,
        input: CreateSourceInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<SavedSourcesOutput>, ToolError> {
        let question = self.build_question(input, call)?;
        check_name_is_free(call, &question).await?;
        let saved = SavedSource::from_question(&question);
        let version = VersionedQuestion {
            question,
            version: 0,
        };
        Ok(ToolOutput {
            output: SavedSourcesOutput {
                said: format!("The source is saved.\n\n{}", saved.render_text()),
                sources: vec![saved],
            },
            changes: vec![version.put_change(call.now())],
            session: None,
        })
    }
}

impl CreateSource {
    fn build_question(
        &self,
        input: CreateSourceInput,
        call: &ToolContext,
    ) -> Result<ResearchQuestion, ToolError> {
        let (from, to) = parse_date_window(&input)?;
        let keywords = dedup_non_blank(input.keywords);
        let mut issues: Vec<ArgumentIssue> = name_issue(&input.name).into_iter().collect();
        if self.source.by_words && keywords.is_empty() {
            issues.push(ArgumentIssue::new("keywords", "must contain at least one"));
        }
        if !self.source.has_categories && !input.categories.is_empty() {
            let rule = "is only for create_arxiv_source; other sources have no such classes";
            issues.push(ArgumentIssue::new("categories", rule));
        }
        if !issues.is_empty() {
            return Err(ToolError::Invalid(issues));
        }
        select_sources(self.lab.sources(), &[self.source.name.to_owned()])?;
        let now = call.now();
        let mut question = ResearchQuestion {
            id: call.new_id(),
            user: SOURCE_USER.to_owned(),
            name: input.name.trim().to_owned(),
            description: String::new(),
            keywords,
            topics: Vec::new(),
            authors: Vec::new(),
            categories: dedup_non_blank(input.categories),
            sources: vec![self.source.name.to_owned()],
            schedule: Schedule {
                frequency: ScheduleFrequency::Hourly(input.schedule_hours),
                time: "03:00".to_owned(),
                days_of_week: Vec::new(),
            },
            min_relevance: 0.0,
            max_articles: input.max_articles,
            download_from: None,
            from,
            to,
            active: true,
            is_source: true,
            answered_by: Vec::new(),
            created_at: now,
            last_run: None,
            next_run: None,
        };
        question.schedule_next(now);
        Ok(question)
    }
}

/// Parses the dates in either form.
fn parse_date_window(
    input: &CreateSourceInput,
) -> Result<(Option<PartialDate>, Option<PartialDate>), ToolError> {
    let wrong = |field: &str, rule: &str| ToolError::Invalid(vec![ArgumentIssue::new(field, rule)]);
    let (from, to) = match &input.date_filter {
        None => (input.start_date, input.end_date),
        Some(_) if input.start_date.is_some() || input.end_date.is_some() => {
            return Err(wrong(
                "date_filter",
                "cannot be combined with the two dates",
            ));
        }
        Some(text) => {
            let dates = text.split_once(':').and_then(|(from, to)| {
                Some((
                    PartialDate::parse_strict(from)?,
                    PartialDate::parse_strict(to)?,
                ))
            });
            let rule = "must be two dates, such as 2024/01/01:2024/12/31";
            let (from, to) = dates.ok_or_else(|| wrong("date_filter", rule))?;
            (Some(from), Some(to))
        }
    };
    match (from, to) {
        (Some(from), Some(to)) if compare_dates(from, to) == Ordering::Greater => {
            Err(wrong("end_date", "must not be before the start"))
        }
        window => Ok(window),
    }
}
