//! The `reindex_collection` tool: rebuilds the index from the store in the background.

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

/// Time that the call waits for completion; the rebuild continues afterwards.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// Interval of progress reports.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The `reindex_collection` tool.
pub(crate) struct ReindexCollection(pub(crate) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// false: only index changes
    #[serde(default = "yes")]
    clear_existing: bool,
    #[serde(default = "yes")]
    include_notes: bool,
    #[serde(default = "yes")]
    include_articles: bool,
    /// Articles per commit
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
            "Rebuild the search index from the collection in the background; searches keep working \
             but may be slower.",
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
                let rule = "must be true: the index always covers the whole collection; use scopes \
                            and filters to search a part";
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
                "The index is up to date: {}, {} (before: {}), {}.",
                pluralize(now.documents, "article"),
                pluralize(now.passages, "passage"),
                before.passages,
                pluralize(now.vectors, "vector")
            )
        } else {
            format!(
                "The index is being built in the background{}; collection_stats shows the progress.",
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
    /// Waits for completion while reporting progress, and returns whether it completed.
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
