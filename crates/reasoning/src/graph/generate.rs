//! `reasoning_got_generate`: continues a node in several ways at once.

use deliberate_core::{Change, GraphId, GraphNode, NodeId, Precondition, SessionId};
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    data::{GraphData, is_named_conclusion},
    deactivate_node,
    expand::{Continuation, ExpandFrom, Expansion, request_continuations},
    prompt_context::NodeSurroundings,
    resolve_problem,
    scoring::{NodeScore, score_changes, score_new_nodes},
};
use crate::evidence::ToolUseSummary;

/// The `reasoning_got_generate` tool.
pub(crate) struct GotGenerate;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    graph_id: GraphId,
    node_id: NodeId,
    /// Default: 3
    #[schemars(range(min = 1, max = 10))]
    k: Option<u32>,
    /// Problem context
    problem: Option<String>,
    /// Tools to use first, by name
    #[schemars(length(max = 16))]
    tools: Option<Vec<String>>,
    /// Also score them
    score: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The graph
    graph_id: GraphId,
    /// The session it belongs to
    session_id: SessionId,
    /// The node that was continued
    source_node_id: NodeId,
    /// The new nodes
    continuations: Vec<Continuation>,
    /// How many there are
    count: usize,
    /// How many duplicates were dropped
    duplicates_dropped: usize,
    /// What failed or was dropped, and why; omitted if nothing
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Answers of tools for them
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<ToolUseSummary>,
    /// Their scores, best first; only with `score`
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scores: Vec<NodeScore>,
}

impl Tool for GotGenerate {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_got_generate",
            title: "Continue a node",
            description: "Generate k diverse continuations from a node in the reasoning graph.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    fn takes_reply(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let before = GraphData::load(&input.graph_id, call).await?;
        let node = open_node(&input.node_id, &input.graph_id, call).await?;
        let is_reply = call.has_reply();
        let k = match input.k {
            // The caller's continuations are all kept, unless it says how many.
            None if is_reply => before.config.max_branches,
            wanted => before.config.continuation_count(wanted)?,
        };
        before.config.check_depth(node.depth + 1)?;
        let room = before
            .config
            .remaining_nodes(before.usable_nodes().count())?;
        // What the caller brings costs no requests, so it is cut to the room when it is known how much
        // of it is new.
        let wanted = if is_reply { k } else { k.min(room) };
        // Memoized, so that a replayed call makes the same requests even if the room has changed.
        let asked = call.memoize("k", wanted);
        let problem = resolve_problem(input.problem.as_deref(), &before.graph, call)?;
        let around = NodeSurroundings::new(&before, &node, problem);
        let around = around.for_model(&before.graph, call).await;
        let tools = input.tools.as_deref();
        let (thoughts, found) =
            request_continuations(&expand_from(&before, &node), &around, asked, tools, call)
                .await?;

        // Other calls may have changed the graph during the model requests, so it is read again.
        let whole = GraphData::load(&input.graph_id, call).await?;
        let node = open_node(&input.node_id, &input.graph_id, call).await?;
        let mut growth = Expansion::from_reply(&expand_from(&whole, &node), thoughts, &found, call);
        let evidence = found.summarize();
        let mut changes = found.changes;
        let mut dropped = 0;
        if !growth.nodes.is_empty() {
            dropped = growth.truncate(whole.config.remaining_nodes(whole.usable_nodes().count())?);
            changes.push(Change::Check(may_be_continued(&node)));
            changes.extend(growth.changes());
            changes.push(deactivate_node(&node.id, call));
            changes.push(Change::Check(Precondition::NodesAtMost {
                graph_id: input.graph_id,
                most: whole.config.max_nodes,
            }));
        }
        let mut scores = Vec::new();
        let wants_scores = input.score == Some(true) && !growth.nodes.is_empty();
        if wants_scores && is_reply {
            let (judged, marks) = caller_scores(&mut growth, call);
            scores = judged;
            changes.extend(marks);
        } else if wants_scores {
            let (judged, marks) =
                score_new_nodes(&whole, &node, problem, &growth.nodes, call).await?;
            scores = judged;
            changes.extend(marks);
        }
        if asked < k || dropped > 0 {
            growth
                .notes
                .push(full_graph_note(whole.config.max_nodes, dropped));
        }
        Ok(ToolOutput {
            session: Some(whole.graph.session_id.clone()),
            output: Output {
                graph_id: whole.graph.id,
                session_id: whole.graph.session_id,
                source_node_id: node.id,
                count: growth.continuations.len(),
                duplicates_dropped: growth.duplicates,
                note: growth.note(),
                continuations: growth.continuations,
                evidence,
                scores,
            },
            changes,
        })
    }
}

/// The scores that the caller brought with its continuations. A note names what is missing.
fn caller_scores(growth: &mut Expansion, call: &ToolContext) -> (Vec<NodeScore>, Vec<Change>) {
    let judgments = std::mem::take(&mut growth.judgments);
    let scored = growth.nodes.iter().zip(judgments);
    let scored = scored.filter_map(|(node, judgment)| Some((node, judgment?)));
    let (nodes, judgments): (Vec<&GraphNode>, Vec<_>) = scored.unzip();
    if nodes.len() < growth.nodes.len() {
        let note = "you brought the continuations, so no model scored them; write \
                    validity_percent, relevance_percent, depth_percent and novelty_percent into \
                    each, or pass your scores to reasoning_got_score";
        growth.notes.push(note.to_owned());
    }
    score_changes(&nodes, judgments, call)
}

/// Says that the graph is full, and how many new continuations it had no room for.
fn full_graph_note(limit: u32, dropped: usize) -> String {
    let full = format!("the graph has reached its limit of {limit} nodes");
    if dropped == 0 {
        return full;
    }
    format!("{full}, so new continuations were dropped: {dropped}")
}

/// The precondition for new nodes below `node`. A conclusion that no caller named may be continued.
fn may_be_continued(node: &GraphNode) -> Precondition {
    if node.is_terminal {
        return Precondition::UsableNode(node.id.clone());
    }
    Precondition::OpenNode(node.id.clone())
}

fn expand_from<'a>(data: &'a GraphData, node: &'a GraphNode) -> ExpandFrom<'a> {
    ExpandFrom {
        graph: &data.graph,
        node,
        children: data.children_of(&node.id),
    }
}

/// Loads the node and fails if it may not be continued.
async fn open_node(
    id: &NodeId,
    graph: &GraphId,
    call: &ToolContext,
) -> Result<GraphNode, ToolError> {
    let node = crate::lookup::node(call, id, graph).await?;
    if is_named_conclusion(&node) {
        return Err(ToolError::LimitReached {
            what: format!(
                "node {:?} is a conclusion that was named, and cannot be continued",
                node.id.as_str()
            ),
            instead: "Continue a node that is not terminal; reasoning_got_state lists them.",
        });
    }
    Ok(node)
}
