//! `reasoning_got_prune`: what is not good enough is given up, with what grew from it alone.
//!
//! Pruned nodes are marked and stay stored. A root and a conclusion are never pruned.

use std::collections::{HashMap, HashSet};

use deliberate_core::{Change, EdgeKind, GraphEdge, GraphId, GraphNode, NodeId, Score, SessionId};
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data::{GraphData, is_root, is_structural};

/// `reasoning_got_prune`.
pub struct GotPrune;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    graph_id: GraphId,
    /// Score threshold for pruning (default: the graph's)
    threshold: Option<Score>,
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The graph that was pruned
    graph_id: GraphId,
    /// The session it belongs to
    session_id: SessionId,
    /// How many nodes were pruned by this call
    pruned_count: usize,
    /// How many are left
    remaining_count: usize,
    /// Nodes with a lower score were pruned
    threshold_used: Score,
    /// The nodes that were pruned by this call
    pruned_node_ids: Vec<NodeId>,
    /// Of those left, how many have no score yet, the roots aside
    unscored_count: usize,
    /// How to undo it; left out if nothing was pruned
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

impl Tool for GotPrune {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_got_prune",
            title: "Prune a graph",
            description: "Remove low-scoring nodes, and what grew from them alone, from the \
                          reasoning graph. They stay stored.",
            hints: ToolHints::IDEMPOTENT,
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let whole = GraphData::load(&input.graph_id, call).await?;
        let threshold = input.threshold.unwrap_or(whole.config.prune_threshold);
        let pruned = nodes_to_prune(&whole, threshold);
        let remaining = || {
            whole
                .usable_nodes()
                .filter(|node| !pruned.contains(&node.id))
        };
        let unscored = remaining().filter(|node| node.score.is_none() && !is_root(node));
        let pruned_node_ids: Vec<NodeId> = whole
            .usable_nodes()
            .filter(|node| pruned.contains(&node.id))
            .map(|node| node.id.clone())
            .collect();
        let change = (!pruned_node_ids.is_empty()).then(|| Change::PruneNodes {
            graph_id: whole.graph.id.clone(),
            nodes: pruned_node_ids.clone(),
            at: call.now(),
        });
        Ok(ToolOutput {
            output: Output {
                graph_id: whole.graph.id.clone(),
                session_id: whole.graph.session_id.clone(),
                pruned_count: pruned_node_ids.len(),
                remaining_count: remaining().count(),
                threshold_used: threshold,
                unscored_count: unscored.count(),
                note: change.as_ref().map(|_| {
                    "To undo it, backtrack (reasoning_backtrack) to a checkpoint made before it."
                }),
                pruned_node_ids,
            },
            changes: change.into_iter().collect(),
            session: Some(whole.graph.session_id.clone()),
        })
    }
}

/// Which nodes fall: those below the threshold, and those that only fallen ones lead to.
///
/// A node stands if it can be reached from where the graph begins, or from a conclusion, without
/// passing through what fell. Each node and edge is looked at once.
fn nodes_to_prune(whole: &GraphData, threshold: Score) -> HashSet<&NodeId> {
    let structure = || whole.edges.iter().filter(|edge| is_structural(edge));
    let mut from: HashMap<&NodeId, Vec<&GraphEdge>> = HashMap::new();
    for edge in structure() {
        from.entry(&edge.from_node).or_default().push(edge);
    }
    let has_source: HashSet<&NodeId> = structure().map(|edge| &edge.to_node).collect();
    let is_safe = |node: &GraphNode| is_root(node) || node.is_terminal;
    let weak =
        |node: &&GraphNode| !is_safe(node) && node.score.is_some_and(|score| score < threshold);
    let mut gone: HashSet<&NodeId> = whole
        .usable_nodes()
        .filter(weak)
        .map(|node| &node.id)
        .collect();
    let earlier = whole.nodes.iter().filter(|node| node.pruned);
    let through: HashSet<&NodeId> = earlier.map(|node| &node.id).chain(gone.clone()).collect();

    // What was made better stands for itself: its first version may fall without it.
    let passes = |edge: &GraphEdge| {
        !through.contains(&edge.from_node) || edge.edge_type == EdgeKind::Refines
    };
    let begins = whole
        .nodes
        .iter()
        .filter(|node| is_safe(node) || !has_source.contains(&node.id))
        .map(|node| &node.id);
    let stands = reachable_from(begins, &from, passes);
    let below = reachable_from(through.iter().copied(), &from, |_| true);
    let cut_off = whole
        .usable_nodes()
        .filter(|node| !is_safe(node) && below.contains(&node.id) && !stands.contains(&node.id));
    gone.extend(cut_off.map(|node| &node.id));
    gone
}

/// The nodes that edges which pass lead to, and where it begins.
fn reachable_from<'a>(
    begins: impl Iterator<Item = &'a NodeId>,
    from: &HashMap<&'a NodeId, Vec<&'a GraphEdge>>,
    passes: impl Fn(&GraphEdge) -> bool,
) -> HashSet<&'a NodeId> {
    let mut ahead: Vec<&NodeId> = begins.collect();
    let mut reached: HashSet<&NodeId> = ahead.iter().copied().collect();
    while let Some(node) = ahead.pop() {
        let edges = from.get(node).map(Vec::as_slice).unwrap_or_default();
        for edge in edges.iter().filter(|edge| passes(edge)) {
            if reached.insert(&edge.to_node) {
                ahead.push(&edge.to_node);
            }
        }
    }
    reached
}
