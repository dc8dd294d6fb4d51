//! The `generate_reading_list` tool: orders articles on a topic for reading.

use std::{fmt::Write as _, sync::Arc};

use deliberate_core::{PromptFence, truncate_chars};
use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ArticleFilter, ResearchServices,
    analysis::{TopicArticle, find_topic_articles},
    articles::ArticleRecord,
    prompt_fence::{fence_passage, prompt_fence, untrusted_data_notice},
    retrieval::sorting::OrderBy,
    tools::{
        discovery::paper_line,
        rendering::{escape_markdown, pluralize, read_only_meta, read_only_output, with_notes},
    },
};

/// The `generate_reading_list` tool.
pub(crate) struct GenerateReadingList(pub(super) Arc<ResearchServices>);

/// Order of a reading list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Priority {
    #[default]
    Relevance,
    Citations,
    Recent,
    /// All three combined.
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

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    /// In reading order
    papers: Vec<ReadingListEntry>,
    /// Of papers with a text
    #[serde(skip_serializing_if = "Option::is_none")]
    total_minutes: Option<u64>,
    notes: Vec<String>,
}

/// A paper to read.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReadingListEntry {
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

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "generate_reading_list",
            "Generate reading list",
            "Articles on a topic in the order in which to read them, as a checklist",
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let topic = call.check_content("topic_or_query", &input.topic_or_query)?;
        let filter = ArticleFilter::default();
        let order = (input.priority_criteria.order(), input.max_papers);
        let (mut found, notes) =
            find_topic_articles(&self.0, call, topic, filter, order, 1).await?;
        // Retracted papers come last.
        found.sort_by_key(|it| it.record.article.retracted == Some(true));
        let timed =
            |it: &TopicArticle| reading_minutes(&it.record).filter(|_| input.reading_time_estimate);
        let papers: Vec<ReadingListEntry> = found
            .iter()
            .map(|it| ReadingListEntry {
                article_id: it.record.id.clone(),
                cite_key: it.record.cite_key.clone(),
                title: it.record.article.title.clone(),
                minutes: timed(it),
            })
            .collect();
        let fence = prompt_fence(call);
        let mut said = format!("# Reading list: {}\n\n", escape_markdown(topic));
        if found.is_empty() {
            said.push_str("Nothing in the collection matches.\n");
        }
        if input.include_summaries && !found.is_empty() {
            let _ = writeln!(said, "{}\n", untrusted_data_notice(&fence));
        }
        for it in &found {
            let fence = input.include_summaries.then_some(&fence);
            said.push_str(&render_entry(it, timed(it), fence));
        }
        let known = papers.iter().filter_map(|it| it.minutes);
        let total_minutes = known.reduce(|one, other| one + other);
        if let Some(total) = total_minutes {
            let _ = write!(said, "\nAbout {total} min in total");
            let without = papers.iter().filter(|it| it.minutes.is_none()).count();
            if without > 0 {
                let without = pluralize(without as u64, "paper");
                let _ = write!(said, ", plus {without} without a text");
            }
            said.push_str(".\n");
        }
        Ok(read_only_output(Output {
            said: with_notes(said, &notes),
            total_minutes,
            papers,
            notes,
        }))
    }
}

/// Renders a paper as one line, with its summary below if there is a fence for it.
fn render_entry(it: &TopicArticle, minutes: Option<u64>, fence: Option<&PromptFence>) -> String {
    let kept = &it.record;
    let mut said = format!("- [ ] {} (`{}`)", paper_line(&kept.article), kept.cite_key);
    if let Some(minutes) = minutes {
        let _ = write!(said, ", about {minutes} min");
    }
    said.push('\n');
    if let Some((summary, fence)) = kept.article.summary.as_ref().zip(fence) {
        let told = fence_passage(
            fence,
            &[("article", &kept.cite_key)],
            &truncate_chars(summary, 300),
        );
        let _ = writeln!(said, "{told}");
    }
    said
}

/// Reading time at a thousand characters per minute, the speed of careful reading; at least 15
/// minutes. Without a text the length is unknown.
fn reading_minutes(record: &ArticleRecord) -> Option<u64> {
    (record.pages > 0).then(|| (record.chars / 1_000).max(15))
}
