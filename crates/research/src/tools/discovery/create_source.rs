//! Saving a search of one source, run every so many hours. One tool a source makes them, because
//! each takes other things.

use std::{cmp::Ordering, sync::Arc};

use deliberate_core::PartialDate;
use deliberate_toolkit::{About, Annotations, Call, Issue, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    create_question::{taken, tidy, wrong_name},
    saved::{Saved, SavedOutput},
};
use crate::{
    Lab,
    discover::{Frequency, Question, QuestionVersion, SOURCE_USER, Schedule, chosen, compared},
    tools::shown::about,
};

/// `create_arxiv_source` and its kind.
pub(crate) struct CreateSource {
    lab: Arc<Lab>,
    tool: &'static str,
    title: &'static str,
    description: &'static str,
    source: &'static str,
    by_words: bool,
}

macro_rules! creates {
    ($($name:ident, $tool:literal, $title:literal, $description:literal, $source:literal, $by_words:literal;)*) => {
        impl CreateSource {$(
            /// Makes saved searches of that source.
            pub(super) const fn $name(lab: Arc<Lab>) -> Self {
                Self {
                    lab,
                    tool: $tool,
                    title: $title,
                    description: $description,
                    source: $source,
                    by_words: $by_words,
                }
            }
        )*}
    };
}

creates! {
    arxiv, "create_arxiv_source", "Create arXiv source", "Save an arXiv search that runs every so many hours", "arxiv", true;
    pubmed, "create_pubmed_source", "Create PubMed source", "Save a PubMed search that runs every so many hours", "pubmed", true;
    crossref, "create_crossref_source", "Create Crossref source", "Save a Crossref search that runs every so many hours", "crossref", true;
    openalex, "create_openalex_source", "Create OpenAlex source", "Save an OpenAlex search that runs every so many hours", "openalex", true;
    semantic_scholar, "create_semantic_scholar_source", "Create Semantic Scholar source", "Save a Semantic Scholar search that runs every so many hours", "semantic_scholar", true;
    europe_pmc, "create_europe_pmc_source", "Create Europe PMC source", "Save a Europe PMC search that runs every so many hours", "europe_pmc", true;
    biorxiv, "create_biorxiv_source", "Create bioRxiv source", "Save a window of dates of bioRxiv, read every so many hours", "biorxiv", false;
}

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateInput {
    #[schemars(length(min = 1, max = 255))]
    name: String,
    #[serde(default)]
    #[schemars(length(max = 50), inner(length(max = 200)), extend("x-separated" = "words"))]
    keywords: Vec<String>,
    /// Of arXiv alone: cs.LG; all of arXiv without it
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
    /// `YYYY/MM/DD:YYYY/MM/DD`, in place of the two dates
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
    type Input = CreateInput;
    type Output = SavedOutput;

    fn about(&self) -> About {
        about(self.tool, self.title, self.description, Annotations::ADDS)
    }

    async fn run(
        &self,
        input: CreateInput,
        call: &Call,
    ) -> Result<Outcome<SavedOutput>, ToolError> {
        let question = self.question(input, call)?;
        taken(call, &question).await?;
        let saved = Saved::of(&question);
        let version = QuestionVersion {
            question,
            version: 0,
        };
        Ok(Outcome {
            output: SavedOutput {
                said: format!("The source is saved.\n\n{}", saved.said()),
                sources: vec![saved],
            },
            changes: vec![version.put(call.now())],
            session: None,
        })
    }
}

impl CreateSource {
    fn question(&self, input: CreateInput, call: &Call) -> Result<Question, ToolError> {
        let (from, to) = window(&input)?;
        let keywords = tidy(input.keywords);
        let mut issues: Vec<Issue> = wrong_name(&input.name).into_iter().collect();
        if self.by_words && keywords.is_empty() {
            issues.push(Issue::new("keywords", "must hold at least one"));
        }
        if self.source != "arxiv" && !input.categories.is_empty() {
            let rule = "is for create_arxiv_source alone: other sources have no such classes";
            issues.push(Issue::new("categories", rule));
        }
        if !issues.is_empty() {
            return Err(ToolError::Invalid(issues));
        }
        chosen(self.lab.sources(), &[self.source.to_owned()])?;
        let now = call.now();
        let mut question = Question {
            id: call.fresh(),
            user: SOURCE_USER.to_owned(),
            name: input.name.trim().to_owned(),
            description: String::new(),
            keywords,
            topics: Vec::new(),
            authors: Vec::new(),
            categories: tidy(input.categories),
            sources: vec![self.source.to_owned()],
            schedule: Schedule {
                frequency: Frequency::Hourly(input.schedule_hours),
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
        question.plan(now);
        Ok(question)
    }
}

/// The dates that are given, in one form or the other.
fn window(input: &CreateInput) -> Result<(Option<PartialDate>, Option<PartialDate>), ToolError> {
    let wrong = |field: &str, rule: &str| ToolError::Invalid(vec![Issue::new(field, rule)]);
    let (from, to) = match &input.date_filter {
        None => (input.start_date, input.end_date),
        Some(_) if input.start_date.is_some() || input.end_date.is_some() => {
            return Err(wrong("date_filter", "stands in place of the two dates"));
        }
        Some(text) => {
            let dates = text
                .split_once(':')
                .and_then(|(from, to)| Some((PartialDate::given(from)?, PartialDate::given(to)?)));
            let rule = "must be two dates, such as 2024/01/01:2024/12/31";
            let (from, to) = dates.ok_or_else(|| wrong("date_filter", rule))?;
            (Some(from), Some(to))
        }
    };
    match (from, to) {
        (Some(from), Some(to)) if compared(from, to) == Ordering::Greater => {
            Err(wrong("end_date", "must not be before the start"))
        }
        window => Ok(window),
    }
}
