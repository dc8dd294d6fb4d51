//! `list_custom_indexes`: the custom indexes there are, and how many articles are in each now.

use std::fmt::Write as _;
use std::sync::Arc;

use deliberate_toolkit::{About, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::shown::{count, only_read, plain, reads};
use crate::{
    Lab,
    collect::groups::{self, CustomIndex},
};

/// Counting the articles of more would take its time.
const MOST_COUNTED: usize = 50;

/// `list_custom_indexes`.
pub(crate) struct ListCustomIndexes(pub(crate) Arc<Lab>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    indexes: Vec<Listed>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Listed {
    index_name: String,
    topic_filter: String,
    document_types: Vec<String>,
    max_documents: usize,
    /// In it now
    #[serde(skip_serializing_if = "Option::is_none")]
    articles: Option<usize>,
    created_at: String,
}

impl Tool for ListCustomIndexes {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        reads(
            "list_custom_indexes",
            "List custom indexes",
            "The custom indexes, their topics, and how many articles are in each now.",
        )
    }

    async fn run(&self, _: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let all: Vec<CustomIndex> = groups::all(call.store()).await?;
        let mut indexes = Vec::new();
        for (at, custom) in all.into_iter().enumerate() {
            let articles = if at < MOST_COUNTED {
                // An index that can't be asked now is there nevertheless.
                self.0.members(&custom).await.ok().map(|it| it.len())
            } else {
                None
            };
            indexes.push(Listed {
                index_name: custom.name,
                topic_filter: custom.topic,
                document_types: custom.kinds,
                max_documents: custom.max_documents,
                articles,
                created_at: custom.created_at.to_string(),
            });
        }
        let mut said = match indexes.len() {
            0 => "There is no custom index; create_custom_index makes one.".to_owned(),
            1 => "1 custom index:\n".to_owned(),
            many => format!("{many} custom indexes:\n"),
        };
        for it in &indexes {
            let many = it
                .articles
                .map(|many| format!(", {}", count(many as u64, "article")));
            let _ = write!(
                said,
                "\n- **{}**: {}{}",
                plain(&it.index_name),
                plain(&it.topic_filter),
                many.unwrap_or_default()
            );
        }
        Ok(only_read(Output { said, indexes }))
    }
}
