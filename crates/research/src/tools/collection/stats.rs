//! The `collection_stats` tool: counts of the collection and the state of its index.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use deliberate_store::{DocumentFilter, Pagination, Store};
use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ResearchServices,
    articles::ARTICLE,
    retrieval::retriever::index_error,
    tools::rendering::{pluralize, read_only_meta, read_only_output},
};

/// The `collection_stats` tool.
pub(crate) struct CollectionStats(pub(crate) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    articles: u64,
    with_text: u64,
    by_type: BTreeMap<String, u64>,
    by_category: BTreeMap<String, u64>,
    by_year: BTreeMap<String, u64>,
    /// Most frequent
    tags: Vec<(String, u64)>,
    collections: Vec<(String, u64)>,
    index: IndexState,
}

#[derive(Debug, Serialize, JsonSchema)]
struct IndexState {
    articles: u64,
    passages: u64,
    vectors: u64,
    missing_vectors: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    embedder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
    bytes: u64,
    /// Whether it is being updated
    working: bool,
    /// Of all articles, during a rebuild
    #[serde(skip_serializing_if = "Option::is_none")]
    percent: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl Tool for CollectionStats {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "collection_stats",
            "Collection statistics",
            "Counts of the collection and the state of its index.",
        )
    }

    async fn run(&self, _: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let store = call.store();
        let articles = store
            .count_documents(&DocumentFilter::of_kind(ARTICLE))
            .await?;
        let with_text = DocumentFilter::with_key(ARTICLE, "has_text", "yes");
        let values = async |name: &str, most| {
            store
                .document_values(ARTICLE, name, Pagination::limit(most))
                .await
        };
        let mut output = Output {
            said: String::new(),
            articles,
            with_text: store.count_documents(&with_text).await?,
            by_type: values("kind", 50).await?.into_iter().collect(),
            by_category: values("category", 50).await?.into_iter().collect(),
            by_year: count_by_year(store).await?,
            tags: values("tag", 50).await?,
            collections: values("collection", 100).await?,
            index: self.load_index_state().await?,
        };
        output.said = render_text(&output);
        Ok(read_only_output(output))
    }
}

/// Counts articles by year. Dates are stored with days, so there may be many.
async fn count_by_year(store: &dyn Store) -> Result<BTreeMap<String, u64>, ToolError> {
    let mut by_year = BTreeMap::<String, u64>::new();
    let mut page = Pagination::limit(Pagination::MAX);
    loop {
        let dates = store.document_values(ARTICLE, "date", page).await?;
        let last = dates.len() < Pagination::MAX as usize;
        for (date, many) in dates {
            *by_year.entry(date.chars().take(4).collect()).or_default() += many;
        }
        if last {
            return Ok(by_year);
        }
        page.offset = page.offset.saturating_add(Pagination::MAX);
    }
}

impl CollectionStats {
    async fn load_index_state(&self) -> Result<IndexState, ToolError> {
        let keeper = self.0.index_sync();
        let stats = keeper.stats().await.map_err(index_error)?;
        let progress = keeper.progress();
        Ok(IndexState {
            articles: stats.documents,
            passages: stats.passages,
            vectors: stats.vectors,
            missing_vectors: stats.missing_vectors,
            embedder: stats.embedder,
            dimensions: stats.dimensions,
            bytes: stats.bytes,
            working: progress.running,
            percent: progress.percent().filter(|_| progress.running),
            problem: progress.problem,
        })
    }
}

fn render_text(output: &Output) -> String {
    let mut said = format!(
        "{}, {} with a text.\n",
        pluralize(output.articles, "article"),
        output.with_text
    );
    let listed = |values: &mut dyn Iterator<Item = (&String, &u64)>| {
        let all: Vec<String> = values
            .map(|(name, many)| format!("{name} {many}"))
            .collect();
        all.join(", ")
    };
    let pairs = |all: &[(String, u64)]| listed(&mut all.iter().map(|(name, many)| (name, many)));
    for (name, values) in [
        ("Types", listed(&mut output.by_type.iter())),
        ("Categories", listed(&mut output.by_category.iter())),
        ("Years", listed(&mut output.by_year.iter())),
        ("Tags", pairs(&output.tags)),
        ("Collections", pairs(&output.collections)),
    ] {
        if !values.is_empty() {
            let _ = writeln!(said, "- {name}: {values}");
        }
    }
    let index = &output.index;
    let _ = write!(
        said,
        "- Index: {}, {}, {}{}",
        pluralize(index.articles, "article"),
        pluralize(index.passages, "passage"),
        pluralize(index.vectors, "vector"),
        match (index.working, index.percent) {
            (true, Some(percent)) => format!("; being rebuilt ({percent} %)"),
            (true, None) => "; being updated".to_owned(),
            _ => match output.articles.saturating_sub(index.articles) {
                0 => String::new(),
                left => format!("; {} not indexed yet", pluralize(left, "article")),
            },
        }
    );
    if index.missing_vectors > 0 {
        let _ = write!(
            said,
            " ({} missing)",
            pluralize(index.missing_vectors, "vector")
        );
    }
    if let Some(problem) = &index.problem {
        let _ = write!(said, "\n- Problem: {problem}");
    }
    said
}
