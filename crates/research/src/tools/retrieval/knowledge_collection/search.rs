//! The `search_external_knowledge` tool: searches uploaded textbooks, notes, and other files.

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

const PASSAGE_CHARS: usize = 2_000;

/// The `search_external_knowledge` tool.
pub(crate) struct SearchExternalKnowledge(pub(crate) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 2000))]
    query: String,
    #[schemars(length(max = 100))]
    collection_name: Option<String>,
    #[serde(default = "default_max_results")]
    #[schemars(range(min = 1, max = 20))]
    max_results: usize,
}

fn default_max_results() -> usize {
    4
}

impl Tool for SearchExternalKnowledge {
    type Input = Input;
    type Output = PassageSearchOutput;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "search_external_knowledge",
            "Search external knowledge",
            "Passages of textbooks, notes and other uploaded files, all or of one collection.",
        )
    }

    async fn run(
        &self,
        input: Input,
        call: &ToolContext,
    ) -> Result<ToolOutput<PassageSearchOutput>, ToolError> {
        let collection = input.collection_name.filter(|it| !it.trim().is_empty());
        let wanted = RetrievalQuery {
            question: input.query,
            k: input.max_results,
            scope: collection.map_or(RetrievalScope::External, RetrievalScope::Collection),
            ..RetrievalQuery::default()
        };
        let found = self.0.retrieve(call, &wanted).await?;
        let nothing = "No uploaded document matches.";
        Ok(read_only_output(PassageSearchOutput::new(
            found,
            PASSAGE_CHARS,
            nothing,
            call,
        )))
    }
}
