//! The `generate_research_summary` tool: a summary is an answer to a question about the topic and
//! is checked in the same way.

use std::sync::Arc;

use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ResearchServices,
    answer::{AnswerRequest, AnswerSentence, AnswerSource, AnswerStatus, answer, check_query},
};

/// The `generate_research_summary` tool.
pub(crate) struct GenerateResearchSummary(pub(super) Arc<ResearchServices>);

/// Kind of summary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum SummaryType {
    Overview,
    Methodology,
    Findings,
    /// Open questions.
    Gaps,
    #[default]
    Comprehensive,
}

impl SummaryType {
    /// The question that a summary of this kind answers.
    fn question(self, topic: &str) -> String {
        let what = match self {
            Self::Overview => "What is known, in an overview, about",
            Self::Methodology => "Which methods, data and procedures were used to study",
            Self::Findings => "What was found, with figures, about",
            Self::Gaps => "Which limitations, open questions and future work are named for",
            Self::Comprehensive => {
                "What is the state of research, with methods, findings and open questions, on"
            }
        };
        format!("{what} {topic}?")
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 1000))]
    topic_or_query: String,
    #[serde(default)]
    summary_type: SummaryType,
    #[serde(default = "fifteen")]
    #[schemars(range(min = 5, max = 50))]
    max_papers: usize,
    #[serde(default = "yes")]
    include_citations: bool,
}

fn fifteen() -> usize {
    15
}

fn yes() -> bool {
    true
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    status: AnswerStatus,
    sentences: Vec<AnswerSentence>,
    /// Share of claims that the passages support; null without claims
    support: Option<f64>,
    sources: Vec<AnswerSource>,
    notes: Vec<String>,
}

impl Tool for GenerateResearchSummary {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "generate_research_summary",
            title: "Generate research summary",
            description: "A summary of what the collection says on a topic, checked sentence by \
                 sentence",
            hints: ToolHints {
                open_world: true,
                ..ToolHints::READ_ONLY
            },
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let topic = check_query(call, "topic_or_query", &input.topic_or_query)?;
        let asked = AnswerRequest {
            question: input.summary_type.question(topic),
            max_sources: input.max_papers,
            min_relevance: 0.0,
            include_citations: input.include_citations,
            scope: "all".to_owned(),
        };
        let answered = answer(self.0.as_ref(), call, &asked).await?;
        Ok(ToolOutput {
            output: Output {
                said: answered.text,
                status: answered.status,
                sentences: answered.sentences,
                support: answered.support,
                sources: answered.sources,
                notes: answered.notes,
            },
            changes: Vec::new(),
            session: None,
        })
    }
}
