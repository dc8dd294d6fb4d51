//! The part of a graph that a prompt shows: the problem and the node, which are whole, and the nodes
//! around it, each list with its share of the call's budget, so that none displaces the others. Of what
//! the model has seen in its own conversation, only the beginning is shown.

use deliberate_core::{
    Graph, GraphNode, approximate_tokens, equal_shares, fit_items, shorten_tokens, truncate_chars,
};
use deliberate_toolkit::ToolContext;
use serde::{Deserialize, Serialize};

use super::data::{GraphData, node_answer, node_weakest_point};

/// The ancestors of a node may take one part in this many of the budget.
const ANCESTOR_SHARE: usize = 4;

/// The merged sources of a node, and its continuations, may take one part in this many.
const LIST_SHARE: usize = 2;

/// The root and the parent are shown in any case, shortened if they are too long.
const ANCESTORS_ALWAYS_SHOWN: usize = 2;

/// A source that would get fewer tokens is left out.
const MIN_SOURCE_TOKENS: usize = 80;

/// The longest result of a node that is shown beside its text, which usually states it too.
const ANSWER_TOKENS: usize = 80;

/// How much is shown of a node that the model has seen.
const SEEN_TEXT_CHARS: usize = 160;

/// The approximate tokens of the tags around a text.
const TAG_TOKENS: usize = 8;

/// A node with its problem, its ancestors and, if it was merged, all its sources.
#[derive(Debug, Clone, Serialize)]
pub(super) struct GraphNodeContext {
    problem: Option<String>,
    /// The ancestors, from the root on.
    line: Vec<NodeText>,
    /// How many nodes between the root and the others are left out.
    line_left_out: usize,
    /// The nodes that were merged into this one.
    #[serde(flatten)]
    sources: MergedSources,
    content: String,
    /// The result of `content`.
    answer: Option<String>,
    /// What was found to be most likely wrong with the node.
    weakest_point: Option<String>,
    /// Whether the model has seen the graph, so that of the node only the beginning is shown.
    is_digest: bool,
}

/// The nodes around a node.
#[derive(Debug, Clone, Default)]
pub(super) struct NodeSurroundings<'a> {
    pub(super) problem: Option<&'a str>,
    pub(super) ancestors: Vec<&'a GraphNode>,
    pub(super) sources: Vec<&'a GraphNode>,
    pub(super) weakest_point: Option<String>,
    /// Whether the model that replies has seen all of it.
    pub(super) is_digest: bool,
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
            weakest_point: node_weakest_point(node).map(str::to_owned),
            is_digest: false,
        }
    }

    /// Leaves out what the model that replies has seen in this conversation.
    pub(super) async fn for_model(self, graph: &Graph, call: &ToolContext) -> Self {
        if !call.model_has_seen_session(&graph.session_id).await {
            return self;
        }
        Self {
            weakest_point: self.weakest_point,
            is_digest: true,
            ..Self::default()
        }
    }
}

impl GraphNodeContext {
    /// The context of a stored node.
    pub(super) fn for_node(around: &NodeSurroundings<'_>, node: &GraphNode, budget: usize) -> Self {
        Self::new(around, (&node.content, node_answer(node)), budget)
    }

    pub(super) fn is_digest(&self) -> bool {
        self.is_digest
    }

    /// The context of a text and its result, which need not be stored.
    pub(super) fn new(
        around: &NodeSurroundings<'_>,
        (content, answer): (&str, Option<&str>),
        budget: usize,
    ) -> Self {
        let line = select_ancestors(&around.ancestors, budget / ANCESTOR_SHARE);
        Self {
            problem: around.problem.map(str::to_owned),
            line_left_out: around.ancestors.len() - line.len(),
            line,
            sources: MergedSources::new(&around.sources, budget / LIST_SHARE),
            content: shorten_seen(content, around.is_digest),
            answer: answer.map(str::to_owned),
            weakest_point: around.weakest_point.clone(),
            is_digest: around.is_digest,
        }
    }
}

/// The text of a node; of one that the model has seen, as much as tells it from the others.
pub(super) fn shorten_seen(content: &str, is_digest: bool) -> String {
    if is_digest {
        truncate_chars(content, SEEN_TEXT_CHARS)
    } else {
        content.to_owned()
    }
}

/// A node around another one, as the prompt shows it: its text, whole or shortened, and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct NodeText {
    content: String,
    #[serde(default)]
    answer: Option<String>,
}

impl NodeText {
    /// The approximate tokens of the whole node.
    pub(crate) fn whole_tokens(node: &GraphNode) -> usize {
        let answer = shown_answer(node).map_or(0, |it| approximate_tokens(&it));
        tokens(&node.content) + answer
    }

    /// Shortens the text of the node until both have about `share` tokens.
    pub(crate) fn new(node: &GraphNode, share: usize) -> Self {
        let answer = shown_answer(node);
        let room = answer.as_deref().map_or(0, approximate_tokens);
        Self {
            content: shorten_tokens(&node.content, share.saturating_sub(room)),
            answer,
        }
    }
}

fn shown_answer(node: &GraphNode) -> Option<String> {
    node_answer(node).map(|it| shorten_tokens(it, ANSWER_TOKENS))
}

/// The nodes that were merged into a node, as its prompt shows them.
#[derive(Debug, Clone, Serialize)]
pub(super) struct MergedSources {
    sources: Vec<NodeText>,
    sources_left_out: usize,
}

impl MergedSources {
    /// Gives the sources equal shares of the budget, as many as get a share worth reading.
    pub(super) fn new(nodes: &[&GraphNode], budget: usize) -> Self {
        let most = (budget / MIN_SOURCE_TOKENS).max(1);
        let nodes_shown = nodes.iter().take(most);
        let sizes: Vec<usize> = nodes_shown
            .clone()
            .map(|it| NodeText::whole_tokens(it))
            .collect();
        let sources = nodes_shown
            .zip(equal_shares(&sizes, budget))
            .map(|(node, share)| NodeText::new(node, share));
        Self {
            sources: sources.collect(),
            sources_left_out: nodes.len().saturating_sub(most),
        }
    }
}

/// Selects the root and the nodes nearest to the end of the line that fit the budget, from the root
/// on.
fn select_ancestors(line: &[&GraphNode], budget: usize) -> Vec<NodeText> {
    let Some((root, rest)) = line.split_first() else {
        return Vec::new();
    };
    let nearest_first: Vec<&GraphNode> = std::iter::once(*root)
        .chain(rest.iter().rev().copied())
        .collect();
    let sizes: Vec<usize> = nearest_first
        .iter()
        .map(|node| NodeText::whole_tokens(node))
        .collect();
    let shares = fit_items(&sizes, ANCESTORS_ALWAYS_SHOWN, budget);
    let shown = nearest_first.iter().zip(shares);
    let mut texts: Vec<NodeText> = shown
        .map(|(node, share)| NodeText::new(node, share))
        .collect();
    if let Some(nearest) = texts.get_mut(1..) {
        nearest.reverse();
    }
    texts
}

/// The other continuations of a node, as the prompt shows them.
#[derive(Debug, Clone, Default)]
pub(super) struct SiblingTexts {
    /// Oldest first.
    pub(super) texts: Vec<String>,
    pub(super) left_out: usize,
}

impl SiblingTexts {
    /// Selects the latest nodes that fit their share of the budget; the latest one in any case.
    pub(super) fn new(nodes: &[&GraphNode], budget: usize) -> Self {
        let newest_first: Vec<&GraphNode> = nodes.iter().rev().copied().collect();
        let sizes: Vec<usize> = newest_first.iter().map(|it| tokens(&it.content)).collect();
        let shares = fit_items(&sizes, 1, budget / LIST_SHARE);
        let shown = newest_first.iter().zip(shares);
        let mut texts: Vec<String> = shown
            .map(|(node, share)| shorten_tokens(&node.content, share))
            .collect();
        texts.reverse();
        Self {
            left_out: nodes.len() - texts.len(),
            texts,
        }
    }
}

/// The part of the budget for what was merged earlier into nodes that are merged now.
pub(super) fn earlier_sources_budget(budget: usize) -> usize {
    budget / ANCESTOR_SHARE
}

/// Gives each of the nodes that are merged an equal share of what is left of the budget.
pub(super) fn share_budget(nodes: &[GraphNode], budget: usize) -> Vec<String> {
    let sizes: Vec<usize> = nodes.iter().map(|node| tokens(&node.content)).collect();
    let shares = equal_shares(&sizes, budget - earlier_sources_budget(budget));
    nodes
        .iter()
        .zip(shares)
        .map(|(node, share)| shorten_tokens(&node.content, share))
        .collect()
}

fn tokens(text: &str) -> usize {
    approximate_tokens(text) + TAG_TOKENS
}
