//! Graphs of thoughts: graphs, their nodes and their edges.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::branch::string_enum;
use crate::{EdgeId, GraphId, NodeId, Score, SessionId, Timestamp};

/// A graph of thoughts. A session may hold several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// The graph's id.
    pub id: GraphId,
    /// The session that the graph belongs to.
    pub session_id: SessionId,
    /// The problem that the graph works on.
    pub problem: Option<String>,
    /// The limits that were given when the graph was created.
    pub config: Value,
    /// Whether a backtrack set the graph aside.
    #[serde(default)]
    pub set_aside: bool,
    /// When the graph was created.
    pub created_at: Timestamp,
    /// When the graph last changed.
    pub updated_at: Timestamp,
}

/// A node of a graph of thoughts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GraphNode {
    /// The node's id.
    pub id: NodeId,
    /// The graph that the node belongs to.
    pub graph_id: GraphId,
    /// The session of that graph.
    pub session_id: SessionId,
    /// The text of the thought.
    pub content: String,
    /// The kind of node.
    pub node_type: NodeKind,
    /// The quality score, once the node is scored.
    pub score: Option<Score>,
    /// The number of steps from a root.
    pub depth: i64,
    /// Whether the node may still be worked on.
    pub is_active: bool,
    /// Whether the node is a conclusion.
    pub is_terminal: bool,
    /// Whether the node is pruned: not worked on and not shown to a model any more.
    #[serde(default)]
    pub pruned: bool,
    /// Whether a backtrack set the node aside.
    #[serde(default)]
    pub set_aside: bool,
    /// When the node was created.
    pub created_at: Timestamp,
    /// Further data about the node.
    pub metadata: Option<Value>,
}

/// The kinds of node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
// The field's name describes it. Repeating that in the schema would cost clients tokens.
#[schemars(description = "")]
pub enum NodeKind {
    /// The start of a graph.
    Root,
    /// A thought.
    Thought,
    /// To be tested.
    Hypothesis,
    /// A conclusion.
    Conclusion,
    /// Several nodes merged.
    Aggregation,
    /// An improved node.
    Refinement,
    /// An end.
    Terminal,
}

/// An edge of a graph of thoughts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GraphEdge {
    /// The edge's id.
    pub id: EdgeId,
    /// The graph that the edge belongs to.
    pub graph_id: GraphId,
    /// The node where the edge starts.
    pub from_node: NodeId,
    /// The node where the edge ends.
    pub to_node: NodeId,
    /// The kind of edge.
    pub edge_type: EdgeKind,
    /// The strength of the relation.
    pub weight: Score,
    /// When the edge was created.
    pub created_at: Timestamp,
    /// Further data about the edge.
    pub metadata: Option<Value>,
}

/// The kinds of edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
// The field's name describes it. Repeating that in the schema would cost clients tokens.
#[schemars(description = "")]
pub enum EdgeKind {
    /// The second follows from the first.
    Generates,
    /// The second improves the first.
    Refines,
    /// The second merges the first with others.
    Aggregates,
    /// The first supports the second.
    Supports,
    /// The first contradicts the second.
    Contradicts,
}

string_enum! {
    NodeKind {
        Root = "root", Thought = "thought", Hypothesis = "hypothesis", Conclusion = "conclusion",
        Aggregation = "aggregation", Refinement = "refinement", Terminal = "terminal",
    }
    EdgeKind {
        Generates = "generates", Refines = "refines", Aggregates = "aggregates",
        Supports = "supports", Contradicts = "contradicts",
    }
}
