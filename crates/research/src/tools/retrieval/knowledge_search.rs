//! `search_external_knowledge`: passages of textbooks, notes and other files of one's own.

use std::sync::Arc;

use deliberate_toolkit::{About, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::shown::{only_read, reads, with_notes},
    passages::{ShownPassage, said, shown},
};
use crate::{Lab, Retrieval, Scope, collect::mode_name};

const SHOWN_CHARS: usize = 2_000;

/// `search_external_knowledge`.
pub(crate) struct SearchExternalKnowledge(pub(crate) Arc<Lab>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 2000))]
    query: String,
    #[schemars(length(max = 100))]
    collection_name: Option<String>,
    #[serde(default = "usual")]
    #[schemars(range(min = 1, max = 20))]
    max_results: usize,
}

fn usual() -> usize {
    4
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    mode: &'static str,
    results: Vec<ShownPassage>,
    notes: Vec<String>,
}

impl Tool for SearchExternalKnowledge {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        reads(
            "search_external_knowledge",
            "Search external knowledge",
            "Passages of textbooks, notes and other uploaded files, all or of one collection.",
        )
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let collection = input.collection_name.filter(|it| !it.trim().is_empty());
        let wanted = Retrieval {
            question: input.query,
            k: input.max_results,
            scope: collection.map_or(Scope::External, Scope::Collection),
            ..Retrieval::default()
        };
        let found = self.0.retrieve(call, &wanted).await?;
        let text = said(
            &found.passages,
            SHOWN_CHARS,
            "Nothing that was uploaded fits.",
        );
        Ok(only_read(Output {
            said: with_notes(text, &found.notes),
            mode: mode_name(found.mode),
            results: found
                .passages
                .iter()
                .map(|it| shown(it, SHOWN_CHARS))
                .collect(),
            notes: found.notes,
        }))
    }
}
