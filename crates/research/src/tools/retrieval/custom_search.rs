//! `search_custom_index`: search among the articles that are in a custom index now.

use std::sync::Arc;

use deliberate_toolkit::{About, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::shown::{only_read, reads, with_notes},
    passages::{ShownPassage, said, shown},
};
use crate::{Lab, Retrieval, Scope, collect::mode_name};

const PREVIEW_CHARS: usize = 300;
const WHOLE_CHARS: usize = 5_000;

/// `search_custom_index`.
pub(crate) struct SearchCustomIndex(pub(crate) Arc<Lab>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 100))]
    index_name: String,
    #[schemars(length(min = 1, max = 2000))]
    query: String,
    #[serde(default = "usual")]
    #[schemars(range(min = 1, max = 100))]
    max_results: usize,
    /// Whole passages, not their beginnings
    #[serde(default)]
    include_content: bool,
}

fn usual() -> usize {
    10
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    mode: &'static str,
    results: Vec<ShownPassage>,
    notes: Vec<String>,
}

impl Tool for SearchCustomIndex {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        reads(
            "search_custom_index",
            "Search a custom index",
            "Search by words and meaning among the articles of a custom index, each once.",
        )
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let wanted = Retrieval {
            question: input.query,
            k: input.max_results,
            scope: Scope::Index(input.index_name),
            per_article: Some(1),
            ..Retrieval::default()
        };
        let found = self.0.retrieve(call, &wanted).await?;
        let chars = if input.include_content {
            WHOLE_CHARS
        } else {
            PREVIEW_CHARS
        };
        let text = said(&found.passages, chars, "Nothing in this index fits.");
        Ok(only_read(Output {
            said: with_notes(text, &found.notes),
            mode: mode_name(found.mode),
            results: found.passages.iter().map(|it| shown(it, chars)).collect(),
            notes: found.notes,
        }))
    }
}
