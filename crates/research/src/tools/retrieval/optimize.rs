//! `optimize_search`: queries really run and timed, by words, by meaning and by both.

use std::{collections::BTreeSet, fmt::Write as _, sync::Arc, time::Duration};

use deliberate_core::cut_to_chars;
use deliberate_index::{Hits, Query, SearchMode};
use deliberate_store::{ItemFilter, Page};
use deliberate_toolkit::{About, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::shown::{only_read, plain, reads};
use crate::{
    Lab, Rerank,
    collect::{ARTICLE, Library, index_told, mode_name},
};

const MOST_QUERIES: usize = 5;
const K: usize = 10;

/// How often each query is run; the middle time counts.
const RUNS: usize = 5;

/// `optimize_search`.
pub(crate) struct OptimizeSearch(pub(crate) Arc<Lab>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Default: titles of the newest articles, which should find their own article first
    #[schemars(length(max = 5))]
    test_queries: Option<Vec<String>>,
    #[serde(default)]
    optimization_focus: Focus,
    /// false: only tells the settings
    #[serde(default = "yes")]
    analyze_performance: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Focus {
    Speed,
    Relevance,
    Recall,
    #[default]
    Balanced,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    measured: Vec<Measured>,
    settings: Settings,
    /// What the figures suggest; nothing was changed
    suggestions: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Measured {
    query: String,
    mode: &'static str,
    /// Of the middle run
    milliseconds: f64,
    passages: usize,
    articles: usize,
    /// The place of the article whose title the query is
    #[serde(skip_serializing_if = "Option::is_none")]
    own_rank: Option<usize>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Settings {
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

    fn about(&self) -> About {
        reads(
            "optimize_search",
            "Measure search",
            "Run test queries by words, by meaning and by both; report measured times, what each \
             found, and the settings.",
        )
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let settings = self.settings().await?;
        let mut measured = Vec::new();
        if input.analyze_performance {
            let queries = self.queries(&input, call).await?;
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
        let suggestions = suggestions(&measured, &settings, input.optimization_focus);
        Ok(only_read(Output {
            said: said(&measured, &settings, &suggestions),
            measured,
            settings,
            suggestions,
        }))
    }
}

impl OptimizeSearch {
    async fn settings(&self) -> Result<Settings, ToolError> {
        let retrieval = &self.0.options().retrieval;
        let stats = self.0.keeper().stats().await.map_err(index_told)?;
        Ok(Settings {
            passage_tokens: retrieval.passage_tokens,
            overlap_tokens: retrieval.overlap_tokens,
            rank_constant: retrieval.rank_constant,
            vector_weight: retrieval.vector_weight,
            text_weight: retrieval.text_weight,
            embedder: stats.embedder,
            rerank: match retrieval.rerank {
                Rerank::Off => "off",
                Rerank::Model => "model",
                Rerank::Endpoint { .. } => "endpoint",
            },
            passages: stats.passages,
            missing_vectors: stats.missing_vectors,
        })
    }

    /// The queries, with the article that each should find first, if that is known.
    async fn queries(
        &self,
        input: &Input,
        call: &Call,
    ) -> Result<Vec<(String, Option<String>)>, ToolError> {
        let given = input
            .test_queries
            .iter()
            .flatten()
            .filter(|it| !it.trim().is_empty());
        let given: Vec<_> = given
            .take(MOST_QUERIES)
            .map(|it| (it.clone(), None))
            .collect();
        if !given.is_empty() {
            return Ok(given);
        }
        let newest = Page::first(u32::try_from(MOST_QUERIES).unwrap_or(5));
        let found = Library(call.store())
            .list(&ItemFilter::of(ARTICLE), newest)
            .await?;
        let of = |kept: crate::collect::Kept| (kept.article.title.clone(), Some(kept.id));
        let titles = found.into_iter().map(|it| of(it.kept));
        Ok(titles
            .filter(|(title, _)| !title.trim().is_empty())
            .collect())
    }

    async fn measure(
        &self,
        text: &str,
        own: Option<&str>,
        mode: SearchMode,
    ) -> Result<Measured, ToolError> {
        let query = Query {
            text: text.to_owned(),
            k: K,
            mode,
            fusion: self.0.fusion(),
            ..Query::default()
        };
        let mut times = Vec::new();
        let mut last = Hits::default();
        for _ in 0..RUNS {
            last = self.0.ask_index(&query).await?;
            times.push(last.took.total);
        }
        times.sort();
        let middle: Duration = times.get(RUNS / 2).copied().unwrap_or_default();
        let mut order = Vec::<&str>::new();
        for hit in &last.hits {
            if !order.contains(&hit.document.as_str()) {
                order.push(&hit.document);
            }
        }
        let own_rank = own.and_then(|own| order.iter().position(|it| *it == own));
        Ok(Measured {
            query: cut_to_chars(text, 200),
            mode: mode_name(mode),
            milliseconds: (middle.as_secs_f64() * 100_000.0).round() / 100.0,
            passages: last.hits.len(),
            articles: order.into_iter().collect::<BTreeSet<_>>().len(),
            own_rank: own_rank.map(|at| at + 1),
            notes: last.notes,
        })
    }
}

/// What follows from the figures; what they do not show is not said.
fn suggestions(measured: &[Measured], settings: &Settings, focus: Focus) -> Vec<String> {
    let of = |mode: &'static str| measured.iter().filter(move |it| it.mode == mode);
    let mean = |mode: &'static str| {
        let many = of(mode).count().max(1) as f64;
        of(mode).map(|it| it.milliseconds).sum::<f64>() / many
    };
    let first = |mode: &'static str| of(mode).filter(|it| it.own_rank == Some(1)).count();
    let mut all = Vec::new();
    if settings.passages == 0 {
        all.push("The index is empty: process_pdf or add_article fills it.".to_owned());
    }
    if settings.missing_vectors > 0 {
        all.push(format!(
            "{} passages have no vector yet; searches by meaning miss them.",
            settings.missing_vectors
        ));
    }
    if settings.embedder.is_none() {
        all.push("No embedder is set: search is by words alone.".to_owned());
    }
    let faster = mean("text") < mean("hybrid") / 2.0;
    if matches!(focus, Focus::Speed | Focus::Balanced) && faster && of("hybrid").count() > 0 {
        all.push(format!(
            "By words alone took {:.2} ms on average, by both {:.2} ms.",
            mean("text"),
            mean("hybrid")
        ));
    }
    if focus != Focus::Speed && measured.iter().any(|it| it.own_rank.is_some()) {
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

fn said(measured: &[Measured], settings: &Settings, suggestions: &[String]) -> String {
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
            plain(&it.query).replace('|', "/"),
            it.mode,
            it.milliseconds,
            it.passages,
            it.articles,
            it.own_rank.map_or("–".to_owned(), |rank| rank.to_string())
        );
    }
    let _ = write!(
        said,
        "\nSettings: passages of {} tokens, {} shared; rank constant {}, weights {} by meaning and \
         {} by words; embedder {}; rerank {}; {} passages.\n",
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
