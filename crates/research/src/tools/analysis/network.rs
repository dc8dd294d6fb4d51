//! The `explore_citation_network` tool: shows which papers cite a paper and which it cites.

use std::{fmt::Write as _, sync::Arc};

use deliberate_core::{Article, PromptFence, truncate_chars};
use deliberate_toolkit::{
    ErrorCode, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ResearchServices,
    analysis::{CitationNetwork, build_citation_network},
    articles::{ArticleRecord, ArticleRepository},
    ingest::metadata_lookup::look_up,
    prompt_fence::prompt_fence,
    sources::{CitationDirection, PaperId},
    tools::{
        citations::CollectionCitations,
        discovery::paper_line,
        rendering::{custom_error, escape_markdown, read_only_output, tool_meta},
    },
};

/// The `explore_citation_network` tool.
pub(crate) struct ExploreCitationNetwork(pub(super) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// An article, a DOI or an arXiv id
    article_id: String,
    #[serde(default = "default_depth")]
    #[schemars(range(min = 1, max = 3))]
    depth: u32,
    #[serde(default = "yes")]
    include_metrics: bool,
}

fn default_depth() -> u32 {
    1
}

fn yes() -> bool {
    true
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<NetworkMetrics>,
    /// Works cited together with it: number, and count of works that cite both
    cited_together: Vec<(usize, usize)>,
    /// From the collection, if no source knows the citations
    #[serde(skip_serializing_if = "Option::is_none")]
    in_collection: Option<CollectionCitations>,
    #[serde(flatten)]
    network: CitationNetwork,
}

/// Figures of the network.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NetworkMetrics {
    citation_count: Option<u64>,
    citations_per_year: Option<f64>,
    citing_shown: usize,
    cited_shown: usize,
}

impl Tool for ExploreCitationNetwork {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "explore_citation_network",
            "Explore citation network",
            "Papers that cite a paper, that it cites, and that are cited together with it",
            ToolHints {
                open_world: true,
                ..ToolHints::READ_ONLY
            },
        )
    }

    fn may_run_in_background(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let (article, kept) = self.resolve_article(call, &input.article_id).await?;
        call.progress(0.0, None, "asking sources for citations");
        let mut network = build_citation_network(&self.0, &article, input.depth).await;
        let in_collection = match kept.filter(|_| network.answered.is_empty()) {
            Some(kept) => {
                let notes = &mut network.problems;
                CollectionCitations::load(
                    ArticleRepository(call.store()),
                    &kept,
                    MAX_PER_DIRECTION,
                    notes,
                )
                .await?
            }
            None => None,
        };
        if network.answered.is_empty() && network.failed && in_collection.is_none() {
            let problems = network.problems.join("; ");
            return Err(custom_error(
                ErrorCode::SourcesFailed,
                format!("no source could report its citations: {problems}"),
                "Try again later; extract_citations reads the article's own references.",
            ));
        }
        let metrics = input
            .include_metrics
            .then(|| compute_metrics(&network, call));
        Ok(read_only_output(Output {
            said: render_text(
                &network,
                metrics.as_ref(),
                input.depth,
                in_collection.as_ref(),
                &prompt_fence(call),
            ),
            metrics,
            cited_together: co_cited(&network),
            in_collection,
            network,
        }))
    }
}

impl ExploreCitationNetwork {
    /// Finds the article in the collection, or looks up its identifier.
    async fn resolve_article(
        &self,
        call: &ToolContext,
        identifier: &str,
    ) -> Result<(Article, Option<ArticleRecord>), ToolError> {
        let library = ArticleRepository(call.store());
        let found = match PaperId::parse(identifier) {
            Some(id) => library.look_up(identifier).await?.ok_or(id),
            None => Ok(library.find(identifier).await?),
        };
        let id = match found {
            Ok(found) => return Ok((found.record.article.clone(), Some(found.record))),
            Err(id) => id,
        };
        let known = look_up(&self.0, &id).await;
        match known.article {
            Some(article) => Ok((article, None)),
            None if known.answered && known.notes.is_empty() => Err(custom_error(
                ErrorCode::PaperNotFound,
                "no source knows it",
                "Check the id; search_papers finds papers by title.",
            )),
            // Sources may know its citations without its record.
            None => Ok((article_from_id(id, identifier), None)),
        }
    }
}

/// A work of which only the identifier is known.
fn article_from_id(id: PaperId, identifier: &str) -> Article {
    let mut article = Article {
        title: identifier.trim().to_owned(),
        ..Article::default()
    };
    match id {
        PaperId::Doi(doi) => article.doi = Some(doi),
        PaperId::Arxiv(id) => article.arxiv_id = Some(id),
        PaperId::Pubmed(id) => article.pmid = Some(id),
        PaperId::Pmc(id) => article.pmcid = Some(id),
        PaperId::SemanticScholar(id) => article.s2_id = Some(id),
        PaperId::OpenAlex(id) => article.openalex_id = Some(id),
    }
    article
}

fn compute_metrics(network: &CitationNetwork, call: &ToolContext) -> NetworkMetrics {
    let middle = network.nodes.first().map(|it| &it.article);
    let count = middle.and_then(|it| it.citation_count);
    let year = middle.and_then(Article::year).map(i64::from);
    let micros_of_year = 31_556_952_000_000;
    let this_year = 1970 + call.now().as_micros() / micros_of_year;
    let years = year.map(|it| (this_year - it + 1).max(1));
    NetworkMetrics {
        citation_count: count,
        citations_per_year: count
            .zip(years)
            .map(|(count, years)| count as f64 / years as f64),
        citing_shown: network.neighbors(CitationDirection::Citing).len(),
        cited_shown: network.neighbors(CitationDirection::Cited).len(),
    }
}

/// Co-cited works in the output.
const MAX_CO_CITED: usize = 5;

/// Citations from the collection's own bibliographies in each direction.
const MAX_PER_DIRECTION: usize = 30;

fn co_cited(network: &CitationNetwork) -> Vec<(usize, usize)> {
    let all = network.co_cited().into_iter().take(MAX_CO_CITED);
    all.map(|(node, many)| (node.number, many)).collect()
}

/// Lists works that are more than one citation away, with the works that lead to them.
fn render_distant_works(network: &CitationNetwork) -> String {
    let mut text = String::new();
    for node in network.nodes.iter().filter(|it| it.distance > 1) {
        if text.is_empty() {
            text.push_str("\n## Farther away\n\n");
        }
        let title = |number: usize| {
            let other = network
                .nodes
                .get(number)
                .filter(|it| it.distance < node.distance)?;
            Some(truncate_chars(&escape_markdown(&other.article.title), 60))
        };
        let by = network.edges.iter().filter_map(|edge| {
            if edge.cited == node.number {
                title(edge.citing).map(|it| format!("cited by “{it}”"))
            } else if edge.citing == node.number {
                title(edge.cited).map(|it| format!("cites “{it}”"))
            } else {
                None
            }
        });
        let by: Vec<String> = by.take(3).collect();
        let _ = writeln!(text, "- {} ({})", paper_line(&node.article), by.join(", "));
    }
    text
}

fn render_text(
    network: &CitationNetwork,
    metrics: Option<&NetworkMetrics>,
    depth: u32,
    in_collection: Option<&CollectionCitations>,
    fence: &PromptFence,
) -> String {
    let mut text = String::new();
    if let Some(middle) = network.nodes.first() {
        let _ = writeln!(text, "# {}\n", escape_markdown(&middle.article.title));
    }
    if let Some(metrics) = metrics {
        let count = metrics
            .citation_count
            .map_or_else(|| "unknown".to_owned(), |it| it.to_string());
        let _ = write!(text, "Citations: {count}");
        if let Some(per_year) = metrics.citations_per_year {
            let _ = write!(text, ", {per_year:.1} per year");
        }
        text.push('\n');
    }
    for (title, direction) in [
        ("Cited by", CitationDirection::Citing),
        ("Cites", CitationDirection::Cited),
    ] {
        let nodes = network.neighbors(direction);
        let _ = writeln!(text, "\n## {title} ({})\n", nodes.len());
        for node in nodes {
            let _ = writeln!(text, "- {}", paper_line(&node.article));
        }
    }
    let together = network.co_cited();
    let is_alone = network.nodes.len() < 2;
    if !together.is_empty() {
        text.push_str("\n## Cited together with it\n\n");
        for (node, many) in together.into_iter().take(MAX_CO_CITED) {
            let _ = writeln!(text, "- {} (by {many})", paper_line(&node.article));
        }
    } else if depth > 1 {
        text.push_str("\nNo works that are cited together with it were found.\n");
    } else if !is_alone {
        text.push_str("\nUse depth 2 to find works that are cited together with it.\n");
    }
    text.push_str(&render_distant_works(network));
    text.push_str(
        &in_collection
            .map(|it| it.render_text(fence))
            .unwrap_or_default(),
    );
    for problem in &network.problems {
        let _ = writeln!(text, "\n{}", escape_markdown(problem));
    }
    text
}
