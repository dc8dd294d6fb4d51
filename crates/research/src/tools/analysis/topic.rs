//! `analyze_topic` and `search_by_topic`.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use deliberate_core::{Author, PartialDate};
use deliberate_toolkit::{About, Call, Issue, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ArticleFilter, Lab,
    analyse::{Gathered, gather},
    collect::{DATA_NOT_ORDERS, OrderBy, Place, fenced},
    tools::{
        discovery::line,
        shown::{count, only_read, plain, reads, with_notes},
    },
};

/// `analyze_topic`.
pub(crate) struct AnalyzeTopic(pub(super) Arc<Lab>);

/// How closely it is looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Depth {
    /// Papers alone.
    Quick,
    /// With the best passage of each.
    #[default]
    Medium,
    /// With several.
    Deep,
}

impl Depth {
    const fn passages(self) -> usize {
        match self {
            Self::Quick => 0,
            Self::Medium => 1,
            Self::Deep => 3,
        }
    }
}

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopicInput {
    #[schemars(length(min = 1, max = 1000))]
    topic: String,
    #[serde(default)]
    depth: Depth,
    #[serde(default = "ten")]
    #[schemars(range(min = 3, max = 50))]
    max_papers: usize,
}

fn ten() -> usize {
    10
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TopicOutput {
    said: String,
    /// The best first
    papers: Vec<TopicPaper>,
    /// Who wrote most of them
    people: Vec<(String, usize)>,
    venues: Vec<(String, usize)>,
    /// The first and the last year
    period: Option<(u16, u16)>,
    notes: Vec<String>,
}

/// A paper about it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TopicPaper {
    article_id: String,
    cite_key: String,
    title: String,
    year: Option<u16>,
    venue: Option<String>,
    citation_count: Option<u64>,
    /// As a share of the best
    relevance: f32,
    passages: Vec<TopicPassage>,
}

/// What it says about it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TopicPassage {
    text: String,
    section: Vec<String>,
    place: Place,
}

impl TopicPaper {
    fn of(gathered: &Gathered, passages: usize) -> Self {
        let kept = &gathered.kept;
        Self {
            article_id: kept.id.clone(),
            cite_key: kept.cite_key.clone(),
            title: kept.article.title.clone(),
            year: kept.article.year(),
            venue: kept.article.venue.clone(),
            citation_count: kept.article.citation_count,
            relevance: gathered.share,
            passages: gathered
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

    fn about(&self) -> About {
        reads(
            "analyze_topic",
            "Analyze topic",
            "What the collection has on a topic: key papers with passages, people, venues, years",
        )
    }

    async fn run(&self, input: TopicInput, call: &Call) -> Result<Outcome<TopicOutput>, ToolError> {
        let topic = call.checked_content("topic", &input.topic)?;
        let each = input.depth.passages();
        let filter = ArticleFilter::default();
        let order = (OrderBy::Relevance, input.max_papers);
        let (found, notes) = gather(&self.0, call, topic, filter, order, each.max(1)).await?;
        let people = counted(
            found
                .iter()
                .flat_map(|it| it.kept.article.authors.iter().map(Author::full_name)),
        );
        let venues = counted(found.iter().filter_map(|it| it.kept.article.venue.clone()));
        let years = found.iter().filter_map(|it| it.kept.article.year());
        let period = years.clone().min().zip(years.max());
        let papers: Vec<TopicPaper> = found.iter().map(|it| TopicPaper::of(it, each)).collect();
        let many = count(papers.len() as u64, "paper");
        let mut said = format!("# {}\n\n{many} of the collection", plain(topic));
        if let Some((from, to)) = period {
            let _ = write!(said, ", {from} to {to}");
        }
        said.push('\n');
        tell(&mut said, "People", &people);
        tell(&mut said, "Venues", &venues);
        said.push_str(&listed(&found, each));
        Ok(only_read(TopicOutput {
            said: with_notes(said, &notes),
            papers,
            people,
            venues,
            period,
            notes,
        }))
    }
}

fn tell(text: &mut String, title: &str, counts: &[(String, usize)]) {
    if !counts.is_empty() {
        let all: Vec<String> = counts
            .iter()
            .map(|(name, many)| format!("{} ({many})", plain(name)))
            .collect();
        let _ = writeln!(text, "\n{title}: {}", all.join(", "));
    }
}

/// The papers, each with its passages between marks.
fn listed(found: &[Gathered], each: usize) -> String {
    if found.is_empty() {
        return "\nNothing in the collection fits.\n".to_owned();
    }
    let mut text = String::from("\n## Papers\n");
    if each > 0 {
        let _ = writeln!(text, "\n{DATA_NOT_ORDERS}");
    }
    for it in found {
        let _ = writeln!(
            text,
            "\n- {} (`{}`)",
            line(&it.kept.article),
            it.kept.cite_key
        );
        for passage in it.passages.iter().take(each) {
            let page = passage.page_label();
            let _ = writeln!(
                text,
                "{}",
                fenced(
                    &[("article", &it.kept.cite_key), ("page", &page)],
                    &passage.passage.text
                )
            );
        }
    }
    text
}

/// How often each occurs, the most frequent first.
fn counted(all: impl Iterator<Item = String>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for it in all {
        *counts.entry(it).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    counts.truncate(10);
    counts
}

/// `search_by_topic`.
pub(crate) struct SearchByTopic(pub(super) Arc<Lab>);

/// In which order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Order {
    /// The best first.
    #[default]
    Relevance,
    /// The newest first.
    Date,
    /// The most cited first.
    Citations,
}

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchInput {
    #[schemars(length(min = 1, max = 1000))]
    topic: String,
    year_from: Option<i32>,
    year_to: Option<i32>,
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
    #[serde(default)]
    sort_by: Order,
}

fn twenty() -> usize {
    20
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SearchOutput {
    said: String,
    papers: Vec<TopicPaper>,
    notes: Vec<String>,
}

impl Tool for SearchByTopic {
    type Input = SearchInput;
    type Output = SearchOutput;

    fn about(&self) -> About {
        reads(
            "search_by_topic",
            "Search by topic",
            "Articles of the collection on a topic, within years",
        )
    }

    async fn run(
        &self,
        input: SearchInput,
        call: &Call,
    ) -> Result<Outcome<SearchOutput>, ToolError> {
        let topic = call.checked_content("topic", &input.topic)?;
        let (from, to) = years(input.year_from, input.year_to)?;
        let filter = ArticleFilter {
            date_from: from,
            date_to: to,
            ..ArticleFilter::default()
        };
        let order = match input.sort_by {
            Order::Relevance => OrderBy::Relevance,
            Order::Date => OrderBy::Date,
            Order::Citations => OrderBy::Citations,
        };
        let order = (order, input.limit);
        let (found, notes) = gather(&self.0, call, topic, filter, order, 1).await?;
        let said = format!("# {}\n{}", plain(topic), listed(&found, 0));
        Ok(only_read(SearchOutput {
            said: with_notes(said, &notes),
            papers: found.iter().map(|it| TopicPaper::of(it, 0)).collect(),
            notes,
        }))
    }
}

/// Two years as dates, in their order.
pub(super) fn years(
    from: Option<i32>,
    to: Option<i32>,
) -> Result<(Option<PartialDate>, Option<PartialDate>), ToolError> {
    let (from, to) = (year("year_from", from)?, year("year_to", to)?);
    if from.zip(to).is_some_and(|(from, to)| from.year > to.year) {
        let issue = Issue::new("year_to", "must not be before year_from");
        return Err(ToolError::Invalid(vec![issue]));
    }
    Ok((from, to))
}

/// A year as a date.
fn year(field: &str, year: Option<i32>) -> Result<Option<PartialDate>, ToolError> {
    let Some(year) = year else {
        return Ok(None);
    };
    let date = PartialDate::new(year, None, None);
    let issue = || Issue::new(field, "must be a year from 1000 to 9999").given(&year.into());
    date.map(Some)
        .ok_or_else(|| ToolError::Invalid(vec![issue()]))
}
