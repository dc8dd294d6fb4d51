//! `prompt_engine`: uses prompts and chains.

use std::sync::Arc;

use deliberate_toolkit::{About, Annotations, Call, Limits, Outcome, Tool, ToolError};
use serde_json::Value;

use crate::engine::{Engine, Input, Reply};

/// The tool.
pub struct PromptEngine(pub Arc<Engine>);

impl Tool for PromptEngine {
    type Input = Input;
    type Output = Reply;

    fn about(&self) -> About {
        About {
            name: "prompt_engine",
            title: "Use a prompt or a chain",
            description: "Renders a prompt of the library, or runs a chain of them step by step \
                          with quality gates. Call it when the user writes >>something or wants a \
                          saved prompt. Do what the answer says; send your result back with the \
                          chain_id it names.",
            annotations: Annotations::THINKS,
            thinks: true,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Reply>, ToolError> {
        self.0.answer(input, call).await
    }

    fn goes_on(&self, output: &Reply) -> Option<Value> {
        output.next.clone()
    }
}
