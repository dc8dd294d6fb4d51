//! Drawings with box characters, for terminals, which cannot render Mermaid.

use std::collections::HashMap;

use anyhow::Context as _;
use deliberate_core::{
    Branch, BranchId, CrossRef, EdgeKind, GraphEdge, GraphId, GraphNode, NodeId, Score, Session,
    SessionId, Thought, ThoughtId,
};
use deliberate_store::{EpochFilter, Pagination, Store};
use serde::Deserialize;

use super::table::one_line;

/// Longest text of a thought on its line.
const MAX_LABEL_CHARS: usize = 60;

/// The largest part of a session that is drawn.
const ALL: Pagination = Pagination::limit(Pagination::MAX);

/// The data of a tree session, as returned by `reasoning_get`.
#[derive(Debug, Deserialize)]
pub(super) struct DrawnTree {
    session: Session,
    thoughts: Vec<Thought>,
    branches: Vec<Branch>,
    cross_references: Vec<CrossRef>,
}

/// The data of a graph, as returned by `reasoning_get`.
#[derive(Debug, Deserialize)]
pub(super) struct DrawnGraph {
    nodes: Vec<GraphNode>,
    edges: Vec<GraphEdge>,
}

/// The text of a branch in a drawing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum BranchLabel {
    Name,
    /// The name and the beginning of its thought.
    NameAndThought,
}

impl DrawnTree {
    /// Reads the tree of a session.
    pub(super) async fn load(id: &SessionId, store: &dyn Store) -> anyhow::Result<Self> {
        let session = store.session(id).await?;
        let branches = store.branches(id, EpochFilter::Current, ALL).await?;
        Ok(Self {
            session: session.with_context(|| format!("session {id} was deleted"))?,
            thoughts: store.thoughts(id, EpochFilter::Current, ALL).await?,
            branches: branches.into_iter().map(|entry| entry.branch).collect(),
            cross_references: store.cross_refs(id, EpochFilter::Current, ALL).await?,
        })
    }
}

impl DrawnGraph {
    /// Reads a graph.
    pub(super) async fn load(id: &GraphId, store: &dyn Store) -> anyhow::Result<Self> {
        Ok(Self {
            nodes: store.nodes(id, EpochFilter::Current, ALL).await?,
            edges: store.edges(id, EpochFilter::Current, ALL).await?,
        })
    }
}

/// A line of a drawing, and its children.
struct DrawingNode {
    label: String,
    children: Vec<Self>,
}

impl DrawingNode {
    fn draw(&self, picture: &mut String) {
        push_line(picture, &self.label);
        self.draw_children("", picture);
    }

    fn draw_children(&self, before: &str, picture: &mut String) {
        let last = self.children.len().saturating_sub(1);
        for (number, twig) in self.children.iter().enumerate() {
            let (corner, rail) = if number == last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            push_line(picture, &format!("{before}{corner}{}", twig.label));
            twig.draw_children(&format!("{before}{rail}"), picture);
        }
    }
}

/// Draws each thought below the one it builds on.
pub(super) fn draw_tree(tree: &DrawnTree, labels: BranchLabel) -> String {
    let mut picture = String::new();
    for root in child_nodes(None, tree, labels) {
        root.draw(&mut picture);
    }
    let name = |id: &BranchId| {
        let branch = tree.branches.iter().find(|branch| branch.id == *id);
        let name = branch.and_then(|branch| branch.name.as_deref());
        one_line(name.unwrap_or("a branch"), MAX_LABEL_CHARS)
    };
    for reference in &tree.cross_references {
        let (from, to) = (name(&reference.from_branch), name(&reference.to_branch));
        let how = reference.ref_type.as_str();
        push_line(&mut picture, &format!("({from} {how} {to})"));
    }
    picture
}

fn child_nodes(
    parent: Option<&ThoughtId>,
    tree: &DrawnTree,
    labels: BranchLabel,
) -> Vec<DrawingNode> {
    let thoughts = tree.thoughts.iter();
    thoughts
        .filter(|thought| thought.parent_id.as_ref() == parent)
        .map(|thought| DrawingNode {
            label: thought_label(thought, tree, labels),
            children: child_nodes(Some(&thought.id), tree, labels),
        })
        .collect()
}

fn thought_label(thought: &Thought, tree: &DrawnTree, labels: BranchLabel) -> String {
    let sure = percent(thought.confidence);
    if let Some(question) = &thought.input {
        return format!("{} ({sure} sure)", one_line(question, MAX_LABEL_CHARS));
    }
    let branch = tree
        .branches
        .iter()
        .find(|branch| Some(&branch.id) == thought.branch_id.as_ref());
    let name = branch.and_then(|branch| branch.name.as_deref());
    let words = match name {
        Some(name) if labels == BranchLabel::NameAndThought => {
            format!("{name}: {}", thought.content)
        }
        name => name.unwrap_or(&thought.content).to_owned(),
    };
    let words = one_line(&words, MAX_LABEL_CHARS);
    let is_best = branch.is_some_and(|branch| branch.priority > 1);
    let is_followed = branch.map(|branch| &branch.id) == tree.session.active_branch_id.as_ref();
    format!(
        "{}{sure}  {words}{}",
        if is_best { "★ " } else { "" },
        if is_followed { " (followed)" } else { "" }
    )
}

/// Draws each node below the one it was generated from; nodes with several sources come last, with
/// the numbers of their sources.
pub(super) fn draw_graph(graph: &DrawnGraph) -> String {
    let numbers: HashMap<&NodeId, usize> =
        graph.nodes.iter().map(|node| &node.id).zip(0..).collect();
    let mut picture = String::new();
    for node in &graph.nodes {
        let mut merged: Vec<usize> = source_nodes(node, graph, true)
            .filter_map(|id| numbers.get(id).copied())
            .collect();
        if !merged.is_empty() {
            merged.sort_unstable();
            let merged: Vec<String> = merged.iter().map(ToString::to_string).collect();
            let label = node_label(node, &numbers);
            push_line(&mut picture, &format!("{} ═► {label}", merged.join(" + ")));
        } else if source_nodes(node, graph, false).next().is_none() {
            graph_drawing_node(node, graph, &numbers).draw(&mut picture);
        }
    }
    picture
}

/// Returns the sources of a node, by merging or otherwise.
fn source_nodes<'a>(
    node: &'a GraphNode,
    graph: &'a DrawnGraph,
    by_merging: bool,
) -> impl Iterator<Item = &'a NodeId> {
    let edges = graph.edges.iter();
    let into = edges.filter(move |edge| edge.to_node == node.id);
    into.filter(move |edge| match edge.edge_type {
        EdgeKind::Aggregates => by_merging,
        EdgeKind::Generates | EdgeKind::Refines => !by_merging,
        EdgeKind::Supports | EdgeKind::Contradicts => false,
    })
    .map(|edge| &edge.from_node)
}

fn graph_drawing_node(
    node: &GraphNode,
    graph: &DrawnGraph,
    numbers: &HashMap<&NodeId, usize>,
) -> DrawingNode {
    let children = graph.nodes.iter();
    let children =
        children.filter(|child| source_nodes(child, graph, false).any(|id| *id == node.id));
    DrawingNode {
        label: node_label(node, numbers),
        children: children
            .map(|child| graph_drawing_node(child, graph, numbers))
            .collect(),
    }
}

fn node_label(node: &GraphNode, numbers: &HashMap<&NodeId, usize>) -> String {
    let mut words = Vec::new();
    if node.is_terminal {
        words.push("★".to_owned());
    } else if let Some(number @ 1..) = numbers.get(&node.id) {
        // The root is number 0 and needs no label.
        words.push(format!("{number} "));
    }
    if let Some(score) = node.score {
        words.push(format!("{} ", percent(score)));
    }
    words.push(one_line(&node.content, MAX_LABEL_CHARS));
    words.join(" ")
}

/// Returns a score as a percentage.
pub(super) fn percent(score: Score) -> String {
    format!("{} %", (score.get() * 100.0).round())
}

fn push_line(picture: &mut String, text: &str) {
    picture.push_str(text);
    picture.push('\n');
}
