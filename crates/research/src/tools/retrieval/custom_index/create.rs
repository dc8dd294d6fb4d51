//! The `create_custom_index` tool: saves a topic and a filter, which are evaluated with each
//! search.

use std::sync::Arc;

use deliberate_toolkit::{
    ArgumentIssue, ErrorCode, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ResearchServices,
    articles::{
        collections::{self, CustomIndex, NamedDocument as _, validate_name},
        parse_work_kind, title_key,
    },
    tools::rendering::{custom_error, escape_markdown, pluralize, tool_meta},
};

/// The `create_custom_index` tool.
pub(crate) struct CreateCustomIndex(pub(crate) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 100))]
    index_name: String,
    /// Topic of its articles
    #[schemars(length(min = 1, max = 2000))]
    topic_filter: String,
    #[schemars(length(max = 12), extend("x-separated" = "words"))]
    document_types: Option<Vec<String>>,
    #[serde(default = "default_max_documents")]
    #[schemars(range(min = 10, max = 10_000))]
    max_documents: usize,
}

fn default_max_documents() -> usize {
    1_000
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    index_name: String,
    /// Current number; later articles that match are included
    articles: usize,
}

impl Tool for CreateCustomIndex {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "create_custom_index",
            "Create a custom index",
            "Save a topic and types as a live index; search it with search_custom_index or the \
             scope index:<name>.",
            ToolHints::ADDITIVE,
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let name = validate_name("index_name", &input.index_name)?;
        if collections::look_up::<CustomIndex>(call.store(), &name)
            .await?
            .is_some()
        {
            return Err(custom_error(
                ErrorCode::AlreadyThere,
                format!("an index named {name:?} already exists"),
                "Choose another name, or delete it with delete_custom_index.",
            ));
        }
        if title_key(&input.topic_filter).is_empty() {
            let issue = ArgumentIssue::new("topic_filter", "must contain at least one word");
            return Err(ToolError::Invalid(vec![issue]));
        }
        let mut kinds = Vec::new();
        for kind in input.document_types.iter().flatten() {
            kinds.push(parse_work_kind("document_types", kind)?.as_str().to_owned());
        }
        let custom = CustomIndex {
            name,
            topic: input.topic_filter,
            kinds,
            max_documents: input.max_documents,
            created_at: call.now(),
        };
        self.0.index_sync().sync_within_timeout().await;
        let articles = self.0.custom_index_members(&custom).await?.len();
        Ok(ToolOutput {
            changes: vec![custom.put_change(0, call.now())],
            output: Output {
                said: format!(
                    "**{}** is created: {} match now, and later articles that match are included.",
                    escape_markdown(&custom.name),
                    pluralize(articles as u64, "article")
                ),
                index_name: custom.name,
                articles,
            },
            session: None,
        })
    }
}
