//! `reasoning_got_finalize`: where the graph ends, and what it came to.

use std::collections::HashSet;

use deliberate_core::{GraphId, GraphNode, NodeId, NodeKind, NodeMarks, Score, SessionId};
use deliberate_toolkit::{About, Annotations, Call, Issue, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    load::{Whole, is_root},
    mark,
    rank::{better_first, rating},
};

/// Conclusions that are chosen where none are named.
const CHOSEN: usize = 3;

/// `reasoning_got_finalize`.
pub struct GotFinalize;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    graph_id: GraphId,
    /// Node IDs to mark as terminal (default: the best)
    #[schemars(length(max = 100))]
    terminal_node_ids: Option<Vec<NodeId>>,
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The graph that was concluded
    graph_id: GraphId,
    /// The session it belongs to
    session_id: SessionId,
    /// How many conclusions there are
    terminal_count: usize,
    /// The nodes it ends with, as they were named, else the best first
    conclusions: Vec<Conclusion>,
    /// What to do first; left out if there is a conclusion
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

// A node the graph ends with.
#[derive(Debug, Serialize, JsonSchema)]
struct Conclusion {
    /// The node, now marked as terminal
    node_id: NodeId,
    /// Its text
    content: String,
    /// How good it is; null if never scored
    score: Option<Score>,
    /// How deep it lies; a root is 0
    depth: i64,
    /// root, thought, hypothesis, conclusion, aggregation, refinement or terminal
    #[schemars(with = "String")]
    node_type: NodeKind,
}

impl Tool for GotFinalize {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "reasoning_got_finalize",
            title: "Conclude a graph",
            description: "Mark terminal nodes and retrieve final conclusions from the reasoning \
                          graph.",
            annotations: Annotations::MARKS,
            thinks: false,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let whole = Whole::read(&input.graph_id, call).await?;
        let named = input.terminal_node_ids.unwrap_or_default();
        let terminal = if named.is_empty() {
            chosen(&whole)
        } else {
            self::named(&named, &whole, call).await?
        };
        let mut changes = Vec::new();
        for node in terminal.iter().filter(|node| !node.is_terminal) {
            let marks = NodeMarks {
                is_terminal: Some(true),
                is_active: Some(false),
                ..NodeMarks::default()
            };
            changes.push(mark(&node.id, marks, call));
        }
        let nothing = "There is no node to conclude with yet; continue the root first.";
        Ok(Outcome {
            session: Some(whole.graph.session_id.clone()),
            output: Output {
                graph_id: whole.graph.id,
                session_id: whole.graph.session_id,
                terminal_count: terminal.len(),
                note: terminal.is_empty().then_some(nothing),
                conclusions: terminal.into_iter().map(Conclusion::from).collect(),
            },
            changes,
        })
    }
}

impl From<GraphNode> for Conclusion {
    fn from(node: GraphNode) -> Self {
        Self {
            node_id: node.id,
            content: node.content,
            score: node.score,
            depth: node.depth,
            node_type: node.node_type,
        }
    }
}

/// The nodes that are named, each once.
async fn named(ids: &[NodeId], whole: &Whole, call: &Call) -> Result<Vec<GraphNode>, ToolError> {
    let mut seen = HashSet::new();
    let is_alone = whole.usable().count() == 1;
    let mut nodes = Vec::with_capacity(ids.len());
    for id in ids.iter().filter(|id| seen.insert(*id)) {
        let node = call.node(id, &whole.graph.id).await?;
        if is_root(&node) && !is_alone {
            let rule = "must not name the root of a graph that has other nodes";
            let issue = Issue::new("terminal_node_ids", rule).given(&json!(id));
            return Err(ToolError::Invalid(vec![issue]));
        }
        nodes.push(node);
    }
    Ok(nodes)
}

/// The conclusions there are; else the best nodes; else, where nothing is rated, the deepest that
/// are still worked on. What was merged or made better is represented by what it became.
fn chosen(whole: &Whole) -> Vec<GraphNode> {
    let terminal: Vec<&GraphNode> = whole.usable().filter(|node| node.is_terminal).collect();
    if !terminal.is_empty() {
        // A conclusion that someone named stays one, unless it became part of another.
        let replaced = whole.replaced(|node| node.is_terminal);
        let mut conclusions = standing(terminal, &replaced);
        conclusions.sort_by(|one, other| better_first(one, other));
        return conclusions.into_iter().cloned().collect();
    }
    let others = whole.usable().filter(|node| !is_root(node));
    let left = standing(others.collect(), &whole.replaced(|_| true));
    let mut best = some_of(&left, |node| rating(node).is_some());
    if best.is_empty() {
        let open = some_of(&left, |node| node.is_active);
        best = if open.is_empty() { left } else { open };
        let deepest = best.iter().map(|node| node.depth).max();
        best.retain(|node| Some(node.depth) == deepest);
    }
    best.sort_by(|one, other| better_first(one, other));
    best.into_iter().take(CHOSEN).cloned().collect()
}

/// Those that were not replaced; all, if that leaves none.
fn standing<'a>(nodes: Vec<&'a GraphNode>, replaced: &HashSet<&NodeId>) -> Vec<&'a GraphNode> {
    let left = some_of(&nodes, |node| !replaced.contains(&node.id));
    if left.is_empty() { nodes } else { left }
}

fn some_of<'a>(nodes: &[&'a GraphNode], is: impl Fn(&GraphNode) -> bool) -> Vec<&'a GraphNode> {
    nodes.iter().copied().filter(|node| is(node)).collect()
}
