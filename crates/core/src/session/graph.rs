//! Graphs of thoughts: a graph with an id of its own, its nodes and its edges.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::branch::string_enum;
use crate::{EdgeId, GraphId, NodeId, Score, SessionId, Timestamp};

/// A graph of thoughts. A session may hold several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// Its id.
    pub id: GraphId,
    /// The session it belongs to.
    pub session_id: SessionId,
    /// The problem it works on.
    pub problem: Option<String>,
    /// Its limits, as given when it was made.
    pub config: Value,
    /// Whether a backtrack went back behind it.
    #[serde(default)]
    pub set_aside: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A node of a graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GraphNode {
    /// Its id.
    pub id: NodeId,
    /// The graph it belongs to.
    pub graph_id: GraphId,
    /// The session of that graph.
    pub session_id: SessionId,
    /// The thought.
    pub content: String,
    /// What kind of node it is.
    pub node_type: NodeKind,
    /// Its quality, once scored.
    pub score: Option<Score>,
    /// Steps from a root.
    pub depth: i64,
    /// Whether it may still be worked on.
    pub is_active: bool,
    /// Whether it is a conclusion.
    pub is_terminal: bool,
    /// Whether it was pruned: no longer worked on or shown to a model.
    #[serde(default)]
    pub pruned: bool,
    /// Whether a backtrack went back behind it.
    #[serde(default)]
    pub set_aside: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// Whatever else belongs to it.
    pub metadata: Option<Value>,
}

/// The kinds of node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
// The name of the field says it; a schema has no room to say it again.
#[schemars(description = "")]
pub enum NodeKind {
    /// Where a graph begins.
    Root,
    /// A thought.
    Thought,
    /// A guess to be tested.
    Hypothesis,
    /// Something concluded.
    Conclusion,
    /// Several nodes made one.
    Aggregation,
    /// A node made better.
    Refinement,
    /// An end.
    Terminal,
}

/// An edge of a graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GraphEdge {
    /// Its id.
    pub id: EdgeId,
    /// The graph it belongs to.
    pub graph_id: GraphId,
    /// Where it starts.
    pub from_node: NodeId,
    /// Where it ends.
    pub to_node: NodeId,
    /// What it says.
    pub edge_type: EdgeKind,
    /// How strongly.
    pub weight: Score,
    /// When it was made.
    pub created_at: Timestamp,
    /// Whatever else belongs to it.
    pub metadata: Option<Value>,
}

/// The kinds of edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
// The name of the field says it; a schema has no room to say it again.
#[schemars(description = "")]
pub enum EdgeKind {
    /// The second was thought from the first.
    Generates,
    /// The second is the first, made better.
    Refines,
    /// The second merges the first with others.
    Aggregates,
    /// The first speaks for the second.
    Supports,
    /// The first speaks against the second.
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
