//! The nodes, what each tells of itself, and the edges between them.

use super::state::{Kind, State};

/// A step of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
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
    Check,
    Done,
}

/// At least this much of what was found must be relevant for it to be refined.
const AMBIGUOUS: f64 = 0.4;

/// Below this another look is worth it.
const WEAK: f64 = 0.5;

/// Where it goes from a node.
pub(super) fn next(node: Node, state: &State, support: f64) -> Node {
    let again = state.retries < state.max_retries && !state.budget.is_scarce();
    match node {
        Node::Classify => match state.kind {
            Kind::Direct => Node::Retrieve,
            Kind::Standard => Node::Expand,
            Kind::MultiHop => Node::Decompose,
        },
        Node::Expand => Node::Filters,
        Node::Decompose | Node::Filters | Node::Rewrite => Node::Retrieve,
        Node::Retrieve if state.kind == Kind::Direct && state.pool.len() > 0 => Node::Rerank,
        Node::Retrieve => Node::Grade,
        Node::Grade => Node::Assess,
        Node::Assess => match state.confidence {
            _ if state.kept.is_empty() && again => Node::Rewrite,
            _ if state.kept.is_empty() => Node::Done,
            it if it >= AMBIGUOUS => Node::Refine,
            it if it < WEAK && again => Node::Rewrite,
            _ => Node::Rerank,
        },
        Node::Refine => Node::Rerank,
        Node::Rerank => Node::Generate,
        Node::Generate if state.draft.is_some() => Node::Check,
        Node::Check if !state.is_grounded(support) && again => Node::Rewrite,
        Node::Generate | Node::Check | Node::Done => Node::Done,
    }
}

impl Node {
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
            Self::Check => "check",
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
            Self::Check => 95.0,
            Self::Done => 100.0,
        }
    }

    /// What it is about to do, in a few words.
    pub(super) fn told(self, state: &State) -> String {
        match self {
            Self::Classify => "reading the question".to_owned(),
            Self::Expand => "finding other words for it".to_owned(),
            Self::Decompose => "taking the question apart".to_owned(),
            Self::Filters => "reading which papers it is about".to_owned(),
            Self::Retrieve => format!("searching with {} queries", state.queries.len()),
            Self::Grade => format!("grading {} passages", state.fresh.len()),
            Self::Assess => "weighing what was found".to_owned(),
            Self::Refine => format!("picking sentences out of {} passages", state.kept.len()),
            Self::Rewrite => format!("asking in another way (retry {})", state.retries + 1),
            Self::Rerank => "putting passages in order".to_owned(),
            Self::Generate => "writing the answer".to_owned(),
            Self::Check => "checking every sentence".to_owned(),
            Self::Done => "done".to_owned(),
        }
    }

    /// Whether the next node can do without what it brings.
    pub(super) const fn is_only_help(self) -> bool {
        matches!(
            self,
            Self::Expand | Self::Decompose | Self::Grade | Self::Refine
        )
    }

    /// Whether an answer can do without it when little of the budget is left.
    pub(super) const fn may_be_left_out(self) -> bool {
        self.is_only_help() || matches!(self, Self::Rewrite)
    }
}
