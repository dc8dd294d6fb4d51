//! What a model is shown of a session's past, or of one line of it: the newest steps that fit a
//! token budget, and the first one, which says what it all was about. Never what was set aside, and
//! of a branch never its siblings. The same size for a session of ten steps and of ten thousand.

use std::cmp::Ordering;

use deliberate_core::{
    BranchId, BranchState, Graph, GraphNode, Mode, NodeKind, Score, Session, Thought, ThoughtId,
    Timestamp, approximate_tokens, truncate_tokens,
};
use deliberate_store::{EpochFilter, Pagination, StoreError};
use deliberate_toolkit::{ToolContext, ToolError};
use serde::{Deserialize, Serialize};

/// Steps shown at the most, however short they are.
const MAX_STEPS: u32 = 24;

/// One more than is shown, to know whether something is left out.
const STEPS_TO_READ: u32 = MAX_STEPS + 1;

/// One long step may take this share of the budget, so that it does not push out all others.
const STEP_SHARE: usize = 4;

/// A session's past, as far as it is shown, and the place where the next thought stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SessionHistory {
    /// The steps, oldest first.
    pub(crate) steps: Vec<HistoryStep>,
    /// Whether steps between the first and the others are left out.
    pub(crate) gap: bool,
    /// The nodes of its graph that matter most, in a session of graphs, and what it is about.
    pub(crate) graph_nodes: Vec<HistoryNode>,
    pub(crate) graph_problem: Option<String>,
    /// The latest thought, which the next one builds on.
    pub(crate) latest: Option<ThoughtId>,
    /// The branch the next one is on.
    pub(crate) branch: Option<BranchId>,
}

/// One step, cut to its share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HistoryStep {
    input: String,
    thought: String,
    confidence: String,
}

/// One node, cut to its share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HistoryNode {
    content: String,
    score: Option<String>,
}

/// Where the session stands: on the line of the branch that is followed, else after its latest
/// thoughts. A call that is run again sees what it saw before.
pub(crate) async fn current_history(
    session: Option<&Session>,
    call: &ToolContext,
) -> Result<SessionHistory, StoreError> {
    let Some(session) = session else {
        return Ok(SessionHistory::default());
    };
    let on_branch = match &session.active_branch_id {
        Some(branch) => call.store().latest_branch_thoughts(branch, 1).await?,
        None => Vec::new(),
    };
    let past = match on_branch.first() {
        Some(latest) => ancestor_history(Some(&latest.id), call).await?,
        None => recent_history(session, call).await?,
    };
    let branch = session.active_branch_id.clone();
    let past = with_graph(SessionHistory { branch, ..past }, session, None, call).await?;
    Ok(call.memoize("past", past))
}

/// The past with what matters most of the session's latest graph; as it was `until` a moment, if one
/// is given.
pub(crate) async fn with_graph(
    past: SessionHistory,
    session: &Session,
    until: Option<Timestamp>,
    call: &ToolContext,
) -> Result<SessionHistory, StoreError> {
    /// Nodes shown at the most.
    const MAX_NODES: usize = 12;
    let Some((graph, nodes)) = latest_graph(session, call).await? else {
        return Ok(past);
    };
    let mut left = call.context_tokens() / 2;
    let share = left / STEP_SHARE;
    let mut graph_nodes = Vec::new();
    let there = |node: &&GraphNode| until.is_none_or(|until| node.created_at <= until);
    for node in nodes.iter().filter(there).take(MAX_NODES) {
        let content = truncate_tokens(&node.content, share);
        let Some(rest) = left.checked_sub(approximate_tokens(&content)) else {
            break;
        };
        left = rest;
        // What a score was then is not known.
        let score = node.score.filter(|_| until.is_none());
        graph_nodes.push(HistoryNode {
            content,
            score: score.map(|score| format!("{:.2}", score.get())),
        });
    }
    Ok(SessionHistory {
        graph_nodes,
        graph_problem: graph.problem.map(|it| truncate_tokens(&it, share)),
        ..past
    })
}

/// The node that stands for a graph: its best, else one that is still open.
pub(crate) async fn best_node(
    session: &Session,
    call: &ToolContext,
) -> Result<Option<GraphNode>, StoreError> {
    let graph = latest_graph(session, call).await?;
    let nodes = graph.map(|(_, nodes)| nodes).unwrap_or_default();
    let best = nodes.get(1).or(nodes.first());
    Ok(best.cloned())
}

/// The latest graph of a session of graphs, with its usable nodes: the root, then the best, then
/// those still open, the newest first.
pub(crate) async fn latest_graph(
    session: &Session,
    call: &ToolContext,
) -> Result<Option<(Graph, Vec<GraphNode>)>, StoreError> {
    if session.mode != Mode::Got {
        return Ok(None);
    }
    let all = Pagination::limit(Pagination::MAX);
    let graphs = call
        .store()
        .graphs(&session.id, EpochFilter::Current, all)
        .await?;
    let Some(graph) = graphs.into_iter().next_back() else {
        return Ok(None);
    };
    let mut nodes = call
        .store()
        .nodes(&graph.id, EpochFilter::Current, all)
        .await?;
    nodes.retain(|node| !node.pruned);
    nodes.reverse();
    nodes.sort_by(|one, other| {
        let rank = |node: &GraphNode| {
            let root = node.node_type == NodeKind::Root;
            (root, node.score.map_or(-1.0, Score::get), node.is_active)
        };
        rank(other)
            .partial_cmp(&rank(one))
            .unwrap_or(Ordering::Equal)
    });
    Ok(Some((graph, nodes)))
}

/// The same, if the branch that is followed is open.
pub(crate) async fn current_open_history(
    session: Option<&Session>,
    call: &ToolContext,
) -> Result<SessionHistory, ToolError> {
    let past = current_history(session, call).await?;
    if let (Some(id), Some(session)) = (&past.branch, session) {
        let branch = call.branch(id, &session.id).await?;
        if branch.state != BranchState::Active {
            return Err(ToolError::BranchClosed {
                id: branch.id.to_string(),
                state: branch.state,
            });
        }
    }
    Ok(past)
}

/// The latest thoughts of a session, of whatever branch.
pub(crate) async fn recent_history(
    session: &Session,
    call: &ToolContext,
) -> Result<SessionHistory, StoreError> {
    let newest = call
        .store()
        .latest_thoughts(&session.id, STEPS_TO_READ)
        .await?;
    let first = if newest.len() < STEPS_TO_READ as usize {
        let given = newest.iter().rev().find(|thought| thought.input.is_some());
        given.or(newest.last()).cloned()
    } else {
        call.store().first_prompt(&session.id).await?
    };
    Ok(select_steps(newest, first, call.context_tokens()))
}

/// The line that ends with `latest`: that thought, what it built on, and so on.
pub(crate) async fn ancestor_history(
    latest: Option<&ThoughtId>,
    call: &ToolContext,
) -> Result<SessionHistory, StoreError> {
    let Some(latest) = latest else {
        return Ok(SessionHistory::default());
    };
    let newest = call.store().ancestors(latest, STEPS_TO_READ).await?;
    let first = if newest.len() < STEPS_TO_READ as usize {
        newest.last().cloned()
    } else {
        call.store().root_of(latest).await?
    };
    Ok(select_steps(newest, first, call.context_tokens()))
}

/// The latest thought where the session stands.
pub(crate) async fn latest_thought(
    session: &Session,
    call: &ToolContext,
) -> Result<Option<Thought>, StoreError> {
    if let Some(branch) = &session.active_branch_id {
        let on_branch = call.store().latest_branch_thoughts(branch, 1).await?;
        if let Some(thought) = on_branch.into_iter().next() {
            return Ok(Some(thought));
        }
    }
    let latest = call.store().latest_thoughts(&session.id, 1).await?;
    Ok(latest.into_iter().next())
}

/// Those of the newest that fit, and the first, which is always shown.
fn select_steps(newest: Vec<Thought>, first: Option<Thought>, budget: usize) -> SessionHistory {
    let latest = newest.first().map(|thought| thought.id.clone());
    let share = budget / STEP_SHARE;
    let mut anchor = first.map(|first| (first.id.clone(), HistoryStep::truncated(&first, share)));
    let mut left = budget.saturating_sub(anchor.as_ref().map_or(0, |(_, step)| step.tokens()));
    let mut steps = Vec::new();
    let mut whole = newest.len() <= MAX_STEPS as usize;
    for thought in newest {
        if let Some((_, step)) = anchor.take_if(|(id, _)| *id == thought.id) {
            whole = true;
            steps.push(step);
            continue;
        }
        if steps.len() == MAX_STEPS as usize {
            break;
        }
        let step = HistoryStep::truncated(&thought, share);
        let Some(rest) = left.checked_sub(step.tokens()) else {
            whole = false;
            break;
        };
        left = rest;
        steps.push(step);
    }
    let gap = anchor.is_some() || (!whole && !steps.is_empty());
    steps.extend(anchor.map(|(_, step)| step));
    steps.reverse();
    SessionHistory {
        steps,
        gap,
        latest,
        ..SessionHistory::default()
    }
}

impl HistoryStep {
    fn truncated(thought: &Thought, tokens: usize) -> Self {
        let input = thought.input.as_deref().unwrap_or_default();
        Self {
            input: truncate_tokens(input, tokens / 2),
            thought: truncate_tokens(&thought.content, tokens / 2),
            confidence: format!("{:.2}", thought.confidence.get()),
        }
    }

    fn tokens(&self) -> usize {
        // The tags around a step take about this many.
        const TAG_TOKENS: usize = 16;
        approximate_tokens(&self.input) + approximate_tokens(&self.thought) + TAG_TOKENS
    }
}

#[cfg(test)]
mod tests {
    use deliberate_core::{Mode, Score, Timestamp};

    use super::*;

    fn thought(number: usize, text: &str) -> Thought {
        Thought {
            id: format!("t{number}").as_str().into(),
            session_id: "s".into(),
            input: Some(format!("input {number}")),
            content: text.to_owned(),
            confidence: Score::DEFAULT_CONFIDENCE,
            mode: Mode::Linear,
            parent_id: None,
            branch_id: None,
            set_aside: false,
            created_at: Timestamp::from_micros(0),
            metadata: None,
        }
    }

    fn inputs(past: &SessionHistory) -> Vec<&str> {
        past.steps.iter().map(|step| step.input.as_str()).collect()
    }

    #[test]
    fn a_short_session_is_shown_whole_oldest_first() {
        let newest = vec![thought(3, "c"), thought(2, "b"), thought(1, "a")];
        let past = select_steps(newest, Some(thought(1, "a")), 1_000);
        assert_eq!(inputs(&past), ["input 1", "input 2", "input 3"]);
        assert!(!past.gap);
    }

    #[test]
    fn a_long_session_keeps_its_first_and_its_newest_steps_within_the_budget() {
        let long = "word ".repeat(400);
        let newest: Vec<_> = (2..=20).rev().map(|n| thought(n, &long)).collect();
        let past = select_steps(newest, Some(thought(1, &long)), 2_000);
        assert!(past.gap);
        assert_eq!(inputs(&past).first(), Some(&"input 1"));
        assert_eq!(inputs(&past).last(), Some(&"input 20"));
        let tokens: usize = past.steps.iter().map(HistoryStep::tokens).sum();
        assert!(tokens <= 2_000, "{tokens}");
        assert!(past.steps.len() > 3);
    }
}
