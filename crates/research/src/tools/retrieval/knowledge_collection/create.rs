//! The `create_knowledge_collection` tool: creates a named set of articles.

use deliberate_toolkit::{
    ErrorCode, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    articles::collections::{self, KnowledgeCollection, NamedDocument as _, validate_name},
    tools::rendering::{custom_error, escape_markdown, tool_meta},
};

/// The `create_knowledge_collection` tool.
pub(crate) struct CreateKnowledgeCollection;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 100))]
    name: String,
    #[schemars(length(max = 2000))]
    description: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    name: String,
}

impl Tool for CreateKnowledgeCollection {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "create_knowledge_collection",
            "Create a knowledge collection",
            "Create a named set for textbooks, notes or papers; search it with the scope \
             collection:<name>.",
            ToolHints::ADDITIVE,
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let name = validate_name("name", &input.name)?;
        if collections::look_up::<KnowledgeCollection>(call.store(), &name)
            .await?
            .is_some()
        {
            return Err(custom_error(
                ErrorCode::AlreadyThere,
                format!("a collection named {name:?} already exists"),
                "Choose another name; list_knowledge_collections shows all.",
            ));
        }
        let collection = KnowledgeCollection {
            name,
            description: input.description.filter(|it| !it.trim().is_empty()),
            created_at: call.now(),
        };
        Ok(ToolOutput {
            changes: vec![collection.put_change(0, call.now())],
            output: Output {
                said: format!(
                    "**{}** is created. Fill it with upload_external_knowledge and move_paper_to_project.",
                    escape_markdown(&collection.name)
                ),
                name: collection.name,
            },
            session: None,
        })
    }
}
