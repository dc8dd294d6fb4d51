//! The `answer_research_question` tool: answers a question from the collection with checked claims.

use std::sync::Arc;

use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};

use crate::{
    ResearchServices,
    answer::{AnswerRequest, AnswerResponse, Retriever, answer},
};

/// The `answer_research_question` tool.
pub struct AnswerResearchQuestion<R = ResearchServices>(pub Arc<R>);

impl<R: Retriever> Tool for AnswerResearchQuestion<R> {
    type Input = AnswerRequest;
    type Output = AnswerResponse;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "answer_research_question",
            title: "Answer from the collection",
            description: "Answers a question from papers of the collection; every sentence cites a \
                 page and is checked against it, and unsupported answers are withheld.",
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
        input: AnswerRequest,
        call: &ToolContext,
    ) -> Result<ToolOutput<AnswerResponse>, ToolError> {
        Ok(ToolOutput {
            output: answer(self.0.as_ref(), call, &input).await?,
            changes: Vec::new(),
            session: None,
        })
    }
}
