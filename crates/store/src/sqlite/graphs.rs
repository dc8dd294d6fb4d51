//! SQL statements for graphs, their nodes and their edges.

use deliberate_core::{Graph, GraphEdge, GraphId, GraphNode, NodeId, NodeUpdate, Score, Timestamp};
use serde_json::Value;

use super::{
    apply::{SqlStatement, json_text},
    epochs,
};

pub(super) fn add_graph(graph: &Graph) -> SqlStatement<'_> {
    sqlx::query(
        "INSERT INTO graphs (id, session_id, problem, config, created_at, updated_at, epoch) \
         SELECT $1, s.id, $3, $4, $5, $6, s.epoch FROM sessions s WHERE s.id = $2; \
         UPDATE sessions SET updated_at = max(updated_at, $6) WHERE id = $2",
    )
    .bind(graph.id.as_str())
    .bind(graph.session_id.as_str())
    .bind(graph.problem.as_deref())
    .bind(graph.config.to_string())
    .bind(graph.created_at.as_micros())
    .bind(graph.updated_at.as_micros())
}

/// Adds the node and updates the times of its graph and session.
pub(super) fn add_node(node: &GraphNode) -> SqlStatement<'_> {
    sqlx::query(
        "INSERT INTO graph_nodes (id, graph_id, session_id, content, node_type, score, depth, \
         is_active, is_terminal, created_at, metadata, pruned, epoch, value_epoch) \
         SELECT $1, g.id, s.id, $4, $5, $6, $7, $8, $9, $10, $11, $12, s.epoch, s.epoch \
         FROM graphs g, sessions s WHERE g.id = $2 AND s.id = $3 AND g.set_aside = 0; \
         UPDATE graphs SET updated_at = max(updated_at, $10) \
         WHERE id = $2 AND changes() > 0; \
         UPDATE sessions SET updated_at = max(updated_at, $10) WHERE id = $3 AND changes() > 0",
    )
    .bind(node.id.as_str())
    .bind(node.graph_id.as_str())
    .bind(node.session_id.as_str())
    .bind(&node.content)
    .bind(node.node_type.as_str())
    .bind(node.score.map(Score::get))
    .bind(node.depth)
    .bind(node.is_active)
    .bind(node.is_terminal)
    .bind(node.created_at.as_micros())
    .bind(json_text(node.metadata.as_ref()))
    .bind(node.pruned)
}

/// Updates parts of a node and the times of its graph and session. A value of an earlier epoch is
/// saved first. Metadata that is not an object (imported nodes may have any) becomes a field.
pub(super) fn update_node<'q>(
    id: &'q NodeId,
    update: &'q NodeUpdate,
    at: Timestamp,
) -> SqlStatement<'q> {
    sqlx::query(concat!(
        epochs::save_earlier_revision!("node", "id = $1 AND set_aside = 0 AND pruned = 0"),
        "UPDATE graph_nodes SET score = coalesce($2, score), \
         is_active = coalesce($3, is_active), is_terminal = coalesce($4, is_terminal), \
         metadata = CASE WHEN json_type($5) IS NOT 'object' THEN metadata \
         WHEN json_type(coalesce(metadata, '{}')) = 'object' \
         THEN json_patch(coalesce(metadata, '{}'), $5) \
         ELSE json_patch(json_object('earlier', json(metadata)), $5) END, \
         value_epoch = (SELECT epoch FROM sessions s WHERE s.id = graph_nodes.session_id) \
         WHERE id = $1 AND set_aside = 0 AND pruned = 0; \
         UPDATE graphs SET updated_at = max(updated_at, $6) \
         WHERE id = (SELECT graph_id FROM graph_nodes WHERE id = $1) AND changes() > 0; \
         UPDATE sessions SET updated_at = max(updated_at, $6) \
         WHERE id = (SELECT session_id FROM graph_nodes WHERE id = $1) AND changes() > 0",
    ))
    .bind(id.as_str())
    .bind(update.score.map(Score::get))
    .bind(update.is_active)
    .bind(update.is_terminal)
    .bind(json_text(update.notes.as_ref()))
    .bind(at.as_micros())
}

/// Prunes all nodes in one statement, because one call may prune hundreds of a large graph.
pub(super) fn prune<'q>(graph: &'q GraphId, nodes: &[NodeId], at: Timestamp) -> SqlStatement<'q> {
    let ids: Value = nodes.iter().map(NodeId::as_str).collect();
    sqlx::query(concat!(
        epochs::save_earlier_revision!(
            "node",
            "graph_id = $1 AND id IN (SELECT value FROM json_each($2)) AND set_aside = 0"
        ),
        "UPDATE graph_nodes SET pruned = 1, is_active = 0, \
         value_epoch = (SELECT epoch FROM sessions s WHERE s.id = graph_nodes.session_id) \
         WHERE graph_id = $1 AND id IN (SELECT value FROM json_each($2)) AND set_aside = 0; \
         UPDATE graphs SET updated_at = max(updated_at, $3) WHERE id = $1 AND changes() > 0; \
         UPDATE sessions SET updated_at = max(updated_at, $3) \
         WHERE id = (SELECT session_id FROM graphs WHERE id = $1) AND changes() > 0",
    ))
    .bind(graph.as_str())
    .bind(ids.to_string())
    .bind(at.as_micros())
}

pub(super) fn add_edge(edge: &GraphEdge) -> SqlStatement<'_> {
    sqlx::query(
        "INSERT INTO graph_edges (id, graph_id, from_node, to_node, edge_type, weight, \
         created_at, metadata, epoch) \
         SELECT $1, g.id, $3, $4, $5, $6, $7, $8, s.epoch \
         FROM graphs g JOIN sessions s ON s.id = g.session_id WHERE g.id = $2 \
         AND NOT EXISTS (SELECT 1 FROM graph_nodes WHERE id IN ($3, $4) AND set_aside = 1)",
    )
    .bind(edge.id.as_str())
    .bind(edge.graph_id.as_str())
    .bind(edge.from_node.as_str())
    .bind(edge.to_node.as_str())
    .bind(edge.edge_type.as_str())
    .bind(edge.weight.get())
    .bind(edge.created_at.as_micros())
    .bind(json_text(edge.metadata.as_ref()))
}
