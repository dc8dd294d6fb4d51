//! `reasoning_got_state`: describes the current state of a graph.

use deliberate_core::{GraphId, GraphNode, NodeId, Score, SessionId};
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    config::GraphConfig,
    data::{GraphData, is_root, rating::compare_rating, topology::Topology},
};

/// The largest number of ids in each list.
const MAX_IDS: usize = 50;

/// The `reasoning_got_state` tool.
pub(crate) struct GotState;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    graph_id: GraphId,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The graph
    graph_id: GraphId,
    /// The session it belongs to
    session_id: SessionId,
    /// Nodes that were not pruned
    node_count: usize,
    /// Edges between these nodes
    edge_count: usize,
    /// Depth of the deepest of these nodes; a root is 0
    max_depth: i64,
    /// How many were not yet continued, merged, refined or concluded
    active_nodes: usize,
    /// How many are marked as conclusions
    terminal_nodes: usize,
    /// Whether the graph has a cycle
    has_cycle: bool,
    /// How many were pruned
    pruned_nodes: usize,
    /// The problem the graph is about; null if none was given
    problem: Option<String>,
    /// The limits of the graph
    #[schemars(with = "Map<String, Value>")]
    config: GraphConfig,
    /// The node with the highest score; null if none has one
    best_node_id: Option<NodeId>,
    /// Nodes to work on: active ones first, conclusions last, each best first; at most 50
    usable_node_ids: Vec<NodeId>,
    /// The roots; at most 50
    root_node_ids: Vec<NodeId>,
    /// The active nodes, oldest first; at most 50
    active_node_ids: Vec<NodeId>,
    /// The conclusions, oldest first; at most 50
    terminal_node_ids: Vec<NodeId>,
}

impl Tool for GotState {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_got_state",
            title: "Look at a graph",
            description: "Get the current state of the reasoning graph including node counts and \
                          structure.",
            hints: ToolHints::READ_ONLY,
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let whole = GraphData::load(&input.graph_id, call).await?;
        let usable = whole.usable_by_id();
        let between = whole.edges.iter().filter(|edge| {
            usable.contains_key(&edge.from_node) && usable.contains_key(&edge.to_node)
        });
        let count =
            |is: fn(&GraphNode) -> bool| whole.usable_nodes().filter(|node| is(node)).count();
        let ids = |is: fn(&GraphNode) -> bool| {
            let those = whole.usable_nodes().filter(|node| is(node));
            those.take(MAX_IDS).map(|node| node.id.clone()).collect()
        };
        let output = Output {
            graph_id: whole.graph.id.clone(),
            session_id: whole.graph.session_id.clone(),
            node_count: usable.len(),
            edge_count: between.count(),
            max_depth: whole
                .usable_nodes()
                .map(|node| node.depth)
                .max()
                .unwrap_or(0),
            active_nodes: count(|node| node.is_active),
            terminal_nodes: count(|node| node.is_terminal),
            has_cycle: Topology::from_edges(&whole.edges).has_cycle(),
            pruned_nodes: whole.nodes.len() - usable.len(),
            problem: whole.graph.problem.clone(),
            config: whole.config.clone(),
            best_node_id: best_node_id(&whole),
            usable_node_ids: workable_nodes(&whole),
            root_node_ids: ids(is_root),
            active_node_ids: ids(|node| node.is_active),
            terminal_node_ids: ids(|node| node.is_terminal),
        };
        Ok(ToolOutput {
            output,
            changes: Vec::new(),
            session: Some(whole.graph.session_id.clone()),
        })
    }
}

/// The nodes to work on: first the active ones, then the others, each sorted by quality;
/// conclusions last.
fn workable_nodes(data: &GraphData) -> Vec<NodeId> {
    let mut nodes: Vec<&GraphNode> = data.usable_nodes().collect();
    nodes.sort_by(|one, other| {
        let place = |node: &GraphNode| (node.is_terminal, !node.is_active);
        let by_place = place(one).cmp(&place(other));
        by_place.then_with(|| compare_rating(one, other))
    });
    let first = nodes.into_iter().take(MAX_IDS);
    first.map(|node| node.id.clone()).collect()
}

/// The node with the highest score; the oldest of equal ones.
fn best_node_id(data: &GraphData) -> Option<NodeId> {
    let scored = data.usable_nodes().filter(|node| node.score.is_some());
    let score = |node: &GraphNode| node.score.map_or(0.0, Score::get);
    let best = scored.reduce(|best, node| {
        if score(node) > score(best) {
            node
        } else {
            best
        }
    });
    best.map(|node| node.id.clone())
}
