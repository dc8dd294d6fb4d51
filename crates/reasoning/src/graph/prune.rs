//! `reasoning_got_prune`: prunes nodes with a low score and the nodes that only those lead to.
//!
//! Pruned nodes are marked and stay stored. A root or a conclusion is never pruned.

use std::collections::{HashMap, HashSet};

use deliberate_core::{
    Change, CheckpointId, EdgeKind, GraphEdge, GraphId, GraphNode, NodeId, Score, SessionId,
};
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data::{GraphData, is_root, is_structural};
use crate::checkpoint::undo_checkpoint;

/// The `reasoning_got_prune` tool.
pub(crate) struct GotPrune;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    graph_id: GraphId,
    /// Default: the graph's
    threshold: Option<Score>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
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
    /// How many of those left, without roots, have no score yet
    unscored_count: usize,
    /// Backtrack to it to undo this; omitted if nothing was pruned
    #[serde(skip_serializing_if = "Option::is_none")]
    undo_checkpoint_id: Option<CheckpointId>,
}

impl Tool for GotPrune {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_got_prune",
            title: "Prune a graph",
            description: "Remove low-scoring nodes, and nodes that only they lead to, from the \
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
        let mut changes = Vec::new();
        let mut undo_checkpoint_id = None;
        if !pruned_node_ids.is_empty() {
            let session = crate::lookup::session(call, &whole.graph.session_id).await?;
            let undo = undo_checkpoint(&session, "before pruning", call).await?;
            undo_checkpoint_id = Some(undo.id.clone());
            changes.push(Change::AddCheckpoint(undo));
            changes.push(Change::PruneNodes {
                graph_id: whole.graph.id.clone(),
                nodes: pruned_node_ids.clone(),
                at: call.now(),
            });
        }
        Ok(ToolOutput {
            output: Output {
                graph_id: whole.graph.id.clone(),
                session_id: whole.graph.session_id.clone(),
                pruned_count: pruned_node_ids.len(),
                remaining_count: remaining().count(),
                threshold_used: threshold,
                unscored_count: unscored.count(),
                undo_checkpoint_id,
                pruned_node_ids,
            },
            changes,
            session: Some(whole.graph.session_id.clone()),
        })
    }
}

/// The nodes to prune: those below the threshold, and those that only pruned nodes lead to.
///
/// A node stays if it can be reached from a root or a conclusion without passing a pruned node.
/// Each node and edge is visited once.
fn nodes_to_prune(data: &GraphData, threshold: Score) -> HashSet<&NodeId> {
    let structure = || data.edges.iter().filter(|edge| is_structural(edge));
    let mut from: HashMap<&NodeId, Vec<&GraphEdge>> = HashMap::new();
    for edge in structure() {
        from.entry(&edge.from_node).or_default().push(edge);
    }
    let has_source: HashSet<&NodeId> = structure().map(|edge| &edge.to_node).collect();
    let is_safe = |node: &GraphNode| is_root(node) || node.is_terminal;
    let weak =
        |node: &&GraphNode| !is_safe(node) && node.score.is_some_and(|score| score < threshold);
    let mut gone: HashSet<&NodeId> = data
        .usable_nodes()
        .filter(weak)
        .map(|node| &node.id)
        .collect();
    let earlier = data.nodes.iter().filter(|node| node.pruned);
    let through: HashSet<&NodeId> = earlier.map(|node| &node.id).chain(gone.clone()).collect();

    // A refinement does not depend on its original, which may be pruned without it.
    let passes = |edge: &GraphEdge| {
        !through.contains(&edge.from_node) || edge.edge_type == EdgeKind::Refines
    };
    let begins = data
        .nodes
        .iter()
        .filter(|node| is_safe(node) || !has_source.contains(&node.id))
        .map(|node| &node.id);
    let stands = reachable_from(begins, &from, passes);
    let below = reachable_from(through.iter().copied(), &from, |_| true);
    let cut_off = data
        .usable_nodes()
        .filter(|node| !is_safe(node) && below.contains(&node.id) && !stands.contains(&node.id));
    gone.extend(cut_off.map(|node| &node.id));
    gone
}

/// The start nodes and the nodes that can be reached from them over edges for which `passes` holds.
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
