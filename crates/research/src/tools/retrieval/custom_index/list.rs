//! The `list_custom_indexes` tool: lists custom indexes with their current number of articles.

use std::fmt::Write as _;
use std::sync::Arc;

use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ResearchServices,
    articles::collections::{self, CustomIndex},
    tools::rendering::{escape_markdown, pluralize, read_only_meta, read_only_output},
};

/// Indexes whose articles are counted; more would take too long.
const MAX_COUNTED: usize = 50;

/// The `list_custom_indexes` tool.
pub(crate) struct ListCustomIndexes(pub(crate) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    indexes: Vec<CustomIndexSummary>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CustomIndexSummary {
    index_name: String,
    topic_filter: String,
    document_types: Vec<String>,
    max_documents: usize,
    /// Current number
    #[serde(skip_serializing_if = "Option::is_none")]
    articles: Option<usize>,
    created_at: String,
}

impl Tool for ListCustomIndexes {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "list_custom_indexes",
            "List custom indexes",
            "The custom indexes with their topics and current numbers of articles.",
        )
    }

    async fn run(&self, _: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let all: Vec<CustomIndex> = collections::list_all(call.store()).await?;
        let mut indexes = Vec::new();
        for (at, custom) in all.into_iter().enumerate() {
            let articles = if at < MAX_COUNTED {
                // An index that cannot be searched now is listed anyway.
                self.0
                    .custom_index_members(&custom)
                    .await
                    .ok()
                    .map(|it| it.len())
            } else {
                None
            };
            indexes.push(CustomIndexSummary {
                index_name: custom.name,
                topic_filter: custom.topic,
                document_types: custom.kinds,
                max_documents: custom.max_documents,
                articles,
                created_at: custom.created_at.to_string(),
            });
        }
        let mut said = match indexes.len() {
            0 => "There is no custom index; create_custom_index creates one.".to_owned(),
            1 => "1 custom index:\n".to_owned(),
            many => format!("{many} custom indexes:\n"),
        };
        for it in &indexes {
            let many = it
                .articles
                .map(|many| format!(", {}", pluralize(many as u64, "article")));
            let _ = write!(
                said,
                "\n- **{}**: {}{}",
                escape_markdown(&it.index_name),
                escape_markdown(&it.topic_filter),
                many.unwrap_or_default()
            );
        }
        Ok(read_only_output(Output { said, indexes }))
    }
}
