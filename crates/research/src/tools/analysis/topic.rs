//! The `analyze_topic` and `search_by_topic` tools: articles of the collection on a topic.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use deliberate_core::{Author, PartialDate, PromptFence};
use deliberate_toolkit::{ArgumentIssue, Tool, ToolContext, ToolError, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ArticleFilter, ResearchServices,
    analysis::{TopicArticle, find_topic_articles},
    articles::TextSpan,
    prompt_fence::{fence_passage, prompt_fence, untrusted_data_notice},
    retrieval::sorting::OrderBy,
    tools::{
        discovery::paper_line,
        rendering::{escape_markdown, pluralize, read_only_meta, read_only_output, with_notes},
    },
};

/// The `analyze_topic` tool.
pub(crate) struct AnalyzeTopic(pub(super) Arc<ResearchServices>);

/// Detail of a topic analysis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum TopicDepth {
    /// Papers without passages.
    Quick,
    /// With the best passage of each paper.
    #[default]
    Medium,
    /// With several passages of each paper.
    Deep,
}

impl TopicDepth {
    const fn passages(self) -> usize {
        match self {
            Self::Quick => 0,
            Self::Medium => 1,
            Self::Deep => 3,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopicInput {
    #[schemars(length(min = 1, max = 1000))]
    topic: String,
    #[serde(default)]
    depth: TopicDepth,
    #[serde(default = "ten")]
    #[schemars(range(min = 3, max = 50))]
    max_papers: usize,
}

fn ten() -> usize {
    10
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TopicOutput {
    said: String,
    /// Best first
    papers: Vec<TopicPaper>,
    /// Most frequent authors
    people: Vec<(String, usize)>,
    venues: Vec<(String, usize)>,
    /// First and last year
    period: Option<(u16, u16)>,
    notes: Vec<String>,
}

/// A paper on the topic.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TopicPaper {
    article_id: String,
    cite_key: String,
    title: String,
    year: Option<u16>,
    venue: Option<String>,
    citation_count: Option<u64>,
    /// Relative to the best
    relevance: f32,
    passages: Vec<TopicPassage>,
}

/// A passage on the topic.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TopicPassage {
    text: String,
    section: Vec<String>,
    place: TextSpan,
}

impl TopicPaper {
    fn from_topic_article(article: &TopicArticle, passages: usize) -> Self {
        let kept = &article.record;
        Self {
            article_id: kept.id.clone(),
            cite_key: kept.cite_key.clone(),
            title: kept.article.title.clone(),
            year: kept.article.year(),
            venue: kept.article.venue.clone(),
            citation_count: kept.article.citation_count,
            relevance: article.relative_score,
            passages: article
                .passages
                .iter()
                .take(passages)
                .map(|it| TopicPassage {
                    text: it.passage.text.clone(),
                    section: it.passage.section.clone(),
                    place: it.place,
                })
                .collect(),
        }
    }
}

impl Tool for AnalyzeTopic {
    type Input = TopicInput;
    type Output = TopicOutput;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "analyze_topic",
            "Analyze topic",
            "What the collection has on a topic: key papers with passages, people, venues, years",
        )
    }

    async fn run(
        &self,
        input: TopicInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<TopicOutput>, ToolError> {
        let topic = call.check_content("topic", &input.topic)?;
        let each = input.depth.passages();
        let filter = ArticleFilter::default();
        let order = (OrderBy::Relevance, input.max_papers);
        let (found, notes) =
            find_topic_articles(&self.0, call, topic, filter, order, each.max(1)).await?;
        let people = count_occurrences(
            found
                .iter()
                .flat_map(|it| it.record.article.authors.iter().map(Author::full_name)),
        );
        let venues = count_occurrences(
            found
                .iter()
                .filter_map(|it| it.record.article.venue.clone()),
        );
        let years = found.iter().filter_map(|it| it.record.article.year());
        let period = years.clone().min().zip(years.max());
        let papers: Vec<TopicPaper> = found
            .iter()
            .map(|it| TopicPaper::from_topic_article(it, each))
            .collect();
        let many = pluralize(papers.len() as u64, "paper");
        let mut said = format!("# {}\n\n{many} of the collection", escape_markdown(topic));
        if let Some((from, to)) = period {
            let _ = write!(said, ", {from} to {to}");
        }
        said.push('\n');
        push_counts(&mut said, "People", &people);
        push_counts(&mut said, "Venues", &venues);
        said.push_str(&render_papers(&found, each, &prompt_fence(call)));
        Ok(read_only_output(TopicOutput {
            said: with_notes(said, &notes),
            papers,
            people,
            venues,
            period,
            notes,
        }))
    }
}

fn push_counts(text: &mut String, title: &str, counts: &[(String, usize)]) {
    if !counts.is_empty() {
        let all: Vec<String> = counts
            .iter()
            .map(|(name, many)| format!("{} ({many})", escape_markdown(name)))
            .collect();
        let _ = writeln!(text, "\n{title}: {}", all.join(", "));
    }
}

/// Renders the papers with their fenced passages.
fn render_papers(found: &[TopicArticle], each: usize, fence: &PromptFence) -> String {
    if found.is_empty() {
        return "\nNothing in the collection matches.\n".to_owned();
    }
    let mut text = String::from("\n## Papers\n");
    if each > 0 {
        let _ = writeln!(text, "\n{}", untrusted_data_notice(fence));
    }
    for it in found {
        let _ = writeln!(
            text,
            "\n- {} (`{}`)",
            paper_line(&it.record.article),
            it.record.cite_key
        );
        for passage in it.passages.iter().take(each) {
            let page = passage.page_label();
            let _ = writeln!(
                text,
                "{}",
                fence_passage(
                    fence,
                    &[("article", &it.record.cite_key), ("page", &page)],
                    &passage.passage.text
                )
            );
        }
    }
    text
}

/// Counts occurrences, most frequent first.
fn count_occurrences(all: impl Iterator<Item = String>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for it in all {
        *counts.entry(it).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    counts.truncate(10);
    counts
}

/// The `search_by_topic` tool.
pub(crate) struct SearchByTopic(pub(super) Arc<ResearchServices>);

/// Order of results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum TopicOrder {
    #[default]
    Relevance,
    /// Newest first.
    Date,
    /// Most cited first.
    Citations,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopicSearchInput {
    #[schemars(length(min = 1, max = 1000))]
    topic: String,
    year_from: Option<i32>,
    year_to: Option<i32>,
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
    #[serde(default)]
    sort_by: TopicOrder,
}

fn twenty() -> usize {
    20
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TopicSearchOutput {
    said: String,
    papers: Vec<TopicPaper>,
    notes: Vec<String>,
}

impl Tool for SearchByTopic {
    type Input = TopicSearchInput;
    type Output = TopicSearchOutput;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "search_by_topic",
            "Search by topic",
            "Articles of the collection on a topic, within years",
        )
    }

    async fn run(
        &self,
        input: TopicSearchInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<TopicSearchOutput>, ToolError> {
        let topic = call.check_content("topic", &input.topic)?;
        let (from, to) = year_range(input.year_from, input.year_to)?;
        let filter = ArticleFilter {
            date_from: from,
            date_to: to,
            ..ArticleFilter::default()
        };
        let order = match input.sort_by {
            TopicOrder::Relevance => OrderBy::Relevance,
            TopicOrder::Date => OrderBy::Date,
            TopicOrder::Citations => OrderBy::Citations,
        };
        let order = (order, input.limit);
        let (found, notes) = find_topic_articles(&self.0, call, topic, filter, order, 1).await?;
        let shown = render_papers(&found, 0, &prompt_fence(call));
        let said = format!("# {}\n{shown}", escape_markdown(topic));
        Ok(read_only_output(TopicSearchOutput {
            said: with_notes(said, &notes),
            papers: found
                .iter()
                .map(|it| TopicPaper::from_topic_article(it, 0))
                .collect(),
            notes,
        }))
    }
}

/// Converts two years to dates and checks their order.
pub(super) fn year_range(
    from: Option<i32>,
    to: Option<i32>,
) -> Result<(Option<PartialDate>, Option<PartialDate>), ToolError> {
    let (from, to) = (parse_year("year_from", from)?, parse_year("year_to", to)?);
    if from.zip(to).is_some_and(|(from, to)| from.year > to.year) {
        let issue = ArgumentIssue::new("year_to", "must not be before year_from");
        return Err(ToolError::Invalid(vec![issue]));
    }
    Ok((from, to))
}

/// Converts a year to a date.
fn parse_year(field: &str, year: Option<i32>) -> Result<Option<PartialDate>, ToolError> {
    let Some(year) = year else {
        return Ok(None);
    };
    let date = PartialDate::new(year, None, None);
    let issue =
        || ArgumentIssue::new(field, "must be a year from 1000 to 9999").with_value(&year.into());
    date.map(Some)
        .ok_or_else(|| ToolError::Invalid(vec![issue()]))
}
