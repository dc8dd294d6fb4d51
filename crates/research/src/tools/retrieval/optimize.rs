//! The `optimize_search` tool: runs and times queries by words, by meaning, and by both.

use std::{collections::BTreeSet, fmt::Write as _, sync::Arc, time::Duration};

use deliberate_core::truncate_chars;
use deliberate_index::{PassageHits, Query, SearchMode};
use deliberate_store::{DocumentFilter, Pagination};
use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    RerankOptions, ResearchServices,
    articles::{ARTICLE, ArticleRepository},
    retrieval::{query::mode_name, retriever::index_error},
    tools::rendering::{escape_markdown, read_only_meta, read_only_output},
};

const MAX_QUERIES: usize = 5;
const TOP_K: usize = 10;

/// Runs of each query; the median time counts.
const RUNS_PER_QUERY: usize = 5;

/// The `optimize_search` tool.
pub(crate) struct OptimizeSearch(pub(crate) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Default: titles of the newest articles, each of which should find its article first
    #[schemars(length(max = 5))]
    test_queries: Option<Vec<String>>,
    #[serde(default)]
    optimization_focus: OptimizeFocus,
    /// false: only report the settings
    #[serde(default = "yes")]
    analyze_performance: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum OptimizeFocus {
    Speed,
    Relevance,
    Recall,
    #[default]
    Balanced,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    measured: Vec<SearchMeasurement>,
    settings: SearchIndexSettings,
    /// Suggestions from the measurements; nothing was changed
    suggestions: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SearchMeasurement {
    query: String,
    mode: &'static str,
    /// Median
    milliseconds: f64,
    passages: usize,
    articles: usize,
    /// Rank of the article whose title is the query
    #[serde(skip_serializing_if = "Option::is_none")]
    own_rank: Option<usize>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SearchIndexSettings {
    passage_tokens: usize,
    overlap_tokens: usize,
    rank_constant: f64,
    vector_weight: f64,
    text_weight: f64,
    embedder: Option<String>,
    rerank: &'static str,
    passages: u64,
    missing_vectors: u64,
}

impl Tool for OptimizeSearch {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "optimize_search",
            "Measure search",
            "Run test queries by words, by meaning and by both; report times, results and \
             settings.",
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let settings = self.load_settings().await?;
        let mut measured = Vec::new();
        if input.analyze_performance {
            let queries = self.choose_queries(&input, call).await?;
            let total = queries.len() as f64;
            for (at, (query, own)) in queries.iter().enumerate() {
                call.progress(at as f64, Some(total), &format!("{} of {total}", at + 1));
                for mode in [SearchMode::Text, SearchMode::Vector, SearchMode::Hybrid] {
                    if mode != SearchMode::Text && settings.embedder.is_none() {
                        continue;
                    }
                    measured.push(self.measure(query, own.as_deref(), mode).await?);
                }
            }
        }
        let suggestions = suggest_changes(&measured, &settings, input.optimization_focus);
        Ok(read_only_output(Output {
            said: render_text(&measured, &settings, &suggestions),
            measured,
            settings,
            suggestions,
        }))
    }
}

impl OptimizeSearch {
    async fn load_settings(&self) -> Result<SearchIndexSettings, ToolError> {
        let retrieval = &self.0.options().retrieval;
        let stats = self.0.index_sync().stats().await.map_err(index_error)?;
        Ok(SearchIndexSettings {
            passage_tokens: retrieval.passage_tokens,
            overlap_tokens: retrieval.overlap_tokens,
            rank_constant: retrieval.rank_constant,
            vector_weight: retrieval.vector_weight,
            text_weight: retrieval.text_weight,
            embedder: stats.embedder,
            rerank: match retrieval.rerank {
                RerankOptions::Off => "off",
                RerankOptions::Model => "model",
                RerankOptions::Endpoint { .. } => "endpoint",
            },
            passages: stats.passages,
            missing_vectors: stats.missing_vectors,
        })
    }

    /// The queries, each with the article that it should find first, if known.
    async fn choose_queries(
        &self,
        input: &Input,
        call: &ToolContext,
    ) -> Result<Vec<(String, Option<String>)>, ToolError> {
        let given = input
            .test_queries
            .iter()
            .flatten()
            .filter(|it| !it.trim().is_empty());
        let given: Vec<_> = given
            .take(MAX_QUERIES)
            .map(|it| (it.clone(), None))
            .collect();
        if !given.is_empty() {
            return Ok(given);
        }
        let newest = Pagination::limit(u32::try_from(MAX_QUERIES).unwrap_or(5));
        let found = ArticleRepository(call.store())
            .list(&DocumentFilter::of_kind(ARTICLE), newest)
            .await?;
        let of = |record: crate::articles::ArticleRecord| {
            (record.article.title.clone(), Some(record.id))
        };
        let titles = found.into_iter().map(|it| of(it.record));
        Ok(titles
            .filter(|(title, _)| !title.trim().is_empty())
            .collect())
    }

    async fn measure(
        &self,
        text: &str,
        own: Option<&str>,
        mode: SearchMode,
    ) -> Result<SearchMeasurement, ToolError> {
        let query = Query {
            text: text.to_owned(),
            k: TOP_K,
            mode,
            fusion: self.0.fusion(),
            ..Query::default()
        };
        let mut times = Vec::new();
        let mut last = PassageHits::default();
        for _ in 0..RUNS_PER_QUERY {
            last = self.0.search_index(&query).await?;
            times.push(last.timings.total);
        }
        times.sort();
        let middle: Duration = times.get(RUNS_PER_QUERY / 2).copied().unwrap_or_default();
        let mut order = Vec::<&str>::new();
        for hit in &last.hits {
            if !order.contains(&hit.document.as_str()) {
                order.push(&hit.document);
            }
        }
        let own_rank = own.and_then(|own| order.iter().position(|it| *it == own));
        Ok(SearchMeasurement {
            query: truncate_chars(text, 200),
            mode: mode_name(mode),
            milliseconds: (middle.as_secs_f64() * 100_000.0).round() / 100.0,
            passages: last.hits.len(),
            articles: order.into_iter().collect::<BTreeSet<_>>().len(),
            own_rank: own_rank.map(|at| at + 1),
            notes: last.notes,
        })
    }
}

/// Suggests changes that the measurements support, and no others.
fn suggest_changes(
    measured: &[SearchMeasurement],
    settings: &SearchIndexSettings,
    focus: OptimizeFocus,
) -> Vec<String> {
    let of = |mode: &'static str| measured.iter().filter(move |it| it.mode == mode);
    let mean = |mode: &'static str| {
        let many = of(mode).count().max(1) as f64;
        of(mode).map(|it| it.milliseconds).sum::<f64>() / many
    };
    let first = |mode: &'static str| of(mode).filter(|it| it.own_rank == Some(1)).count();
    let mut all = Vec::new();
    if settings.passages == 0 {
        all.push("The index is empty; fill it with process_pdf or add_article.".to_owned());
    }
    if settings.missing_vectors > 0 {
        all.push(format!(
            "{} passages have no vector yet; searches by meaning miss them.",
            settings.missing_vectors
        ));
    }
    if settings.embedder.is_none() {
        all.push("No embedder is set, so search is by words only.".to_owned());
    }
    let faster = mean("text") < mean("hybrid") / 2.0;
    if matches!(focus, OptimizeFocus::Speed | OptimizeFocus::Balanced)
        && faster
        && of("hybrid").count() > 0
    {
        all.push(format!(
            "Search by words took {:.2} ms on average, by both {:.2} ms.",
            mean("text"),
            mean("hybrid")
        ));
    }
    if focus != OptimizeFocus::Speed && measured.iter().any(|it| it.own_rank.is_some()) {
        all.push(format!(
            "Own article found first: by words {}, by meaning {}, by both {}, of {} titles.",
            first("text"),
            first("vector"),
            first("hybrid"),
            of("text").count()
        ));
        if first("text") > first("hybrid") {
            all.push("Words did better than both: a higher text_weight may help.".to_owned());
        } else if first("vector") > first("hybrid") {
            all.push("Meaning did better than both: a higher vector_weight may help.".to_owned());
        }
    }
    all
}

fn render_text(
    measured: &[SearchMeasurement],
    settings: &SearchIndexSettings,
    suggestions: &[String],
) -> String {
    let mut said = String::from("Nothing was changed.\n");
    if !measured.is_empty() {
        said.push_str(
            "\n| query | by | ms | passages | articles | own rank |\n|---|---|---|---|---|---|\n",
        );
    }
    for it in measured {
        let _ = writeln!(
            said,
            "| {} | {} | {:.2} | {} | {} | {} |",
            escape_markdown(&it.query).replace('|', "/"),
            it.mode,
            it.milliseconds,
            it.passages,
            it.articles,
            it.own_rank.map_or("–".to_owned(), |rank| rank.to_string())
        );
    }
    let _ = write!(
        said,
        "\nSettings: passages of {} tokens, overlap {}; rank constant {}, weights {} for meaning and \
         {} for words; embedder {}; rerank {}; {} passages.\n",
        settings.passage_tokens,
        settings.overlap_tokens,
        settings.rank_constant,
        settings.vector_weight,
        settings.text_weight,
        settings.embedder.as_deref().unwrap_or("none"),
        settings.rerank,
        settings.passages
    );
    for suggestion in suggestions {
        let _ = write!(said, "\n- {suggestion}");
    }
    said
}
