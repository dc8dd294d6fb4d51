//! `generate_reading_list`.

use std::{cmp::Reverse, fmt::Write as _, sync::Arc};

use deliberate_core::{PartialDate, cut_to_chars};
use deliberate_toolkit::{About, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ArticleFilter, Lab,
    analyse::{Gathered, gather},
    collect::{DATA_NOT_ORDERS, Kept, fenced},
    tools::{
        discovery::line,
        shown::{only_read, plain, reads, with_notes},
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
    total_minutes: u64,
    notes: Vec<String>,
}

/// A paper to read.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ToRead {
    article_id: String,
    cite_key: String,
    title: String,
    minutes: u64,
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
        let (mut found, notes) = gather(&self.0, call, topic, filter, input.max_papers, 1).await?;
        put_in_order(&mut found, input.priority_criteria);
        // What was taken back is not what to begin with.
        found.sort_by_key(|it| it.kept.article.retracted == Some(true));
        let mut said = format!("# To read on {}\n\n", plain(topic));
        if found.is_empty() {
            said.push_str("Nothing in the collection fits.\n");
        }
        if input.include_summaries && !found.is_empty() {
            let _ = writeln!(said, "{DATA_NOT_ORDERS}\n");
        }
        let mut papers = Vec::new();
        for it in &found {
            let minutes = minutes(&it.kept);
            let _ = write!(
                said,
                "- [ ] {} (`{}`)",
                line(&it.kept.article),
                it.kept.cite_key
            );
            if input.reading_time_estimate {
                let _ = write!(said, ", about {minutes} min");
            }
            said.push('\n');
            if let (true, Some(summary)) = (input.include_summaries, &it.kept.article.summary) {
                let told = fenced(
                    &[("article", &it.kept.cite_key)],
                    &cut_to_chars(summary, 300),
                );
                let _ = writeln!(said, "{told}");
            }
            papers.push(ToRead {
                article_id: it.kept.id.clone(),
                cite_key: it.kept.cite_key.clone(),
                title: it.kept.article.title.clone(),
                minutes,
            });
        }
        let total_minutes = papers.iter().map(|it| it.minutes).sum();
        if input.reading_time_estimate && !papers.is_empty() {
            let _ = writeln!(said, "\nIn all about {total_minutes} min.");
        }
        Ok(only_read(Output {
            said: with_notes(said, &notes),
            total_minutes,
            papers,
            notes,
        }))
    }
}

/// A thousand characters a minute, as people read who have to understand; a quarter of an hour at
/// least.
fn minutes(kept: &Kept) -> u64 {
    (kept.chars / 1_000).max(15)
}

fn put_in_order(found: &mut [Gathered], priority: Priority) {
    let citations = |it: &Gathered| it.kept.article.citation_count.unwrap_or(0);
    let date = |it: &Gathered| it.kept.article.date.map_or(0, PartialDate::as_number);
    match priority {
        Priority::Relevance => {}
        Priority::Citations => found.sort_by_key(|it| Reverse(citations(it))),
        Priority::Recent => found.sort_by_key(|it| Reverse(date(it))),
        Priority::Comprehensive => {
            let ranks: Vec<(String, usize)> = ranks(found);
            let rank = |it: &Gathered| {
                ranks
                    .iter()
                    .find(|(id, _)| *id == it.kept.id)
                    .map_or(0, |it| it.1)
            };
            found.sort_by_key(rank);
        }
    }
}

/// The sum of its places by relevance, by citations and by date, for each by its id.
fn ranks(found: &[Gathered]) -> Vec<(String, usize)> {
    let place_by = |key: &dyn Fn(&Gathered) -> i64, it: &Gathered| {
        found.iter().filter(|other| key(other) > key(it)).count()
    };
    let citations = |it: &Gathered| {
        i64::try_from(it.kept.article.citation_count.unwrap_or(0)).unwrap_or(i64::MAX)
    };
    let date = |it: &Gathered| it.kept.article.date.map_or(0, PartialDate::as_number);
    let all = found.iter().enumerate().map(|(at, it)| {
        (
            it.kept.id.clone(),
            at + place_by(&citations, it) + place_by(&date, it),
        )
    });
    all.collect()
}
