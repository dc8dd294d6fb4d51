//! `reindex_collection`: the index made again from the store, in the background.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use deliberate_toolkit::{About, Annotations, Call, Issue, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::shown::{about, count, only_read};
use crate::{Lab, collect::index_told};

/// How long the call waits for the end; the work goes on behind it.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often it looks how far the work has come.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// `reindex_collection`.
pub(crate) struct ReindexCollection(pub(crate) Arc<Lab>);

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
    #[serde(default = "usual")]
    #[schemars(range(min = 10, max = 1000))]
    batch_size: u32,
}

fn yes() -> bool {
    true
}

fn usual() -> u32 {
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

    fn about(&self) -> About {
        about(
            "reindex_collection",
            "Reindex",
            "Make the search index again from the collection, in the background; nothing is lost \
             meanwhile but speed.",
            Annotations::MARKS,
        )
    }

    fn takes_long(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        for (field, given) in [
            ("include_notes", input.include_notes),
            ("include_articles", input.include_articles),
        ] {
            if !given {
                let rule = "must be true: the index follows the whole collection; scopes and \
                            filters leave parts out when searching";
                return Err(ToolError::Invalid(vec![Issue::new(field, rule)]));
            }
        }
        let keeper = self.0.keeper();
        let before = keeper.stats().await.map_err(index_told)?;
        keeper.set_batch(input.batch_size);
        if input.clear_existing {
            keeper.rebuild();
        } else {
            keeper.ring();
        }
        let finished = self.wait(call).await;
        let now = keeper.stats().await.map_err(index_told)?;
        let progress = keeper.progress();
        let mut said = if finished {
            format!(
                "The index is made: {}, {} (before: {}), {}.",
                count(now.documents, "article"),
                count(now.passages, "passage"),
                before.passages,
                count(now.vectors, "vector")
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
        Ok(only_read(Output {
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
    async fn wait(&self, call: &Call) -> bool {
        let keeper = self.0.keeper();
        let working = keeper.catch_up(PATIENCE);
        let telling = async {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                let progress = keeper.progress();
                let total = (progress.total > 0).then_some(progress.total as f64);
                let message = format!("{} put in", count(progress.done, "article"));
                call.progress(progress.done as f64, total, &message);
            }
        };
        tokio::select! {
            done = working => matches!(done, Ok(true)),
            () = telling => false,
        }
    }
}
