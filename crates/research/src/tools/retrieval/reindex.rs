//! `reindex_collection`: the index made again from the store, in the background.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use deliberate_toolkit::{
    ArgumentIssue, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ResearchServices,
    retrieval::retriever::index_error,
    tools::rendering::{pluralize, read_only_output, tool_meta},
};

/// How long the call waits for the end; the work goes on behind it.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// How often it looks how far the work has come.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// `reindex_collection`.
pub(crate) struct ReindexCollection(pub(crate) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// false: only what changed is put in
    #[serde(default = "yes")]
    clear_existing: bool,
    #[serde(default = "yes")]
    include_notes: bool,
    #[serde(default = "yes")]
    include_articles: bool,
    /// Articles put in between two commits
    #[serde(default = "default_batch_size")]
    #[schemars(range(min = 10, max = 1000))]
    batch_size: u32,
}

fn yes() -> bool {
    true
}

fn default_batch_size() -> u32 {
    100
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    finished: bool,
    articles: u64,
    passages: u64,
    passages_before: u64,
    vectors: u64,
}

impl Tool for ReindexCollection {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "reindex_collection",
            "Reindex",
            "Make the search index again from the collection, in the background; nothing is lost \
             meanwhile but speed.",
            ToolHints::IDEMPOTENT,
        )
    }

    fn may_run_in_background(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        for (field, given) in [
            ("include_notes", input.include_notes),
            ("include_articles", input.include_articles),
        ] {
            if !given {
                let rule = "must be true: the index follows the whole collection; scopes and \
                            filters leave parts out when searching";
                return Err(ToolError::Invalid(vec![ArgumentIssue::new(field, rule)]));
            }
        }
        let keeper = self.0.index_sync();
        let before = keeper.stats().await.map_err(index_error)?;
        keeper.set_batch_size(input.batch_size);
        if input.clear_existing {
            keeper.rebuild();
        } else {
            keeper.notify_change();
        }
        let finished = self.wait_for_sync(call).await;
        let now = keeper.stats().await.map_err(index_error)?;
        let progress = keeper.progress();
        let mut said = if finished {
            format!(
                "The index is made: {}, {} (before: {}), {}.",
                pluralize(now.documents, "article"),
                pluralize(now.passages, "passage"),
                before.passages,
                pluralize(now.vectors, "vector")
            )
        } else {
            format!(
                "The index is being made in the background{}; collection_stats says how far.",
                progress
                    .percent()
                    .map(|it| format!(" ({it} %)"))
                    .unwrap_or_default()
            )
        };
        if let Some(problem) = progress.problem {
            let _ = write!(said, " A problem: {problem}.");
        }
        Ok(read_only_output(Output {
            said,
            finished,
            articles: now.documents,
            passages: now.passages,
            passages_before: before.passages,
            vectors: now.vectors,
        }))
    }
}

impl ReindexCollection {
    /// Waits for the end and tells how far it has come. Whether it came.
    async fn wait_for_sync(&self, call: &ToolContext) -> bool {
        let keeper = self.0.index_sync();
        let working = keeper.catch_up(WAIT_TIMEOUT);
        let telling = async {
            loop {
                tokio::time::sleep(POLL_INTERVAL).await;
                let progress = keeper.progress();
                let total = (progress.total > 0).then_some(progress.total as f64);
                let message = format!("{} put in", pluralize(progress.done, "article"));
                call.progress(progress.done as f64, total, &message);
            }
        };
        tokio::select! {
            done = working => matches!(done, Ok(true)),
            () = telling => false,
        }
    }
}
