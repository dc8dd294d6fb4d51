//! The order in which the nodes of a graph stand for it: in the history of its session, and where one
//! node is to represent it.

use std::{cmp::Ordering, collections::HashSet};

use deliberate_core::{EdgeKind, Graph, GraphEdge, GraphNode, NodeId, NodeKind};

use super::{GraphData, merge_results::outvoting_result, rating::rating};

/// Drops pruned nodes and sorts the others, which are oldest first: the root, the conclusions, the other
/// nodes, and last those that were merged into another or refined, and merges that their sources
/// outvote; each the best first, then the open ones, newest first.
pub(crate) fn rank_usable_nodes(
    graph: &Graph,
    nodes: Vec<GraphNode>,
    edges: Vec<GraphEdge>,
) -> Vec<GraphNode> {
    let data = GraphData::from_parts(graph.clone(), nodes, edges);
    let outvoted: HashSet<NodeId> = data
        .usable_nodes()
        .filter(|node| outvoting_result(node, &data).is_some())
        .map(|node| node.id.clone())
        .collect();
    let mut passed_over: HashSet<NodeId> = data
        .replaced_nodes(|by| !outvoted.contains(&by.id))
        .into_iter()
        .cloned()
        .collect();
    passed_over.extend(outvoted);
    let usable = data.usable_by_id();
    let continues = |edge: &&GraphEdge| {
        edge.edge_type == EdgeKind::Generates && usable.contains_key(&edge.to_node)
    };
    let continued: HashSet<NodeId> = data
        .edges
        .iter()
        .filter(continues)
        .map(|edge| edge.from_node.clone())
        .collect();
    let mut nodes = data.nodes;
    nodes.retain(|node| !node.pruned);
    nodes.reverse();
    nodes.sort_by(|one, other| {
        let rank = |node: &GraphNode| {
            (
                node.node_type == NodeKind::Root,
                !passed_over.contains(&node.id),
                // What grew from a conclusion came later than the conclusion.
                node.is_terminal && !continued.contains(&node.id),
                rating(node).unwrap_or(-1.0),
                node.is_active,
            )
        };
        let order = rank(other).partial_cmp(&rank(one));
        order.unwrap_or(Ordering::Equal)
    });
    nodes
}
