//! `reasoning_got_score`: scores a node by four measures.

use std::sync::LazyLock;

use deliberate_core::{GraphId, ModelScore, NodeId, NodeUpdate, Percent, Score, SessionId};
use deliberate_llm::ModelRequest;
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{data::GraphData, prompt_context::GraphNodeContext, resolve_problem, update_node};
use crate::{
    model_fields::{optional_text, round_fraction},
    prompt_template::{GenerationParams, ReasoningPromptTemplate},
};

/// The lowest score of a candidate for a terminal node.
const TERMINAL_SCORE: f64 = 0.8;

/// The `reasoning_got_score` tool.
pub(crate) struct GotScore;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    graph_id: GraphId,
    node_id: NodeId,
    /// Problem context
    problem: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The graph it belongs to
    graph_id: GraphId,
    /// The session of the graph
    session_id: SessionId,
    /// The node that was scored
    node_id: NodeId,
    /// Mean of the four measures, stored as its score
    overall_score: Score,
    /// The four measures
    breakdown: ScoreBreakdown,
    /// Why; null if not given
    rationale: Option<String>,
    /// Its greatest weakness; null if not given
    weakest_point: Option<String>,
    /// true if it can be a conclusion: 0.8 or more, and no root
    is_terminal_candidate: bool,
}

// The four measures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub(super) struct ScoreBreakdown {
    /// How much it helps with the problem
    relevance: Score,
    /// Whether it is true and follows from its ancestors
    validity: Score,
    /// How far it goes beneath the surface
    depth: Score,
    /// What it adds to its ancestors
    novelty: Score,
}

impl ScoreBreakdown {
    /// The mean of the four measures, computed here instead of by the model.
    pub(super) fn overall(&self) -> Score {
        let sum = self.relevance.get() + self.validity.get() + self.depth.get();
        Score::clamped(round_fraction((sum + self.novelty.get()) / 4.0))
    }
}

/// A complete judgment of a node.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "ScoreReply")]
pub(super) struct ScoreJudgment {
    pub(super) parts: ScoreBreakdown,
    rationale: Option<String>,
    weakest_point: Option<String>,
}

/// The answer that the model is asked for. Pipes written for the original server answer the names
/// without `_percent`; they are accepted but not requested.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["relevance_percent", "validity_percent", "depth_percent",
    "novelty_percent", "rationale", "weakest_point"]))]
struct ScoreReply {
    /// How much it helps with the problem
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    relevance_percent: Option<Percent>,
    /// Whether it is true and follows
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    validity_percent: Option<Percent>,
    /// How far it goes beneath the surface
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    depth_percent: Option<Percent>,
    /// What it adds to the line before it
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    novelty_percent: Option<Percent>,
    #[serde(default, deserialize_with = "ModelScore::lenient_option")]
    #[schemars(skip)]
    relevance: Option<ModelScore>,
    #[serde(default, deserialize_with = "ModelScore::lenient_option")]
    #[schemars(skip)]
    validity: Option<ModelScore>,
    #[serde(default, deserialize_with = "ModelScore::lenient_option")]
    #[schemars(skip)]
    depth: Option<ModelScore>,
    #[serde(default, deserialize_with = "ModelScore::lenient_option")]
    #[schemars(skip)]
    novelty: Option<ModelScore>,
    /// Why
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(with = "String", length(max = 500))]
    rationale: Option<String>,
    /// What is most wrong with it
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(with = "String", length(max = 300))]
    weakest_point: Option<String>,
}

impl TryFrom<ScoreReply> for ScoreJudgment {
    type Error = String;

    fn try_from(reply: ScoreReply) -> Result<Self, String> {
        let measure = |percent: Option<Percent>, plain: Option<ModelScore>, name: &str| {
            let score = percent.map(|it| it.0).or(plain.map(|it| it.0));
            score.ok_or_else(|| format!("`{name}` must be a whole number from 0 to 100"))
        };
        Ok(Self {
            parts: ScoreBreakdown {
                relevance: measure(
                    reply.relevance_percent,
                    reply.relevance,
                    "relevance_percent",
                )?,
                validity: measure(reply.validity_percent, reply.validity, "validity_percent")?,
                depth: measure(reply.depth_percent, reply.depth, "depth_percent")?,
                novelty: measure(reply.novelty_percent, reply.novelty, "novelty_percent")?,
            },
            rationale: reply.rationale,
            weakest_point: reply.weakest_point,
        })
    }
}

impl ScoreJudgment {
    /// The update of the judged node.
    pub(super) fn node_update(&self) -> NodeUpdate {
        NodeUpdate {
            score: Some(self.parts.overall()),
            notes: Some(self.to_metadata()),
            ..NodeUpdate::default()
        }
    }

    /// The judgment as metadata of the node.
    pub(super) fn to_metadata(&self) -> Value {
        json!({
            "score_parts": self.parts,
            "score_rationale": self.rationale,
            "weakest_point": self.weakest_point,
        })
    }
}

/// A low temperature, because a judgment should be reproducible.
static ASK: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    let freedom = GenerationParams {
        max_tokens: 1_000,
        temperature: 0.2,
    };
    ReasoningPromptTemplate::new::<ScoreReply>("got_score", include_str!("score.md"), freedom)
});

/// Builds the request for a score.
pub(super) fn score_request(
    around: &GraphNodeContext,
    key: &str,
) -> Result<ModelRequest, ToolError> {
    Ok(ModelRequest {
        key: key.to_owned(),
        ..ASK.render(around)?
    })
}

impl Tool for GotScore {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_got_score",
            title: "Score a node",
            description: "Score a node's quality based on relevance, validity, depth, and novelty.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let whole = GraphData::load(&input.graph_id, call).await?;
        let node = crate::lookup::node(call, &input.node_id, &input.graph_id).await?;
        let problem = resolve_problem(input.problem.as_deref(), &whole.graph, call)?;
        let line = whole.ancestors(&node);
        let around = GraphNodeContext::new(problem, &line, &node.content, call.context_tokens());
        call.progress(0.0, Some(1.0), "judging");
        let answer = call
            .ask::<ScoreJudgment>(score_request(&around, "got_score")?, None)
            .await?;
        let judgement = answer.value;
        let overall = judgement.parts.overall();
        let marks = judgement.node_update();
        Ok(ToolOutput {
            session: Some(whole.graph.session_id.clone()),
            output: Output {
                graph_id: whole.graph.id,
                session_id: whole.graph.session_id,
                node_id: node.id.clone(),
                overall_score: overall,
                breakdown: judgement.parts,
                rationale: judgement.rationale,
                weakest_point: judgement.weakest_point,
                is_terminal_candidate: overall.get() >= TERMINAL_SCORE && node.depth >= 1,
            },
            changes: vec![update_node(&input.node_id, marks, call)],
        })
    }
}
