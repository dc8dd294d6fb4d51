//! The history of a session or of one branch, as a model sees it: the newest steps that fit a token
//! budget, and the first step, which states the problem. It contains nothing that a backtrack set
//! aside and, for a branch, nothing of its siblings. Its size does not grow with the session.

use std::cmp::Ordering;

use deliberate_core::{
    BranchId, BranchState, Graph, GraphNode, NodeKind, Score, Session, Thought, ThoughtId,
    Timestamp, approximate_tokens, truncate_tokens,
};
use deliberate_store::{EpochFilter, Pagination, StoreError};
use deliberate_toolkit::{ToolContext, ToolError};
use serde::{Deserialize, Serialize};

/// The largest number of steps shown, however short they are.
const MAX_STEPS: u32 = 24;

/// One step more than is shown tells whether steps are left out.
const STEPS_TO_READ: u32 = MAX_STEPS + 1;

/// A step may take one part in this many of the budget, so that a long one does not displace the
/// others.
const STEP_SHARE: usize = 4;

/// The part of a session's history that is shown, and the position of the next thought.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SessionHistory {
    /// Oldest first.
    pub(crate) steps: Vec<HistoryStep>,
    /// Whether steps between the first and the second one shown are left out.
    pub(crate) gap: bool,
    /// In a session of graphs: the root and the most relevant nodes of its latest graph.
    pub(crate) graph_nodes: Vec<HistoryNode>,
    pub(crate) graph_problem: Option<String>,
    /// The latest thought, on which the next one builds.
    pub(crate) latest: Option<ThoughtId>,
    /// The branch of the next thought.
    pub(crate) branch: Option<BranchId>,
    /// The result of the latest thought, and what is most likely to be wrong with it.
    pub(crate) latest_answer: Option<String>,
    pub(crate) open_point: Option<String>,
    /// Whether steps and nodes are left out, because the model that replies made them itself and still
    /// sees them.
    pub(crate) is_digest: bool,
}

impl SessionHistory {
    /// Leaves steps and nodes out if the model that will reply remembers them.
    pub(crate) async fn for_model(mut self, call: &ToolContext) -> Self {
        let is_empty = self.steps.is_empty() && self.graph_nodes.is_empty();
        if !is_empty && call.model_remembers().await {
            self.steps.clear();
            self.graph_nodes.clear();
            self.gap = false;
            self.is_digest = true;
        }
        self
    }

    /// Leaves out the request to settle the last doubt, for a model that judges and does not go on.
    pub(crate) fn for_judge(self) -> Self {
        Self {
            open_point: None,
            ..self
        }
    }
}

/// A step, shortened to its share of the budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HistoryStep {
    input: String,
    thought: String,
    answer: Option<String>,
    confidence: String,
}

/// A node, shortened to its share of the budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HistoryNode {
    content: String,
    score: Option<String>,
}

/// The history up to the current position: the line of the active branch, else the session's latest
/// thoughts. It is memoized, so a replayed call sees the same history.
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
    Ok(call.memoize("past", past.for_model(call).await))
}

/// Adds the most relevant nodes of the session's latest graph, as it was at `until` if that is
/// given.
pub(crate) async fn with_graph(
    past: SessionHistory,
    session: &Session,
    until: Option<Timestamp>,
    call: &ToolContext,
) -> Result<SessionHistory, StoreError> {
    /// The largest number of nodes shown.
    const MAX_NODES: usize = 12;
    let Some((graph, nodes)) = latest_graph(session, call).await? else {
        return Ok(past);
    };
    let mut left = call.context_tokens() / 2;
    let share = left / STEP_SHARE;
    let mut graph_nodes = Vec::new();
    let there = |node: &&GraphNode| until.is_none_or(|until| node.created_at <= until);
    // The root of the first graph states what the session began with.
    let first = first_root(session, &graph, call).await?;
    let nodes = first.iter().chain(&nodes);
    for node in nodes.filter(there).take(MAX_NODES) {
        let content = truncate_tokens(&node.content, share);
        let Some(rest) = left.checked_sub(approximate_tokens(&content)) else {
            break;
        };
        left = rest;
        // The score at that time is not known.
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

/// The root of the session's first graph; `None` if `latest` is the first.
async fn first_root(
    session: &Session,
    latest: &Graph,
    call: &ToolContext,
) -> Result<Option<GraphNode>, StoreError> {
    let (store, one) = (call.store(), Pagination::limit(1));
    let first = store.graphs(&session.id, EpochFilter::Current, one).await?;
    let Some(first) = first.into_iter().find(|graph| graph.id != latest.id) else {
        return Ok(None);
    };
    let root = store.nodes(&first.id, EpochFilter::Current, one).await?;
    Ok(root.into_iter().next())
}

/// The node that represents a graph: its best one, else one that is still open.
pub(crate) async fn best_node(
    session: &Session,
    call: &ToolContext,
) -> Result<Option<GraphNode>, StoreError> {
    let graph = latest_graph(session, call).await?;
    let nodes = graph.map(|(_, nodes)| nodes).unwrap_or_default();
    let best = nodes.get(1).or(nodes.first());
    Ok(best.cloned())
}

/// The latest graph of a session, if it has one, with its usable nodes: the root, then the best nodes,
/// then the open ones, newest first.
pub(crate) async fn latest_graph(
    session: &Session,
    call: &ToolContext,
) -> Result<Option<(Graph, Vec<GraphNode>)>, StoreError> {
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

/// Like `current_history`, but goes on outside an active branch that is closed.
pub(crate) async fn current_open_history(
    session: Option<&Session>,
    call: &ToolContext,
) -> Result<SessionHistory, ToolError> {
    if let Some(session) = session
        && let Some(id) = &session.active_branch_id
    {
        let branch = crate::lookup::branch(call, id, &session.id).await?;
        if branch.state != BranchState::Active {
            let open = Session {
                active_branch_id: None,
                ..session.clone()
            };
            return Ok(current_history(Some(&open), call).await?);
        }
    }
    Ok(current_history(session, call).await?)
}

/// The latest thoughts of a session on any branch.
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

/// The line of thoughts that ends with `latest`: that thought and its ancestors.
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
        call.store().root_thought(latest).await?
    };
    Ok(select_steps(newest, first, call.context_tokens()))
}

/// The line of thoughts that ends with `thought`. The next thought stays on its branch if that is
/// open.
pub(crate) async fn thought_history(
    thought: &ThoughtId,
    call: &ToolContext,
) -> Result<SessionHistory, StoreError> {
    let branch = call.store().thought(thought).await?;
    let branch = match branch.and_then(|thought| thought.branch_id) {
        Some(id) => call.store().branch(&id).await?,
        None => None,
    };
    let branch = branch.filter(|branch| branch.state == BranchState::Active && !branch.set_aside);
    Ok(SessionHistory {
        branch: branch.map(|branch| branch.id),
        ..ancestor_history(Some(thought), call).await?
    })
}

/// The latest thought at the session's current position.
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

/// Selects the newest steps that fit the budget, and the first step, which is always shown.
fn select_steps(newest: Vec<Thought>, first: Option<Thought>, budget: usize) -> SessionHistory {
    let latest = newest.first().map(|thought| thought.id.clone());
    let share = budget / STEP_SHARE;
    let latest_field = |name: &str| {
        let text = metadata_text(newest.first()?, name)?;
        Some(truncate_tokens(&text, share / 4))
    };
    let latest_answer = latest_field("answer");
    let open_point = latest_field("weakest_point");
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
        latest_answer,
        open_point,
        ..SessionHistory::default()
    }
}

/// A text in the metadata of a thought.
pub(crate) fn metadata_text(thought: &Thought, name: &str) -> Option<String> {
    let text = thought.metadata.as_ref()?.get(name)?;
    text.as_str().map(str::to_owned)
}

impl HistoryStep {
    fn truncated(thought: &Thought, tokens: usize) -> Self {
        let input = thought.input.as_deref().unwrap_or_default();
        Self {
            input: truncate_tokens(input, tokens / 2),
            thought: truncate_tokens(&thought.content, tokens / 2),
            answer: metadata_text(thought, "answer").map(|it| truncate_tokens(&it, tokens / 4)),
            confidence: format!("{:.2}", thought.confidence.get()),
        }
    }

    fn tokens(&self) -> usize {
        // The approximate cost of the tags around a step.
        const TAG_TOKENS: usize = 16;
        let answer = self.answer.as_deref().map_or(0, approximate_tokens);
        approximate_tokens(&self.input) + approximate_tokens(&self.thought) + answer + TAG_TOKENS
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
