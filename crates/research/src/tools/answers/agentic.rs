//! The `agentic_research_question` tool: answers hard questions with the agentic graph.

use std::sync::Arc;

use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ResearchServices,
    answer::{
        AgenticRequest, AnswerSentence, AnswerSource, AnswerStatus, Assessment, NodeTrace,
        QuestionKind, Retriever, run_agentic_graph,
    },
};

/// The `agentic_research_question` tool.
pub struct AgenticResearchQuestion<R = ResearchServices>(pub Arc<R>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[schemars(length(min = 1))]
    question: String,
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 20))]
    max_sources: usize,
    #[serde(default = "two")]
    #[schemars(range(min = 0, max = 5))]
    max_retries: u32,
    /// As in `answer_research_question`
    #[serde(default = "default_scope")]
    scope: String,
}

const fn five() -> usize {
    5
}

const fn two() -> u32 {
    2
}

fn default_scope() -> String {
    "all".to_owned()
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    said: String,
    status: AnswerStatus,
    /// Whether enough of the answer is supported
    grounded: bool,
    query_type: QuestionKind,
    /// Share of relevant passages in the last search; `support` if none was graded
    confidence: f64,
    assessment: Option<Assessment>,
    /// Searches
    rounds: u32,
    queries: Vec<String>,
    sentences: Vec<AnswerSentence>,
    /// Share of claims that the passages support; null without claims
    support: Option<f64>,
    sources: Vec<AnswerSource>,
    mode: &'static str,
    trace: Vec<NodeTrace>,
    /// Steps skipped because of a limit or a failure
    left_out: Vec<String>,
    /// Model calls, approximate tokens and milliseconds
    spent: Value,
    notes: Vec<String>,
}

impl<R: Retriever> Tool for AgenticResearchQuestion<R> {
    type Input = Input;
    type Output = Output;

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

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let asked = AgenticRequest {
            question: input.question,
            max_sources: input.max_sources,
            max_retries: input.max_retries,
            scope: input.scope,
        };
        // Boxed, because it holds the state of every node.
        let report = Box::pin(run_agentic_graph(self.0.as_ref(), call, &asked)).await?;
        Ok(ToolOutput {
            output: Output {
                said: report.text,
                status: report.status,
                grounded: report.grounded,
                query_type: report.query_type,
                confidence: report.confidence,
                assessment: report.assessment,
                rounds: report.rounds,
                queries: report.queries,
                sentences: report.sentences,
                support: report.support,
                sources: report.sources,
                mode: report.mode,
                trace: report.trace,
                left_out: report.skipped,
                spent: report.usage,
                notes: report.notes,
            },
            changes: Vec::new(),
            session: None,
        })
    }
}
