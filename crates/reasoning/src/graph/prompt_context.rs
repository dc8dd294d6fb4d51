//! The part of a graph that a prompt shows: the problem, the ancestors of a node and the node. Each
//! has its share of the call's budget, so that none displaces the others.

use deliberate_core::{GraphNode, approximate_tokens, truncate_tokens};
use serde::Serialize;

use super::data::GraphData;

/// The parts of the budget: problem, ancestors, node and siblings.
const BUDGET_PARTS: usize = 4;

/// The approximate tokens of the tags around a text.
const TAG_TOKENS: usize = 8;

/// A node with its problem, its ancestors and, if it was merged, all its sources.
#[derive(Debug, Clone, Serialize)]
pub(super) struct GraphNodeContext {
    problem: Option<String>,
    /// The ancestors, from the root on.
    line: Vec<String>,
    /// Whether nodes between the root and the others are left out.
    gap: bool,
    /// The nodes that were merged into this one.
    sources: Vec<String>,
    content: String,
}

/// The nodes around a node.
#[derive(Debug, Clone, Default)]
pub(super) struct NodeSurroundings<'a> {
    pub(super) problem: Option<&'a str>,
    pub(super) ancestors: Vec<&'a GraphNode>,
    pub(super) sources: Vec<&'a GraphNode>,
}

impl<'a> NodeSurroundings<'a> {
    pub(super) fn new(data: &'a GraphData, node: &GraphNode, problem: Option<&'a str>) -> Self {
        let sources = data.merged_sources(&node.id);
        Self {
            problem,
            // The line of a merged node would show only one of its sources.
            ancestors: match sources.first() {
                Some(first) => data.ancestors(first),
                None => data.ancestors(node),
            },
            sources,
        }
    }
}

impl GraphNodeContext {
    pub(super) fn new(around: &NodeSurroundings<'_>, content: &str, budget: usize) -> Self {
        let share = budget / BUDGET_PARTS;
        let (line, gap) = truncate_ancestors(&around.ancestors, share);
        Self {
            problem: around
                .problem
                .map(|problem| truncate_tokens(problem, share)),
            line,
            gap,
            sources: siblings(around.sources.iter().copied(), budget),
            content: truncate_tokens(content, share),
        }
    }
}

/// Selects the root and the nodes nearest to the end of the line that fit the budget.
fn truncate_ancestors(line: &[&GraphNode], budget: usize) -> (Vec<String>, bool) {
    let Some((root, rest)) = line.split_first() else {
        return (Vec::new(), false);
    };
    let one = budget / 3;
    let root = truncate_tokens(&root.content, one);
    let mut left = budget.saturating_sub(tokens(&root));
    let mut nearest = Vec::new();
    for node in rest.iter().rev() {
        let text = truncate_tokens(&node.content, one);
        let Some(rest) = left.checked_sub(tokens(&text)) else {
            break;
        };
        left = rest;
        nearest.push(text);
    }
    let gap = nearest.len() < rest.len();
    nearest.push(root);
    nearest.reverse();
    (nearest, gap)
}

/// The latest sibling texts that fit the budget, oldest first.
pub(super) fn siblings<'a>(
    nodes: impl DoubleEndedIterator<Item = &'a GraphNode>,
    budget: usize,
) -> Vec<String> {
    let share = budget / BUDGET_PARTS;
    let mut left = share;
    let mut texts = Vec::new();
    for node in nodes.rev() {
        let text = truncate_tokens(&node.content, share / 8);
        let Some(rest) = left.checked_sub(tokens(&text)) else {
            break;
        };
        left = rest;
        texts.push(text);
    }
    texts.reverse();
    texts
}

/// Truncates a text to one of `count` equal shares of the budget without the problem's part.
pub(super) fn truncate_to_equal_share(text: &str, count: usize, budget: usize) -> String {
    let share = (budget - budget / BUDGET_PARTS) / count.max(1);
    truncate_tokens(text, share.saturating_sub(TAG_TOKENS))
}

/// Truncates the problem to its share.
pub(super) fn truncate_problem(text: Option<&str>, budget: usize) -> Option<String> {
    text.map(|text| truncate_tokens(text, budget / BUDGET_PARTS))
}

fn tokens(text: &str) -> usize {
    approximate_tokens(text) + TAG_TOKENS
}
