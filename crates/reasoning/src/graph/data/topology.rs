//! The topology of a graph: reachability and cycles.

use std::collections::HashMap;

use deliberate_core::{GraphEdge, NodeId};
use petgraph::{
    algo::{has_path_connecting, toposort},
    graph::{DiGraph, NodeIndex},
};

/// The edges without their kind and weight.
#[derive(Default)]
pub(crate) struct Topology {
    graph: DiGraph<(), ()>,
    indices: HashMap<NodeId, NodeIndex>,
}

impl Topology {
    pub(crate) fn from_edges<'a>(edges: impl IntoIterator<Item = &'a GraphEdge>) -> Self {
        let mut shape = Self::default();
        for edge in edges {
            let (from, to) = (
                shape.node_index(&edge.from_node),
                shape.node_index(&edge.to_node),
            );
            shape.graph.add_edge(from, to, ());
        }
        shape
    }

    fn node_index(&mut self, node: &NodeId) -> NodeIndex {
        if let Some(place) = self.indices.get(node) {
            return *place;
        }
        let place = self.graph.add_node(());
        self.indices.insert(node.clone(), place);
        place
    }

    /// Tells whether the graph has a cycle. It does not use `is_cyclic_directed`, which recurses
    /// once per node of a long line.
    pub(crate) fn has_cycle(&self) -> bool {
        toposort(&self.graph, None).is_err()
    }

    /// Adds an edge unless it would close a cycle. Returns whether it was added.
    pub(crate) fn add_acyclic_edge(&mut self, from: &NodeId, to: &NodeId) -> bool {
        let (from, to) = (self.node_index(from), self.node_index(to));
        if has_path_connecting(&self.graph, to, from, None) {
            return false;
        }
        self.graph.add_edge(from, to, ());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_that_closes_a_cycle_is_not_added() {
        let [a, b, c] = ["a", "b", "c"].map(NodeId::from);
        let mut shape = Topology::default();
        assert!(
            shape.add_acyclic_edge(&a, &b)
                && shape.add_acyclic_edge(&b, &c)
                && shape.add_acyclic_edge(&a, &c)
        );
        assert!(!shape.add_acyclic_edge(&c, &a));
        assert!(!shape.add_acyclic_edge(&b, &b));
        assert!(!shape.has_cycle());
    }

    #[test]
    fn a_very_long_line_is_no_cycle_and_its_closing_is() {
        let ids: Vec<NodeId> = (0..20_000).map(|n| n.to_string().into()).collect();
        let mut shape = Topology::default();
        let places: Vec<_> = ids.iter().map(|id| shape.node_index(id)).collect();
        for pair in places.windows(2) {
            shape.graph.add_edge(pair[0], pair[1], ());
        }
        assert!(!shape.has_cycle());
        shape.graph.add_edge(places[19_999], places[0], ());
        assert!(shape.has_cycle());
    }
}
