//! `agentic_research_question`.

use std::sync::Arc;

use deliberate_toolkit::{About, Annotations, Call, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Lab,
    answer::{
        AgenticAsked, Assessment, QueryKind, Retrieves, SentenceShown, SourceShown, Status,
        TracedNode, research,
    },
};

/// `agentic_research_question`.
pub struct AgenticResearchQuestion<R = Lab>(pub Arc<R>);

/// What it is called with.
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
    #[serde(default = "all")]
    scope: String,
}

const fn five() -> usize {
    5
}

const fn two() -> u32 {
    2
}

fn all() -> String {
    "all".to_owned()
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    said: String,
    status: Status,
    /// Whether enough of the answer is supported
    grounded: bool,
    query_type: QueryKind,
    /// The share of passages of the last search that help; `support` where none was graded
    confidence: f64,
    assessment: Option<Assessment>,
    /// Searches
    rounds: u32,
    queries: Vec<String>,
    sentences: Vec<SentenceShown>,
    /// The share of claims that the passages support; null if nothing is claimed
    support: Option<f64>,
    sources: Vec<SourceShown>,
    mode: &'static str,
    trace: Vec<TracedNode>,
    /// What a spent budget or a failure left undone
    left_out: Vec<String>,
    /// Model calls, tokens (about) and milliseconds
    spent: Value,
    notes: Vec<String>,
}

impl<R: Retrieves> Tool for AgenticResearchQuestion<R> {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "agentic_research_question",
            title: "Research a question",
            description: "Like answer_research_question for hard questions: plans queries, grades \
                 and refines passages, searches again, checks every claim. Slower.",
            annotations: Annotations {
                open_world: true,
                ..Annotations::READS
            },
            thinks: true,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let asked = AgenticAsked {
            question: input.question,
            max_sources: input.max_sources,
            max_retries: input.max_retries,
            scope: input.scope,
        };
        let report = research(self.0.as_ref(), call, &asked).await?;
        Ok(Outcome {
            output: Output {
                said: report.said,
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
                left_out: report.left_out,
                spent: report.spent,
                notes: report.notes,
            },
            changes: Vec::new(),
            session: None,
        })
    }
}
