//! The current state of a graph. Usable nodes are read completely, because the graph limits their
//! number; pruned nodes are not limited, so a long text of theirs is shortened.

pub(super) mod merge_results;
pub(crate) mod ranking;
pub(super) mod rating;
pub(crate) mod topology;

use std::{
    collections::{HashMap, HashSet},
    future::Future,
};

use deliberate_core::{
    EdgeKind, Graph, GraphEdge, GraphId, GraphNode, NodeId, NodeKind, shorten_tokens,
};
use deliberate_store::{EpochFilter, Pagination, StoreError};
use deliberate_toolkit::{ToolContext, ToolError};

use super::config::GraphConfig;

/// The largest number of pages read: imported graphs may exceed our limits, and pruned nodes
/// accumulate.
const MAX_PAGES: u32 = 20;

/// The tokens of a pruned node's text that are loaded: enough to show it and to detect duplicates.
const PRUNED_TEXT_TOKENS: usize = 500;

/// A graph with its current nodes and the edges between them.
pub(super) struct GraphData {
    pub(super) graph: Graph,
    pub(super) config: GraphConfig,
    /// Oldest first, including pruned nodes.
    pub(super) nodes: Vec<GraphNode>,
    /// Oldest first. Both ends are in `nodes`.
    pub(super) edges: Vec<GraphEdge>,
}

impl GraphData {
    /// Loads a current graph.
    pub(super) async fn load(id: &GraphId, call: &ToolContext) -> Result<Self, ToolError> {
        let graph = crate::lookup::graph(call, id).await?;
        let store = call.store();
        let nodes = read_all_pages(
            |page| store.nodes(&graph.id, EpochFilter::Current, page),
            |mut node: GraphNode| {
                if node.pruned {
                    node.content = shorten_pruned(&node.content);
                }
                node
            },
        )
        .await?;
        // The edges are read after the nodes, so that no node lacks the edges that lead to it.
        let mut edges = read_all_pages(
            |page| store.edges(&graph.id, EpochFilter::Current, page),
            |edge| edge,
        )
        .await?;
        let known: HashSet<&NodeId> = nodes.iter().map(|node| &node.id).collect();
        edges.retain(|edge| known.contains(&edge.from_node) && known.contains(&edge.to_node));
        Ok(Self::from_parts(graph, nodes, edges))
    }

    /// Builds the graph from what was read of it.
    pub(super) fn from_parts(graph: Graph, nodes: Vec<GraphNode>, edges: Vec<GraphEdge>) -> Self {
        Self {
            config: GraphConfig::for_graph(&graph),
            graph,
            nodes,
            edges,
        }
    }

    /// The nodes that are not pruned, oldest first.
    pub(super) fn usable_nodes(&self) -> impl Iterator<Item = &GraphNode> {
        self.nodes.iter().filter(|node| !node.pruned)
    }

    /// The usable nodes by id.
    pub(super) fn usable_by_id(&self) -> HashMap<&NodeId, &GraphNode> {
        self.usable_nodes().map(|node| (&node.id, node)).collect()
    }

    /// The nodes that lead to a node, from the root on, without the node itself. Of several sources
    /// it takes the first; a refined node is represented by its refinement.
    pub(super) fn ancestors(&self, node: &GraphNode) -> Vec<&GraphNode> {
        let usable = self.usable_by_id();
        let mut source: HashMap<&NodeId, &GraphEdge> = HashMap::new();
        for edge in self.edges.iter().filter(|edge| is_structural(edge)) {
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

    /// The nodes that were merged into a node, or into the node that it refines, oldest first.
    pub(super) fn merged_sources(&self, node: &NodeId) -> Vec<&GraphNode> {
        let merged = self.unrefined(node);
        let edges = self
            .edges
            .iter()
            .filter(|edge| edge.to_node == *merged && edge.edge_type == EdgeKind::Aggregates);
        let ids: HashSet<&NodeId> = edges.map(|edge| &edge.from_node).collect();
        self.nodes
            .iter()
            .filter(|node| ids.contains(&node.id))
            .collect()
    }

    /// The node that a chain of refinements began with; the node itself if it refines none.
    pub(super) fn unrefined<'a>(&'a self, node: &'a NodeId) -> &'a NodeId {
        let mut at = node;
        let mut seen = HashSet::from([at]);
        let refines = |at: &NodeId| {
            let mut edges = self.edges.iter();
            edges.find(|edge| edge.to_node == *at && edge.edge_type == EdgeKind::Refines)
        };
        while let Some(edge) = refines(at) {
            if !seen.insert(&edge.from_node) {
                break;
            }
            at = &edge.from_node;
        }
        at
    }

    /// The last usable node of the refinements of a node; the node itself if there is none.
    pub(super) fn last_refinement<'a>(&'a self, node: &'a GraphNode) -> &'a GraphNode {
        let usable = self.usable_by_id();
        let mut seen = HashSet::from([&node.id]);
        let mut at = node;
        let refinement = |at: &GraphNode| {
            let edges = self.edges.iter();
            let mut edges =
                edges.filter(|edge| edge.from_node == at.id && edge.edge_type == EdgeKind::Refines);
            edges.find_map(|edge| usable.get(&edge.to_node).copied())
        };
        while let Some(next) = refinement(at).filter(|next| seen.insert(&next.id)) {
            at = next;
        }
        at
    }

    /// All continuations of a node, oldest first, including pruned ones.
    pub(super) fn children_of(&self, node: &NodeId) -> Vec<&GraphNode> {
        let edges = self
            .edges
            .iter()
            .filter(|edge| edge.from_node == *node && edge.edge_type == EdgeKind::Generates);
        let ends: HashSet<&NodeId> = edges.map(|edge| &edge.to_node).collect();
        let children = self.nodes.iter().filter(|node| ends.contains(&node.id));
        children.collect()
    }

    /// The nodes for which `is` holds, and all that grew from them.
    pub(super) fn with_descendants(&self, is: impl Fn(&GraphNode) -> bool) -> HashSet<&NodeId> {
        let begins = self.usable_nodes().filter(|node| is(node));
        let mut ahead: Vec<&NodeId> = begins.map(|node| &node.id).collect();
        let mut reached: HashSet<&NodeId> = ahead.iter().copied().collect();
        while let Some(at) = ahead.pop() {
            let edges = self.edges.iter().filter(|edge| edge.from_node == *at);
            for edge in edges.filter(|edge| is_structural(edge)) {
                if reached.insert(&edge.to_node) {
                    ahead.push(&edge.to_node);
                }
            }
        }
        reached
    }

    /// The nodes that were merged into, or refined by, a usable node for which `by` holds.
    pub(super) fn replaced_nodes(&self, by: impl Fn(&GraphNode) -> bool) -> HashSet<&NodeId> {
        let usable = self.usable_by_id();
        let takes_over = |edge: &&GraphEdge| {
            matches!(edge.edge_type, EdgeKind::Refines | EdgeKind::Aggregates)
                && edge.from_node != edge.to_node
                && usable.get(&edge.to_node).is_some_and(|node| by(node))
        };
        let edges = self.edges.iter().filter(takes_over);
        edges.map(|edge| &edge.from_node).collect()
    }
}

/// Reads all pages and maps each item with `keep`.
async fn read_all_pages<T, Read>(
    read: impl Fn(Pagination) -> Read,
    kept: impl Fn(T) -> T,
) -> Result<Vec<T>, StoreError>
where
    Read: Future<Output = Result<Vec<T>, StoreError>>,
{
    let mut items = Vec::new();
    for number in 0..MAX_PAGES {
        let page = read(Pagination {
            offset: number * Pagination::MAX,
            limit: Pagination::MAX,
        })
        .await?;
        let is_last = page.len() < Pagination::MAX as usize;
        items.extend(page.into_iter().map(&kept));
        if is_last {
            break;
        }
    }
    Ok(items)
}

/// The result that a node reaches, if it reaches one.
pub(crate) fn node_answer(node: &GraphNode) -> Option<&str> {
    node.metadata.as_ref()?.get("answer")?.as_str()
}

/// What is most likely to be wrong with a node, if that is known.
pub(super) fn node_weakest_point(node: &GraphNode) -> Option<&str> {
    node.metadata.as_ref()?.get("weakest_point")?.as_str()
}

/// The field of a node's metadata that is true if `reasoning_got_finalize` chose the conclusion
/// itself. It is missing on those that a caller named.
pub(super) const CHOSEN_CONCLUSION: &str = "chosen_conclusion";

/// Tells whether a node has, or had, the mark of a conclusion that no caller named.
pub(super) fn has_chosen_mark(node: &GraphNode) -> bool {
    let metadata = node.metadata.as_ref();
    metadata.is_some_and(|it| it.get(CHOSEN_CONCLUSION).is_some())
}

/// Tells whether a node is a conclusion that no caller named. It gives way to what grows from it.
pub(super) fn is_chosen_conclusion(node: &GraphNode) -> bool {
    node.is_terminal && has_chosen_mark(node)
}

/// Tells whether a node is a conclusion that a caller named.
pub(super) fn is_named_conclusion(node: &GraphNode) -> bool {
    node.is_terminal && !has_chosen_mark(node)
}

/// Shortens the text of a pruned node. A text that was shortened stays as it is.
pub(super) fn shorten_pruned(text: &str) -> String {
    shorten_tokens(text, PRUNED_TEXT_TOKENS)
}

/// Tells whether an edge shows the origin of a node, rather than a relation such as a
/// contradiction.
pub(super) fn is_structural(edge: &GraphEdge) -> bool {
    match edge.edge_type {
        EdgeKind::Generates | EdgeKind::Refines | EdgeKind::Aggregates => true,
        EdgeKind::Supports | EdgeKind::Contradicts => false,
    }
}

pub(super) fn is_root(node: &GraphNode) -> bool {
    node.node_type == NodeKind::Root
}

/// Tells whether a node is the question of the graph: the root, or a better wording of it.
pub(super) fn is_question(node: &GraphNode) -> bool {
    is_root(node) || (node.node_type == NodeKind::Refinement && node.depth == 0)
}
