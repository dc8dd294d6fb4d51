//! The nodes, what each tells of itself, and the edges between them.

use super::state::{AgenticState, QuestionKind};

/// A step of the graph.
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

/// At least this much of what was found must be relevant for it to be refined.
const AMBIGUOUS_THRESHOLD: f64 = 0.4;

/// Below this another look is worth it.
const WEAK_THRESHOLD: f64 = 0.5;

/// Where it goes from a node.
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

    /// How far the whole has come when it begins, of a hundred.
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

    /// What it is about to do, in a few words.
    pub(super) fn progress_message(self, state: &AgenticState) -> String {
        match self {
            Self::Classify => "reading the question".to_owned(),
            Self::Expand => "finding other words for it".to_owned(),
            Self::Decompose => "taking the question apart".to_owned(),
            Self::Filters => "reading which papers it is about".to_owned(),
            Self::Retrieve => format!("searching with {} queries", state.queries.len()),
            Self::Grade => format!("grading {} passages", state.ungraded.len()),
            Self::Assess => "weighing what was found".to_owned(),
            Self::Refine => format!("picking sentences out of {} passages", state.relevant.len()),
            Self::Rewrite => format!("asking in another way (retry {})", state.retries + 1),
            Self::Rerank => "putting passages in order".to_owned(),
            Self::Generate => "writing the answer".to_owned(),
            Self::Verify => "checking every sentence".to_owned(),
            Self::Done => "done".to_owned(),
        }
    }

    /// Whether the next node can do without what it brings.
    pub(super) const fn is_optional(self) -> bool {
        matches!(
            self,
            Self::Expand | Self::Decompose | Self::Grade | Self::Refine
        )
    }

    /// Whether an answer can do without it when little of the budget is left.
    pub(super) const fn is_skippable(self) -> bool {
        self.is_optional() || matches!(self, Self::Rewrite)
    }
}
