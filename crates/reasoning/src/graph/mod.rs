//! Graph of Thoughts: thoughts that are continued, scored, merged, made better and given up, each
//! by a tool of its own. A graph has an id and limits of its own, and obeys them.

mod aggregate;
mod config;
mod direction;
mod finalize;
mod generate;
mod grow;
mod init;
mod load;
mod prune;
mod rank;
mod refine;
mod score;
mod shape;
mod shown;
mod state;

use deliberate_core::{
    Change, EdgeKind, Graph, GraphEdge, GraphNode, NodeId, NodeKind, NodeMarks, Score,
};
use deliberate_toolkit::{Call, ToolError};
use serde_json::{Map, Value};

pub use aggregate::GotAggregate;
pub use finalize::GotFinalize;
pub use generate::GotGenerate;
pub use init::GotInit;
pub use prune::GotPrune;
pub use refine::GotRefine;
pub use score::GotScore;
pub use state::GotState;

pub(crate) use direction::take_direction;
pub(crate) use init::start_and_grow;

/// The problem a call is about: the one it names, else the one the graph was made for.
fn problem<'a>(
    named: Option<&'a str>,
    graph: &'a Graph,
    call: &Call,
) -> Result<Option<&'a str>, ToolError> {
    match named {
        Some(problem) => call.checked_content("problem", problem).map(Some),
        None => Ok(graph.problem.as_deref()),
    }
}

/// A new node of a graph: active, without a score.
fn new_node(graph: &Graph, kind: NodeKind, depth: i64, content: String, call: &Call) -> GraphNode {
    GraphNode {
        id: call.fresh(),
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
    call: &Call,
) -> GraphEdge {
    GraphEdge {
        id: call.fresh(),
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
fn rest(id: &NodeId, call: &Call) -> Change {
    mark(
        id,
        NodeMarks {
            is_active: Some(false),
            ..NodeMarks::default()
        },
        call,
    )
}

fn mark(id: &NodeId, marks: NodeMarks, call: &Call) -> Change {
    Change::MarkNode {
        id: id.clone(),
        marks,
        at: call.now(),
    }
}

/// Notes something about a node beside what was noted before.
fn note(node: &mut GraphNode, name: &str, value: Value) {
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
