//! `answer_research_question`.

use std::sync::Arc;

use deliberate_toolkit::{About, Annotations, Call, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Lab,
    answer::{Answered, Asked, Retrieves, SentenceShown, SourceShown, Status, answer},
};

/// `answer_research_question`.
pub struct AnswerResearchQuestion<R = Lab>(pub Arc<R>);

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[schemars(length(min = 1))]
    question: String,
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 50))]
    max_sources: usize,
    #[serde(default = "some")]
    #[schemars(range(min = 0, max = 1))]
    min_relevance: f64,
    #[serde(default = "yes")]
    include_citations: bool,
    /// `all`, `papers_only`, `external`, `collection:<name>`, `index:<name>`
    #[serde(default = "all")]
    scope: String,
}

const fn ten() -> usize {
    10
}

const fn some() -> f64 {
    0.4
}

const fn yes() -> bool {
    true
}

fn all() -> String {
    "all".to_owned()
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    said: String,
    status: Status,
    sentences: Vec<SentenceShown>,
    /// The share of claims that the passages support; null if nothing is claimed
    support: Option<f64>,
    sources: Vec<SourceShown>,
    /// By what passages were found: hybrid, text, vector
    mode: &'static str,
    notes: Vec<String>,
}

impl<R: Retrieves> Tool for AnswerResearchQuestion<R> {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "answer_research_question",
            title: "Answer from the collection",
            description: "Answers a question from papers of the collection; every sentence cites a \
                 page and is checked against it, and unsupported answers are withheld.",
            annotations: Annotations {
                open_world: true,
                ..Annotations::READS
            },
            thinks: true,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let asked = Asked {
            question: input.question,
            max_sources: input.max_sources,
            min_relevance: input.min_relevance,
            include_citations: input.include_citations,
            scope: input.scope,
        };
        let Answered {
            said,
            status,
            sentences,
            support,
            sources,
            mode,
            notes,
        } = answer(self.0.as_ref(), call, &asked).await?;
        Ok(Outcome {
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
