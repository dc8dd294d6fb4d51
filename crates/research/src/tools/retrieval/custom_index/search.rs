//! The `search_custom_index` tool: searches the current articles of a custom index.

use std::sync::Arc;

use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    ResearchServices, RetrievalQuery, RetrievalScope,
    tools::{
        rendering::{read_only_meta, read_only_output},
        retrieval::passage_view::PassageSearchOutput,
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

impl Tool for SearchCustomIndex {
    type Input = Input;
    type Output = PassageSearchOutput;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "search_custom_index",
            "Search a custom index",
            "Search by words and meaning among the articles of a custom index, each once.",
        )
    }

    async fn run(
        &self,
        input: Input,
        call: &ToolContext,
    ) -> Result<ToolOutput<PassageSearchOutput>, ToolError> {
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
        Ok(read_only_output(PassageSearchOutput::new(
            found, chars, nothing, call,
        )))
    }
}
