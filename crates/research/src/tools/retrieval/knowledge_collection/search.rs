//! The `search_external_knowledge` tool: searches uploaded textbooks, notes, and other files.

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

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    mode: &'static str,
    results: Vec<PassageView>,
    notes: Vec<String>,
}

impl Tool for SearchExternalKnowledge {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "search_external_knowledge",
            "Search external knowledge",
            "Passages of textbooks, notes and other uploaded files, all or of one collection.",
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let collection = input.collection_name.filter(|it| !it.trim().is_empty());
        let wanted = RetrievalQuery {
            question: input.query,
            k: input.max_results,
            scope: collection.map_or(RetrievalScope::External, RetrievalScope::Collection),
            ..RetrievalQuery::default()
        };
        let found = self.0.retrieve(call, &wanted).await?;
        let text = render_passages(
            &found.passages,
            PASSAGE_CHARS,
            "No uploaded document matches.",
            call,
        );
        Ok(read_only_output(Output {
            said: with_notes(text, &found.notes),
            mode: mode_name(found.mode),
            results: found
                .passages
                .iter()
                .map(|it| to_passage_view(it, PASSAGE_CHARS))
                .collect(),
            notes: found.notes,
        }))
    }
}
