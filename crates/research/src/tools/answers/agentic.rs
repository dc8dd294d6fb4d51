//! The `agentic_research_question` tool: answers hard questions with the agentic graph.

use std::sync::Arc;

use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};

use crate::{
    ResearchServices,
    answer::{AgenticRequest, AgenticResponse, Retriever, run_agentic_graph},
};

/// The `agentic_research_question` tool.
pub struct AgenticResearchQuestion<R = ResearchServices>(pub Arc<R>);

impl<R: Retriever> Tool for AgenticResearchQuestion<R> {
    type Input = AgenticRequest;
    type Output = AgenticResponse;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "agentic_research_question",
            title: "Research a question",
            description: "Like answer_research_question for hard questions: plans queries, grades \
                 and refines passages, searches again, checks every claim. Slower.",
            hints: ToolHints {
                open_world: true,
                ..ToolHints::READ_ONLY
            },
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(
        &self,
        input: AgenticRequest,
        call: &ToolContext,
    ) -> Result<ToolOutput<AgenticResponse>, ToolError> {
        // Boxed, because it holds the state of every node.
        Ok(ToolOutput {
            output: Box::pin(run_agentic_graph(self.0.as_ref(), call, &input)).await?,
            changes: Vec::new(),
            session: None,
        })
    }
}
