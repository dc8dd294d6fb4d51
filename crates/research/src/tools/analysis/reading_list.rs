//! `generate_reading_list`.

use std::{fmt::Write as _, sync::Arc};

use deliberate_core::cut_to_chars;
use deliberate_toolkit::{About, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ArticleFilter, Lab,
    analyse::{Gathered, gather},
    collect::{DATA_NOT_ORDERS, Kept, OrderBy, fenced},
    tools::{
        discovery::line,
        shown::{count, only_read, plain, reads, with_notes},
    },
};

/// `generate_reading_list`.
pub(crate) struct GenerateReadingList(pub(super) Arc<Lab>);

/// What comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Priority {
    /// What fits best.
    #[default]
    Relevance,
    /// What is cited most.
    Citations,
    /// What is new.
    Recent,
    /// All three.
    Comprehensive,
}

impl Priority {
    const fn order(self) -> OrderBy {
        match self {
            Self::Relevance => OrderBy::Relevance,
            Self::Citations => OrderBy::Citations,
            Self::Recent => OrderBy::Date,
            Self::Comprehensive => OrderBy::Overall,
        }
    }
}

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 1000))]
    topic_or_query: String,
    #[serde(default = "ten")]
    #[schemars(range(min = 3, max = 50))]
    max_papers: usize,
    #[serde(default)]
    priority_criteria: Priority,
    #[serde(default = "yes")]
    include_summaries: bool,
    #[serde(default = "yes")]
    reading_time_estimate: bool,
}

fn ten() -> usize {
    10
}

fn yes() -> bool {
    true
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    /// In the order in which to read
    papers: Vec<ToRead>,
    /// Of those that have a text
    #[serde(skip_serializing_if = "Option::is_none")]
    total_minutes: Option<u64>,
    notes: Vec<String>,
}

/// A paper to read.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ToRead {
    article_id: String,
    cite_key: String,
    title: String,
    /// Absent without a text
    #[serde(skip_serializing_if = "Option::is_none")]
    minutes: Option<u64>,
}

impl Tool for GenerateReadingList {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        reads(
            "generate_reading_list",
            "Generate reading list",
            "Articles on a topic in the order in which to read them, as a checklist",
        )
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let topic = call.checked_content("topic_or_query", &input.topic_or_query)?;
        let filter = ArticleFilter::default();
        let order = (input.priority_criteria.order(), input.max_papers);
        let (mut found, notes) = gather(&self.0, call, topic, filter, order, 1).await?;
        // What was taken back is not what to begin with.
        found.sort_by_key(|it| it.kept.article.retracted == Some(true));
        let timed = |it: &Gathered| minutes(&it.kept).filter(|_| input.reading_time_estimate);
        let papers: Vec<ToRead> = found
            .iter()
            .map(|it| ToRead {
                article_id: it.kept.id.clone(),
                cite_key: it.kept.cite_key.clone(),
                title: it.kept.article.title.clone(),
                minutes: timed(it),
            })
            .collect();
        let mut said = format!("# To read on {}\n\n", plain(topic));
        if found.is_empty() {
            said.push_str("Nothing in the collection fits.\n");
        }
        if input.include_summaries && !found.is_empty() {
            let _ = writeln!(said, "{DATA_NOT_ORDERS}\n");
        }
        for it in &found {
            said.push_str(&entry(it, timed(it), input.include_summaries));
        }
        let known = papers.iter().filter_map(|it| it.minutes);
        let total_minutes = known.reduce(|one, other| one + other);
        if let Some(total) = total_minutes {
            let _ = write!(said, "\nIn all about {total} min");
            let without = papers.iter().filter(|it| it.minutes.is_none()).count();
            if without > 0 {
                let without = count(without as u64, "paper");
                let _ = write!(said, ", and {without} without a text here");
            }
            said.push_str(".\n");
        }
        Ok(only_read(Output {
            said: with_notes(said, &notes),
            total_minutes,
            papers,
            notes,
        }))
    }
}

/// A paper on its line, with what it is about below it.
fn entry(it: &Gathered, minutes: Option<u64>, with_summary: bool) -> String {
    let kept = &it.kept;
    let mut said = format!("- [ ] {} (`{}`)", line(&kept.article), kept.cite_key);
    if let Some(minutes) = minutes {
        let _ = write!(said, ", about {minutes} min");
    }
    said.push('\n');
    let summary = kept.article.summary.as_ref().filter(|_| with_summary);
    if let Some(summary) = summary {
        let told = fenced(&[("article", &kept.cite_key)], &cut_to_chars(summary, 300));
        let _ = writeln!(said, "{told}");
    }
    said
}

/// A thousand characters a minute, as people read who have to understand; a quarter of an hour at
/// least. What has no text here may be of any length.
fn minutes(kept: &Kept) -> Option<u64> {
    (kept.pages > 0).then(|| (kept.chars / 1_000).max(15))
}
