//! A graph as it is now, read whole: graphs are small, and a limit of theirs says so.

use std::collections::{HashMap, HashSet};

use deliberate_core::{EdgeKind, Graph, GraphEdge, GraphId, GraphNode, NodeId, NodeKind};
use deliberate_store::{Page, Which};
use deliberate_toolkit::{Call, ToolError};

use super::config::Config;

/// Pages read at the most; imported graphs may be larger than ours.
const MOST_PAGES: u32 = 20;

/// A graph with its current nodes and the edges between them.
pub(super) struct Whole {
    pub(super) graph: Graph,
    pub(super) config: Config,
    /// Oldest first, those that were pruned too.
    pub(super) nodes: Vec<GraphNode>,
    /// Oldest first, with both ends among the nodes.
    pub(super) edges: Vec<GraphEdge>,
}

impl Whole {
    /// The graph of that id, if it is current.
    pub(super) async fn read(id: &GraphId, call: &Call) -> Result<Self, ToolError> {
        let graph = call.graph(id).await?;
        let store = call.store();
        let mut nodes = Vec::new();
        for page in pages() {
            let some = store.nodes(&graph.id, Which::Current, page).await?;
            let is_last = some.len() < Page::MOST as usize;
            nodes.extend(some);
            if is_last {
                break;
            }
        }
        let mut edges = Vec::new();
        for page in pages() {
            let some = store.edges(&graph.id, Which::Current, page).await?;
            let is_last = some.len() < Page::MOST as usize;
            edges.extend(some);
            if is_last {
                break;
            }
        }
        let known: HashSet<&NodeId> = nodes.iter().map(|node| &node.id).collect();
        edges.retain(|edge| known.contains(&edge.from_node) && known.contains(&edge.to_node));
        Ok(Self {
            config: Config::of(&graph),
            graph,
            nodes,
            edges,
        })
    }

    /// The nodes that were not pruned, oldest first.
    pub(super) fn usable(&self) -> impl Iterator<Item = &GraphNode> {
        self.nodes.iter().filter(|node| !node.pruned)
    }

    /// The same by their ids.
    pub(super) fn usable_by_id(&self) -> HashMap<&NodeId, &GraphNode> {
        self.usable().map(|node| (&node.id, node)).collect()
    }

    /// What leads to a node, from the root on, without the node itself. Where a node has several
    /// sources it is the first; what was made better is represented by what it became.
    pub(super) fn line_to(&self, node: &GraphNode) -> Vec<&GraphNode> {
        let usable = self.usable_by_id();
        let mut source: HashMap<&NodeId, &GraphEdge> = HashMap::new();
        for edge in self.edges.iter().filter(|edge| is_structure(edge)) {
            if usable.contains_key(&edge.from_node) {
                source.entry(&edge.to_node).or_insert(edge);
            }
        }
        let mut line = Vec::new();
        let mut seen = HashSet::from([&node.id]);
        let mut at = &node.id;
        while let Some(edge) = source.get(at) {
            at = &edge.from_node;
            if !seen.insert(at) {
                break;
            }
            if edge.edge_type != EdgeKind::Refines {
                line.extend(usable.get(at));
            }
        }
        line.reverse();
        line
    }

    /// The continuations a node has, oldest first.
    pub(super) fn continuations_of(&self, node: &NodeId) -> Vec<&GraphNode> {
        let usable = self.usable_by_id();
        let edges = self
            .edges
            .iter()
            .filter(|edge| edge.from_node == *node && edge.edge_type == EdgeKind::Generates);
        let ends = edges.filter_map(|edge| usable.get(&edge.to_node));
        ends.copied().collect()
    }
}

fn pages() -> impl Iterator<Item = Page> {
    (0..MOST_PAGES).map(|number| Page {
        offset: number * Page::MOST,
        limit: Page::MOST,
    })
}

/// Whether an edge says where a node comes from, and not what it says about another.
pub(super) fn is_structure(edge: &GraphEdge) -> bool {
    match edge.edge_type {
        EdgeKind::Generates | EdgeKind::Refines | EdgeKind::Aggregates => true,
        EdgeKind::Supports | EdgeKind::Contradicts => false,
    }
}

/// Whether a graph begins with it.
pub(super) fn is_root(node: &GraphNode) -> bool {
    node.node_type == NodeKind::Root
}
