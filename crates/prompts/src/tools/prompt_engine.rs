//! The `prompt_engine` tool: uses prompts and chains.

use std::sync::Arc;

use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use serde_json::Value;

use crate::engine::{Engine, EngineReply, Input};

/// The `prompt_engine` tool.
pub struct PromptEngine(pub Arc<Engine>);

impl Tool for PromptEngine {
    type Input = Input;
    type Output = EngineReply;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "prompt_engine",
            title: "Use a prompt or a chain",
            description: "Renders a prompt of the library, or runs a chain of them step by step \
                          with quality gates. Call it when the user writes >>something or wants a \
                          saved prompt. Do what the answer says; send your result back with the \
                          chain_id it names.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(
        &self,
        input: Input,
        call: &ToolContext,
    ) -> Result<ToolOutput<EngineReply>, ToolError> {
        self.0.handle_call(input, call).await
    }

    fn next_step(&self, output: &EngineReply) -> Option<Value> {
        output.next.clone()
    }
}
