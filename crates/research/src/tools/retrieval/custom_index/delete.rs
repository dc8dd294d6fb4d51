//! The `delete_custom_index` tool: deletes a custom index; its articles stay.

use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    articles::collections::{self, CustomIndex, NamedDocument as _},
    tools::rendering::{escape_markdown, tool_meta},
};

/// The `delete_custom_index` tool.
pub(crate) struct DeleteCustomIndex;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 100))]
    index_name: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    index_name: String,
}

impl Tool for DeleteCustomIndex {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "delete_custom_index",
            "Delete a custom index",
            "Delete a custom index; its articles stay.",
            ToolHints {
                destructive: true,
                ..ToolHints::IDEMPOTENT
            },
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let custom: CustomIndex = collections::find(call.store(), &input.index_name).await?;
        Ok(ToolOutput {
            changes: vec![custom.delete_change(call.now())],
            output: Output {
                said: format!(
                    "**{}** is deleted; its articles stay.",
                    escape_markdown(&custom.name)
                ),
                index_name: custom.name,
            },
            session: None,
        })
    }
}
