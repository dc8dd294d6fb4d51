//! `reasoning_got_finalize`: marks the terminal nodes of a graph and returns the conclusions.

use std::collections::HashSet;

use deliberate_core::{
    Change, GraphEdge, GraphId, GraphNode, NodeId, NodeKind, NodeUpdate, Score, SessionId,
};
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    data::{
        CHOSEN_CONCLUSION, GraphData, has_chosen_mark, is_chosen_conclusion, is_named_conclusion,
        is_question, is_structural,
        merge_results::outvoting_result,
        node_answer, node_weakest_point,
        rating::{compare_rating, rating},
    },
    update_node,
};

/// The largest number of conclusions that are chosen if the call names none.
const MAX_CONCLUSIONS: usize = 3;

/// The `reasoning_got_finalize` tool.
pub(crate) struct GotFinalize;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    graph_id: GraphId,
    /// Default: the best
    #[schemars(length(max = 100))]
    terminal_node_ids: Option<Vec<NodeId>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The graph that was concluded
    graph_id: GraphId,
    /// The session it belongs to
    session_id: SessionId,
    /// How many conclusions there are
    terminal_count: usize,
    /// The terminal nodes, as named, else best first
    conclusions: Vec<Conclusion>,
    /// What to do first, or why a merge gave way; else omitted
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

// A terminal node.
#[derive(Debug, Serialize, JsonSchema)]
struct Conclusion {
    /// The node, now marked as terminal
    node_id: NodeId,
    /// Its text
    content: String,
    /// Its result; null if it has none
    answer: Option<String>,
    /// What is most likely to be wrong with it
    #[serde(skip_serializing_if = "Option::is_none")]
    weakest_point: Option<String>,
    /// How good it is; null if never scored
    score: Option<Score>,
    /// Its depth; a root has 0
    depth: i64,
    /// root, thought, hypothesis, conclusion, aggregation, refinement or terminal
    #[schemars(with = "String")]
    node_type: NodeKind,
}

impl Tool for GotFinalize {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_got_finalize",
            title: "Conclude a graph",
            description: "Mark terminal nodes and retrieve final conclusions from the reasoning \
                          graph.",
            hints: ToolHints::IDEMPOTENT,
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let whole = GraphData::load(&input.graph_id, call).await?;
        let named = input.terminal_node_ids.unwrap_or_default();
        let (terminal, changes, note) = if named.is_empty() {
            let chosen = select_conclusions(&whole);
            let changes = choice_changes(&chosen, &whole, call);
            let note = choice_note(&chosen, &whole, call).await?;
            (chosen, changes, note)
        } else {
            let nodes = load_named_nodes(&named, &whole, call).await?;
            let changes = naming_changes(&nodes, call);
            (nodes, changes, None)
        };
        Ok(ToolOutput {
            session: Some(whole.graph.session_id.clone()),
            output: Output {
                graph_id: whole.graph.id,
                session_id: whole.graph.session_id,
                terminal_count: terminal.len(),
                note,
                conclusions: terminal.into_iter().map(Conclusion::from).collect(),
            },
            changes,
        })
    }
}

impl From<GraphNode> for Conclusion {
    fn from(node: GraphNode) -> Self {
        Self {
            answer: node_answer(&node).map(str::to_owned),
            weakest_point: node_weakest_point(&node).map(str::to_owned),
            node_id: node.id,
            content: node.content,
            score: node.score,
            depth: node.depth,
            node_type: node.node_type,
        }
    }
}

/// Loads the nodes that the call names, without duplicates. Even the root may be named: it can hold a
/// first answer, and nothing better may have grown from it.
async fn load_named_nodes(
    ids: &[NodeId],
    data: &GraphData,
    call: &ToolContext,
) -> Result<Vec<GraphNode>, ToolError> {
    let mut seen = HashSet::new();
    let mut nodes = Vec::with_capacity(ids.len());
    for id in ids.iter().filter(|id| seen.insert(*id)) {
        let node = crate::lookup::node(call, id, &data.graph.id).await?;
        nodes.push(node);
    }
    Ok(nodes)
}

/// Marks the nodes that the call names as conclusions, and as named ones.
fn naming_changes(nodes: &[GraphNode], call: &ToolContext) -> Vec<Change> {
    let unmarked = nodes.iter().filter(|node| !is_named_conclusion(node));
    unmarked
        .map(|node| {
            // A null removes the field.
            let notes = has_chosen_mark(node).then(|| json!({ CHOSEN_CONCLUSION: null }));
            update_node(&node.id, conclusion_update(notes), call)
        })
        .collect()
}

/// Marks the nodes that were chosen as conclusions, and releases those that are none any more.
fn choice_changes(chosen: &[GraphNode], data: &GraphData, call: &ToolContext) -> Vec<Change> {
    let is_chosen = |node: &GraphNode| chosen.iter().any(|it| it.id == node.id);
    let unmarked = chosen.iter().filter(|node| !node.is_terminal);
    let marked = unmarked.map(|node| {
        let notes = json!({ CHOSEN_CONCLUSION: true });
        update_node(&node.id, conclusion_update(Some(notes)), call)
    });
    let released = data
        .usable_nodes()
        .filter(|node| is_chosen_conclusion(node) && !is_chosen(node));
    let released = released.map(|node| {
        let is_used = |edge: &GraphEdge| edge.from_node == node.id && is_structural(edge);
        let update = NodeUpdate {
            is_terminal: Some(false),
            is_active: Some(!data.edges.iter().any(is_used)),
            notes: Some(json!({ CHOSEN_CONCLUSION: null })),
            ..NodeUpdate::default()
        };
        update_node(&node.id, update, call)
    });
    marked.chain(released).collect()
}

/// Says that there is nothing to conclude with, or which merges gave way to what their sources agree on.
async fn choice_note(
    chosen: &[GraphNode],
    data: &GraphData,
    call: &ToolContext,
) -> Result<Option<String>, ToolError> {
    if chosen.is_empty() {
        let nothing = "There is no node to conclude with yet; continue the root first.";
        return Ok(Some(nothing.to_owned()));
    }
    let is_chosen = |node: &GraphNode| chosen.iter().any(|it| it.id == node.id);
    let unchosen = data.usable_nodes().filter(|merge| !is_chosen(merge));
    let outvoted: Vec<(&GraphNode, String)> = unchosen
        .filter_map(|merge| Some((merge, outvoting_result(merge, data)?)))
        .filter(|(_, other)| is_chosen(other.node))
        .map(|(merge, other)| (merge, other.objection))
        .collect();
    if outvoted.is_empty() {
        return Ok(None);
    }
    let ids: Vec<String> = outvoted
        .iter()
        .map(|(node, _)| node.id.to_string())
        .collect();
    let short_ids = call.store().short_ids(&ids).await?;
    let notes = outvoted.iter().zip(&ids).map(|((merge, objection), id)| {
        format!(
            "The merge {} says {}, but {objection}; name it in terminal_node_ids to conclude with it.",
            short_ids.get(id).unwrap_or(id),
            node_answer(merge).unwrap_or_default(),
        )
    });
    Ok(Some(notes.collect::<Vec<String>>().join(" ")))
}

fn conclusion_update(notes: Option<Value>) -> NodeUpdate {
    NodeUpdate {
        is_terminal: Some(true),
        is_active: Some(false),
        notes,
        ..NodeUpdate::default()
    }
}

/// Selects the conclusions that callers named, and unless there are only such, the best nodes. What
/// an earlier call chose does not count: the graph may have grown since.
fn select_conclusions(data: &GraphData) -> Vec<GraphNode> {
    let named: Vec<&GraphNode> = data
        .usable_nodes()
        .filter(|node| is_named_conclusion(node))
        .collect();
    let are_all_named = !named.is_empty() && !data.usable_nodes().any(is_chosen_conclusion);
    // A conclusion that was named stays one, unless it was merged into another.
    let mut conclusions = without_replaced(named, &data.replaced_nodes(|node| node.is_terminal));
    if !are_all_named {
        let mut best = best_nodes(data);
        best.retain(|node| !conclusions.iter().any(|known| known.id == node.id));
        conclusions.extend(best);
    }
    conclusions.sort_by(|one, other| compare_rating(one, other));
    conclusions.into_iter().cloned().collect()
}

/// The last merged and refined nodes and what grew from them; else the best nodes; else, if no node
/// is rated, the deepest active ones. A merged or refined node is represented by its successor. The
/// question, and the nodes beside a merged one, become conclusions only if a call names them.
fn best_nodes(data: &GraphData) -> Vec<&GraphNode> {
    let others = data.usable_nodes().filter(|node| !is_question(node));
    let left = without_replaced(others.collect(), &data.replaced_nodes(|_| true));
    let merged = data.with_descendants(|node| is_last_merge(node, data));
    let merged = filter_nodes(&left, |node| merged.contains(&node.id));
    let left = if merged.is_empty() { left } else { merged };
    let mut best = filter_nodes(&left, |node| rating(node).is_some());
    if best.is_empty() {
        // What was chosen was active before.
        let open = filter_nodes(&left, |node| node.is_active || is_chosen_conclusion(node));
        best = if open.is_empty() { left } else { open };
        let deepest = best.iter().map(|node| node.depth).max();
        best.retain(|node| Some(node.depth) == deepest);
    }
    best.sort_by(|one, other| compare_rating(one, other));
    best.truncate(MAX_CONCLUSIONS);
    for node in &mut best {
        *node = outvoting_result(node, data).map_or(*node, |other| other.node);
    }
    let mut seen = HashSet::new();
    best.retain(|node| seen.insert(&node.id));
    best
}

/// Tells whether a node was merged or refined and nothing that grew from it was.
fn is_last_merge(node: &GraphNode, data: &GraphData) -> bool {
    let is_merge = |node: &GraphNode| {
        let kinds = [NodeKind::Aggregation, NodeKind::Refinement];
        kinds.contains(&node.node_type) && !is_question(node)
    };
    let grown = data.with_descendants(|it| it.id == node.id);
    let is_later = |it: &GraphNode| it.id != node.id && grown.contains(&it.id) && is_merge(it);
    is_merge(node) && !data.usable_nodes().any(is_later)
}

/// Drops the replaced nodes, unless all of them were replaced.
fn without_replaced<'a>(
    nodes: Vec<&'a GraphNode>,
    replaced: &HashSet<&NodeId>,
) -> Vec<&'a GraphNode> {
    let left = filter_nodes(&nodes, |node| !replaced.contains(&node.id));
    if left.is_empty() { nodes } else { left }
}

fn filter_nodes<'a>(
    nodes: &[&'a GraphNode],
    is: impl Fn(&GraphNode) -> bool,
) -> Vec<&'a GraphNode> {
    nodes.iter().copied().filter(|node| is(node)).collect()
}
