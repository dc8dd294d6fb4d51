//! Adds the new direction of a backtrack to a graph as a node, so that the graph can be continued
//! from it.

use deliberate_core::{
    Change, EdgeKind, Graph, GraphNode, NodeId, NodeKind, Precondition, Thought,
};
use deliberate_toolkit::ToolContext;
use serde_json::json;

use super::{add_metadata, config::GraphConfig, new_edge, new_node};

/// Builds the node for the first thought in a direction from the node `from`, with its changes. It
/// has the thought's answer and weakest point. `None` if the limits of the graph leave no room.
pub(crate) fn add_direction_node(
    graph: &Graph,
    from: &GraphNode,
    nodes: usize,
    thought: &Thought,
    call: &ToolContext,
) -> Option<(NodeId, Vec<Change>)> {
    let limits = GraphConfig::for_graph(graph);
    let depth = from.depth + 1;
    limits.check_depth(depth).ok()?;
    limits.remaining_nodes(nodes).ok()?;
    let text = thought.content.clone();
    let mut node = new_node(graph, NodeKind::Hypothesis, depth, text, call);
    node.metadata.clone_from(&thought.metadata);
    add_metadata(&mut node, "confidence", json!(thought.confidence));
    let ends = (&from.id, &node.id);
    let edge = new_edge(graph, EdgeKind::Generates, ends, thought.confidence, call);
    let id = node.id.clone();
    let changes = vec![
        Change::Check(Precondition::OpenNode(from.id.clone())),
        Change::AddNode(node),
        Change::AddEdge(edge),
        Change::Check(Precondition::NodesAtMost {
            graph_id: graph.id.clone(),
            most: limits.max_nodes,
        }),
    ];
    Some((id, changes))
}
