//! The short ids of an entity and its contents, which the tools take as arguments.

use std::collections::BTreeMap;

use deliberate_core::{Branch, GraphEdge, GraphNode, Thought};
use deliberate_store::StoreError;
use deliberate_toolkit::ToolContext;

use super::load::{GraphDetail, ReasoningEntity};

/// The short id of each thought, branch and node that is shown or referred to.
#[derive(Debug, Default)]
pub(super) struct ShortIds(BTreeMap<String, String>);

impl ShortIds {
    pub(super) async fn load(
        entity: &ReasoningEntity,
        call: &ToolContext,
    ) -> Result<Self, StoreError> {
        let mut ids = Vec::new();
        match entity {
            ReasoningEntity::Session(it) => {
                push_thoughts(&it.thoughts, &mut ids);
                push_branches(&it.branches, &mut ids);
                for graph in &it.graphs {
                    push_graph(&graph.whole, &mut ids);
                }
            }
            ReasoningEntity::Branch(it) => {
                push_branches(std::slice::from_ref(&it.branch), &mut ids);
                push_thoughts(&it.thoughts, &mut ids);
            }
            ReasoningEntity::Graph(it) => push_graph(it, &mut ids),
            ReasoningEntity::Thought(it) => push_thoughts(std::slice::from_ref(it), &mut ids),
            ReasoningEntity::Node(it) => {
                push_nodes(std::slice::from_ref(&it.node), &it.edges, &mut ids);
            }
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(Self(call.store().short_ids(&ids).await?))
    }

    /// The short id of an entity; `None` if it was deleted meanwhile.
    pub(super) fn get(&self, id: &impl AsRef<str>) -> Option<&str> {
        self.0.get(id.as_ref()).map(String::as_str)
    }
}

fn push_thoughts(thoughts: &[Thought], ids: &mut Vec<String>) {
    for thought in thoughts {
        ids.push(thought.id.to_string());
        ids.extend(thought.parent_id.as_ref().map(ToString::to_string));
    }
}

fn push_branches(branches: &[Branch], ids: &mut Vec<String>) {
    ids.extend(branches.iter().map(|branch| branch.id.to_string()));
}

fn push_graph(graph: &GraphDetail, ids: &mut Vec<String>) {
    push_nodes(&graph.nodes, &graph.edges, ids);
}

fn push_nodes(nodes: &[GraphNode], edges: &[GraphEdge], ids: &mut Vec<String>) {
    ids.extend(nodes.iter().map(|node| node.id.to_string()));
    for edge in edges {
        ids.extend([edge.from_node.to_string(), edge.to_node.to_string()]);
    }
}
