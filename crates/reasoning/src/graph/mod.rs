//! Graph of Thoughts: thoughts that are continued, scored, merged, made better and given up, each
//! by a tool of its own. A graph has an id and limits of its own, and obeys them.

mod aggregate;
mod backtrack_node;
mod config;
mod data;
mod expand;
mod finalize;
mod generate;
mod init;
mod prompt_context;
mod prune;
mod refine;
mod score;
mod state;

use deliberate_core::{
    Change, EdgeKind, Graph, GraphEdge, GraphNode, NodeId, NodeKind, NodeUpdate, Score,
};
use deliberate_toolkit::{ToolContext, ToolError};
use serde_json::{Map, Value};

pub use aggregate::GotAggregate;
pub use finalize::GotFinalize;
pub use generate::GotGenerate;
pub use init::GotInit;
pub use prune::GotPrune;
pub use refine::GotRefine;
pub use score::GotScore;
pub use state::GotState;

pub(crate) use backtrack_node::add_direction_node;
pub(crate) use init::start_and_expand;

/// The problem a call is about: the one it names, else the one the graph was made for.
fn resolve_problem<'a>(
    named: Option<&'a str>,
    graph: &'a Graph,
    call: &ToolContext,
) -> Result<Option<&'a str>, ToolError> {
    match named {
        Some(problem) => call.check_content("problem", problem).map(Some),
        None => Ok(graph.problem.as_deref()),
    }
}

/// A new node of a graph: active, without a score.
fn new_node(
    graph: &Graph,
    kind: NodeKind,
    depth: i64,
    content: String,
    call: &ToolContext,
) -> GraphNode {
    GraphNode {
        id: call.new_id(),
        graph_id: graph.id.clone(),
        session_id: graph.session_id.clone(),
        content,
        node_type: kind,
        score: None,
        depth,
        is_active: true,
        is_terminal: false,
        pruned: false,
        set_aside: false,
        created_at: call.now(),
        metadata: None,
    }
}

/// A new edge between nodes of a graph.
fn new_edge(
    graph: &Graph,
    kind: EdgeKind,
    (from, to): (&NodeId, &NodeId),
    weight: Score,
    call: &ToolContext,
) -> GraphEdge {
    GraphEdge {
        id: call.new_id(),
        graph_id: graph.id.clone(),
        from_node: from.clone(),
        to_node: to.clone(),
        edge_type: kind,
        weight,
        created_at: call.now(),
        metadata: None,
    }
}

/// The node is no longer the end of a way: it was continued or merged, or is a conclusion.
fn deactivate_node(id: &NodeId, call: &ToolContext) -> Change {
    update_node(
        id,
        NodeUpdate {
            is_active: Some(false),
            ..NodeUpdate::default()
        },
        call,
    )
}

fn update_node(id: &NodeId, marks: NodeUpdate, call: &ToolContext) -> Change {
    Change::MarkNode {
        id: id.clone(),
        marks,
        at: call.now(),
    }
}

/// Notes something about a node beside what was noted before.
fn add_metadata(node: &mut GraphNode, name: &str, value: Value) {
    if value.is_null() {
        return;
    }
    let mut fields = match node.metadata.take() {
        Some(Value::Object(fields)) => fields,
        // Imported nodes may carry anything.
        Some(other) => Map::from_iter([("earlier".to_owned(), other)]),
        None => Map::new(),
    };
    fields.insert(name.to_owned(), value);
    node.metadata = Some(Value::Object(fields));
}
