//! `reasoning_got_score`: scores nodes by four measures.

use deliberate_core::{GraphId, GraphNode, NodeId, Score, SessionId};
use deliberate_toolkit::{
    ArgumentIssue, Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    data::{GraphData, is_root},
    prompt_context::{GraphNodeContext, NodeSurroundings},
    resolve_problem,
    scoring::{
        NodeScore, ScoreBreakdown, ScoreJudgment, score_changes, score_nodes, score_request,
    },
};

/// The `reasoning_got_score` tool.
pub(crate) struct GotScore;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    graph_id: GraphId,
    node_id: Option<NodeId>,
    /// Several nodes at once
    #[schemars(length(min = 1, max = 10))]
    node_ids: Option<Vec<NodeId>>,
    /// Problem context
    problem: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The graph it belongs to
    graph_id: GraphId,
    /// The session of the graph
    session_id: SessionId,
    #[serde(flatten)]
    score: Option<SingleScore>,
    /// The scores of `node_ids`, best first
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scores: Vec<NodeScore>,
}

// The score of the one node that the call names.
#[derive(Debug, Serialize, JsonSchema)]
struct SingleScore {
    /// The node that was scored
    node_id: NodeId,
    /// Mean of the four measures, mostly the validity and at most it; stored as its score
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

impl From<NodeScore> for SingleScore {
    fn from(score: NodeScore) -> Self {
        Self {
            node_id: score.node_id,
            overall_score: score.overall_score,
            breakdown: score.breakdown,
            rationale: score.rationale,
            weakest_point: score.weakest_point,
            is_terminal_candidate: score.is_terminal_candidate,
        }
    }
}

impl Tool for GotScore {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_got_score",
            title: "Score nodes",
            description: "Score nodes by relevance, validity, depth and novelty; several side by side.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    fn takes_reply(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let whole = GraphData::load(&input.graph_id, call).await?;
        let problem = resolve_problem(input.problem.as_deref(), &whole.graph, call)?;
        let nodes = named_nodes(&input, call).await?;
        let several = input.node_ids.is_some();
        let judgments = match nodes.as_slice() {
            [node] => vec![score_one(&whole, node, problem, call).await?],
            nodes => {
                // Without a problem the nodes are judged by the thought that the graph began with.
                let root = whole.usable_nodes().find(|node| is_root(node));
                let problem = problem.or(root.map(|root| root.content.as_str()));
                let nodes: Vec<&GraphNode> = nodes.iter().collect();
                score_nodes(&whole, problem, &nodes, call).await?
            }
        };
        let nodes: Vec<&GraphNode> = nodes.iter().collect();
        let (mut scores, changes) = score_changes(&nodes, judgments, call);
        let single = if several { None } else { scores.pop() };
        Ok(ToolOutput {
            session: Some(whole.graph.session_id.clone()),
            output: Output {
                graph_id: whole.graph.id.clone(),
                session_id: whole.graph.session_id.clone(),
                score: single.map(SingleScore::from),
                scores,
            },
            changes,
        })
    }
}

/// Loads the nodes that the call names, without duplicates.
async fn named_nodes(input: &Input, call: &ToolContext) -> Result<Vec<GraphNode>, ToolError> {
    let ids: Vec<&NodeId> = match (&input.node_id, &input.node_ids) {
        (Some(id), None) => vec![id],
        (None, Some(ids)) => ids.iter().collect(),
        _ => {
            let rule = "or node_ids is required, one of the two";
            return Err(ToolError::Invalid(vec![ArgumentIssue::new(
                "node_id", rule,
            )]));
        }
    };
    let mut nodes: Vec<GraphNode> = Vec::with_capacity(ids.len());
    for id in ids {
        let node = crate::lookup::node(call, id, &input.graph_id).await?;
        if !nodes.iter().any(|known| known.id == node.id) {
            nodes.push(node);
        }
    }
    Ok(nodes)
}

async fn score_one(
    data: &GraphData,
    node: &GraphNode,
    problem: Option<&str>,
    call: &ToolContext,
) -> Result<ScoreJudgment, ToolError> {
    let around = NodeSurroundings::new(data, node, problem);
    let around = around.for_model(&data.graph, call).await;
    let around = GraphNodeContext::for_node(&around, node, call.context_tokens());
    call.progress(0.0, Some(1.0), "judging");
    let ask = score_request(&around, "got_score", call)?;
    Ok(call.ask::<ScoreJudgment>(ask, None).await?.value)
}
