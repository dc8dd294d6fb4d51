//! Nodes of the agentic graph, their progress messages, and the edges between them.

use super::state::{AgenticState, QuestionKind};

/// A node of the agentic graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AgenticNode {
    Classify,
    Expand,
    Decompose,
    Filters,
    Retrieve,
    Grade,
    Assess,
    Refine,
    Rewrite,
    Rerank,
    Generate,
    Verify,
    Done,
}

/// Passages are refined if at least this share of them is relevant.
const AMBIGUOUS_THRESHOLD: f64 = 0.4;

/// Below this share of relevant passages another retrieval round is worth its cost.
const WEAK_THRESHOLD: f64 = 0.5;

/// Returns the node that follows `node`.
pub(super) fn next_node(node: AgenticNode, state: &AgenticState, support: f64) -> AgenticNode {
    let again = state.retries < state.max_retries && !state.budget.is_nearly_exhausted();
    match node {
        AgenticNode::Classify => match state.kind {
            QuestionKind::Direct => AgenticNode::Retrieve,
            QuestionKind::Standard => AgenticNode::Expand,
            QuestionKind::MultiHop => AgenticNode::Decompose,
        },
        AgenticNode::Expand => AgenticNode::Filters,
        AgenticNode::Decompose | AgenticNode::Filters | AgenticNode::Rewrite => {
            AgenticNode::Retrieve
        }
        AgenticNode::Retrieve if state.kind == QuestionKind::Direct && state.pool.len() > 0 => {
            AgenticNode::Rerank
        }
        AgenticNode::Retrieve => AgenticNode::Grade,
        AgenticNode::Grade => AgenticNode::Assess,
        AgenticNode::Assess => match state.confidence {
            _ if state.relevant.is_empty() && again => AgenticNode::Rewrite,
            _ if state.relevant.is_empty() => AgenticNode::Done,
            it if it >= AMBIGUOUS_THRESHOLD => AgenticNode::Refine,
            it if it < WEAK_THRESHOLD && again => AgenticNode::Rewrite,
            _ => AgenticNode::Rerank,
        },
        AgenticNode::Refine => AgenticNode::Rerank,
        AgenticNode::Rerank => AgenticNode::Generate,
        AgenticNode::Generate if state.draft.is_some() => AgenticNode::Verify,
        AgenticNode::Verify if !state.is_grounded(support) && again => AgenticNode::Rewrite,
        AgenticNode::Generate | AgenticNode::Verify | AgenticNode::Done => AgenticNode::Done,
    }
}

impl AgenticNode {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Classify => "classify",
            Self::Expand => "expand",
            Self::Decompose => "decompose",
            Self::Filters => "filters",
            Self::Retrieve => "retrieve",
            Self::Grade => "grade",
            Self::Assess => "assess",
            Self::Refine => "refine",
            Self::Rewrite => "rewrite",
            Self::Rerank => "rerank",
            Self::Generate => "generate",
            Self::Verify => "check",
            Self::Done => "done",
        }
    }

    /// Progress in percent when the node begins.
    pub(super) const fn progress(self) -> f64 {
        match self {
            Self::Classify => 10.0,
            Self::Expand | Self::Decompose => 20.0,
            Self::Filters => 25.0,
            Self::Retrieve => 40.0,
            Self::Grade | Self::Assess => 55.0,
            Self::Refine | Self::Rewrite => 60.0,
            Self::Rerank => 70.0,
            Self::Generate => 85.0,
            Self::Verify => 95.0,
            Self::Done => 100.0,
        }
    }

    /// Describes what the node is about to do, for progress notifications.
    pub(super) fn progress_message(self, state: &AgenticState) -> String {
        match self {
            Self::Classify => "reading the question".to_owned(),
            Self::Expand => "rephrasing the question".to_owned(),
            Self::Decompose => "splitting the question into parts".to_owned(),
            Self::Filters => "reading the filters of the question".to_owned(),
            Self::Retrieve => format!("searching with {} queries", state.queries.len()),
            Self::Grade => format!("grading {} passages", state.ungraded.len()),
            Self::Assess => "assessing the passages".to_owned(),
            Self::Refine => format!("selecting sentences from {} passages", state.relevant.len()),
            Self::Rewrite => format!("rewriting the query (retry {})", state.retries + 1),
            Self::Rerank => "ordering the passages".to_owned(),
            Self::Generate => "writing the answer".to_owned(),
            Self::Verify => "checking every sentence".to_owned(),
            Self::Done => "done".to_owned(),
        }
    }

    /// Whether the next node can run without this node's result.
    pub(super) const fn is_optional(self) -> bool {
        matches!(
            self,
            Self::Expand | Self::Decompose | Self::Grade | Self::Refine
        )
    }

    /// Whether the node is skipped when the budget is nearly exhausted.
    pub(super) const fn is_skippable(self) -> bool {
        self.is_optional() || matches!(self, Self::Rewrite)
    }
}
