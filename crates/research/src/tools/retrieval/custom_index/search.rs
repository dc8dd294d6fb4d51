//! The `search_custom_index` tool: searches the current articles of a custom index.

use std::sync::Arc;

use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ResearchServices, RetrievalQuery, RetrievalScope,
    retrieval::query::mode_name,
    tools::{
        rendering::{read_only_meta, read_only_output, with_notes},
        retrieval::passage_view::{PassageView, render_passages, to_passage_view},
    },
};

const PREVIEW_CHARS: usize = 300;
const FULL_CHARS: usize = 5_000;

/// The `search_custom_index` tool.
pub(crate) struct SearchCustomIndex(pub(crate) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 100))]
    index_name: String,
    #[schemars(length(min = 1, max = 2000))]
    query: String,
    #[serde(default = "default_max_results")]
    #[schemars(range(min = 1, max = 100))]
    max_results: usize,
    /// Full passages, not their beginnings
    #[serde(default)]
    include_content: bool,
}

fn default_max_results() -> usize {
    10
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    mode: &'static str,
    results: Vec<PassageView>,
    notes: Vec<String>,
}

impl Tool for SearchCustomIndex {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "search_custom_index",
            "Search a custom index",
            "Search by words and meaning among the articles of a custom index, each once.",
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let wanted = RetrievalQuery {
            question: input.query,
            k: input.max_results,
            scope: RetrievalScope::Index(input.index_name),
            per_article: Some(1),
            ..RetrievalQuery::default()
        };
        let found = self.0.retrieve(call, &wanted).await?;
        let chars = if input.include_content {
            FULL_CHARS
        } else {
            PREVIEW_CHARS
        };
        let nothing = "Nothing in this index matches.";
        let text = render_passages(&found.passages, chars, nothing, call);
        Ok(read_only_output(Output {
            said: with_notes(text, &found.notes),
            mode: mode_name(found.mode),
            results: found
                .passages
                .iter()
                .map(|it| to_passage_view(it, chars))
                .collect(),
            notes: found.notes,
        }))
    }
}
