//! The `answer_research_question` tool: answers a question from the collection with checked claims.

use std::sync::Arc;

use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ResearchServices,
    answer::{
        AnswerRequest, AnswerResponse, AnswerSentence, AnswerSource, AnswerStatus, Retriever,
        answer,
    },
};

/// The `answer_research_question` tool.
pub struct AnswerResearchQuestion<R = ResearchServices>(pub Arc<R>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[schemars(length(min = 1))]
    question: String,
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 50))]
    max_sources: usize,
    #[serde(default = "default_min_relevance")]
    #[schemars(range(min = 0, max = 1))]
    min_relevance: f64,
    #[serde(default = "yes")]
    include_citations: bool,
    /// `all`, `papers_only`, `external`, `collection:<name>`, `index:<name>`
    #[serde(default = "default_scope")]
    scope: String,
}

const fn ten() -> usize {
    10
}

const fn default_min_relevance() -> f64 {
    0.4
}

const fn yes() -> bool {
    true
}

fn default_scope() -> String {
    "all".to_owned()
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    said: String,
    status: AnswerStatus,
    sentences: Vec<AnswerSentence>,
    /// Share of claims that the passages support; null without claims
    support: Option<f64>,
    sources: Vec<AnswerSource>,
    /// Search mode: hybrid, text, vector
    mode: &'static str,
    notes: Vec<String>,
}

impl<R: Retriever> Tool for AnswerResearchQuestion<R> {
    type Input = Input;
    type Output = Output;

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

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let asked = AnswerRequest {
            question: input.question,
            max_sources: input.max_sources,
            min_relevance: input.min_relevance,
            include_citations: input.include_citations,
            scope: input.scope,
        };
        let AnswerResponse {
            text: said,
            status,
            sentences,
            support,
            sources,
            mode,
            notes,
        } = answer(self.0.as_ref(), call, &asked).await?;
        Ok(ToolOutput {
            output: Output {
                said,
                status,
                sentences,
                support,
                sources,
                mode,
                notes,
            },
            changes: Vec::new(),
            session: None,
        })
    }
}
