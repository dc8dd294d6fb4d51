//! `create_custom_index`: a topic and a filter under a name, looked up anew with each search.

use std::sync::Arc;

use deliberate_toolkit::{
    ArgumentIssue, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
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

/// `create_custom_index`.
pub(crate) struct CreateCustomIndex(pub(crate) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 100))]
    index_name: String,
    /// What its articles are about
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
    /// In it now; articles that come later and fit are in it too
    articles: usize,
}

impl Tool for CreateCustomIndex {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "create_custom_index",
            "Create a custom index",
            "Save a topic and kinds as a live index, searched with search_custom_index or the \
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
                "AlreadyThere",
                format!("there is an index called {name:?}"),
                "Choose another name, or delete it with delete_custom_index.",
            ));
        }
        if title_key(&input.topic_filter).is_empty() {
            let issue = ArgumentIssue::new("topic_filter", "needs at least one word to look for");
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
                    "**{}** is made: {} in it now, and those that come later and fit.",
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
