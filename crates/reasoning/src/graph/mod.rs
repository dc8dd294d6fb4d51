//! The graph-of-thoughts mode: nodes that are generated, scored, aggregated, refined and pruned,
//! each by its own tool. Every graph has an id and limits, which all tools enforce.

mod aggregate;
mod backtrack_node;
mod caller_continuations;
mod config;
mod data;
mod definition;
mod expand;
mod finalize;
mod generate;
mod init;
mod prompt_context;
mod prune;
mod refine;
mod score;
mod scoring;
mod state;

use deliberate_core::{
    Change, EdgeKind, Graph, GraphEdge, GraphNode, NodeId, NodeKind, NodeUpdate, Score,
};
use deliberate_toolkit::{ToolContext, ToolError};
use serde_json::{Map, Value};

pub(crate) use aggregate::GotAggregate;
pub(crate) use finalize::GotFinalize;
pub(crate) use generate::GotGenerate;
pub(crate) use init::GotInit;
pub(crate) use prune::GotPrune;
pub(crate) use refine::GotRefine;
pub(crate) use score::GotScore;
pub(crate) use state::GotState;

pub(crate) use backtrack_node::add_direction_node;
pub(crate) use data::{node_answer, ranking::rank_usable_nodes};
pub(crate) use definition::MODE;
pub(crate) use init::start_and_expand;
pub(crate) use prompt_context::NodeText;

/// The problem of a call: the one that it names, else the one of the graph.
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

/// Builds a node that is active and has no score.
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

/// Marks a node as inactive, because it was continued or merged or is a conclusion.
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

fn update_node(id: &NodeId, update: NodeUpdate, call: &ToolContext) -> Change {
    Change::UpdateNode {
        id: id.clone(),
        marks: update,
        at: call.now(),
    }
}

/// Adds a field to the metadata of a node; null adds nothing.
fn add_metadata(node: &mut GraphNode, name: &str, value: Value) {
    if value.is_null() {
        return;
    }
    let mut fields = match node.metadata.take() {
        Some(Value::Object(fields)) => fields,
        // The metadata of imported nodes may have any form.
        Some(other) => Map::from_iter([("earlier".to_owned(), other)]),
        None => Map::new(),
    };
    fields.insert(name.to_owned(), value);
    node.metadata = Some(Value::Object(fields));
}
