//! The history of a session or of one branch, as a model sees it: the newest steps that fit a token
//! budget, and the first step, which states the problem. It contains nothing that a backtrack set
//! aside and, for a branch, nothing of its siblings. Its size does not grow with the session.

mod current_line;
mod steps;

use deliberate_core::{
    BranchId, BranchState, Checkpoint, CheckpointId, Graph, GraphNode, Session, SessionId, Thought,
    ThoughtId, fit_items,
};
use deliberate_store::{EpochFilter, Pagination, StoreError};
use deliberate_toolkit::{ToolContext, ToolError};
use serde::{Deserialize, Serialize};

use crate::graph::{NodeText, node_answer, rank_usable_nodes};
use current_line::line_history;
pub(crate) use current_line::{latest_thought, latest_unabandoned_thought};
use steps::{ALWAYS_SHOWN, HistoryStep, STEPS_TO_READ, select_steps};

/// The part of a session's history that is shown, and the position of the next thought.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SessionHistory {
    /// Oldest first.
    pub(crate) steps: Vec<HistoryStep>,
    /// How many steps between the first and the second one shown are left out.
    #[serde(default)]
    pub(crate) left_out: usize,
    /// Whether there are more steps than were read.
    #[serde(default)]
    pub(crate) is_longer: bool,
    /// In a session of graphs: the root and the most relevant nodes of its latest graph.
    pub(crate) graph_nodes: Vec<HistoryNode>,
    #[serde(default)]
    pub(crate) graph_nodes_left_out: usize,
    pub(crate) graph_problem: Option<String>,
    /// The session of the steps and nodes.
    #[serde(skip)]
    session: Option<SessionId>,
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
        let knows = match &self.session {
            Some(session) if !is_empty => call.model_knows_session(session).await,
            _ => false,
        };
        if knows {
            self.steps.clear();
            self.graph_nodes.clear();
            self.left_out = 0;
            self.is_longer = false;
            self.graph_nodes_left_out = 0;
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

/// A node: whole, or shortened to its share of the budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HistoryNode {
    #[serde(flatten)]
    text: NodeText,
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
        None => line_history(session, call).await?,
    };
    let branch = session.active_branch_id.clone();
    let past = with_graph(SessionHistory { branch, ..past }, session, None, call).await?;
    Ok(call.memoize("past", past.for_model(call).await))
}

/// Adds the most relevant nodes of the session's latest graph, as it was at the checkpoint if one is
/// given.
pub(crate) async fn with_graph(
    past: SessionHistory,
    session: &Session,
    at: Option<&Checkpoint>,
    call: &ToolContext,
) -> Result<SessionHistory, StoreError> {
    /// The largest number of nodes shown.
    const MAX_NODES: usize = 12;
    let found = match at {
        Some(checkpoint) => graph_at(&checkpoint.id, call).await?,
        None => latest_graph(session, call).await?,
    };
    let Some((graph, nodes)) = found else {
        return Ok(past);
    };
    let there = |node: &GraphNode| at.is_none_or(|at| node.created_at <= at.created_at);
    // The root of the first graph states what the session began with.
    let first = first_root(session, &graph, call).await?.filter(there);
    let nodes: Vec<&GraphNode> = first.iter().chain(&nodes).collect();
    let shown = nodes.iter().take(MAX_NODES);
    let sizes: Vec<usize> = shown.map(|node| NodeText::whole_tokens(node)).collect();
    let shares = fit_items(&sizes, ALWAYS_SHOWN, call.context_tokens() / 2);
    let left_out = nodes.len() - shares.len();
    let graph_nodes = nodes
        .into_iter()
        .zip(shares)
        .map(|(node, share)| HistoryNode {
            text: NodeText::new(node, share),
            score: node.score.map(|score| format!("{:.2}", score.get())),
        });
    Ok(SessionHistory {
        graph_nodes: graph_nodes.collect(),
        graph_nodes_left_out: left_out,
        graph_problem: graph.problem,
        session: Some(session.id.clone()),
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

/// The node that represents a graph: its first conclusion, else its best node.
pub(crate) async fn best_node(
    session: &Session,
    call: &ToolContext,
) -> Result<Option<GraphNode>, StoreError> {
    let graph = latest_graph(session, call).await?;
    let nodes = graph.map(|(_, nodes)| nodes).unwrap_or_default();
    let best = nodes.get(1).or(nodes.first());
    Ok(best.cloned())
}

/// The latest graph of a session, if it has one, with its usable nodes, the most relevant first.
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
    let nodes = call
        .store()
        .nodes(&graph.id, EpochFilter::Current, all)
        .await?;
    let edges = call
        .store()
        .edges(&graph.id, EpochFilter::Current, all)
        .await?;
    let nodes = rank_usable_nodes(&graph, nodes, edges);
    Ok(Some((graph, nodes)))
}

/// The latest graph of a session at a checkpoint, with the nodes that were usable there in the same
/// order.
pub(crate) async fn graph_at(
    checkpoint: &CheckpointId,
    call: &ToolContext,
) -> Result<Option<(Graph, Vec<GraphNode>)>, StoreError> {
    let found = call.store().graph_at_checkpoint(checkpoint).await?;
    Ok(found.map(|(graph, nodes)| {
        let nodes = rank_usable_nodes(&graph, nodes, Vec::new());
        (graph, nodes)
    }))
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
    Ok(select_steps(&newest, first.as_ref(), call.context_tokens()))
}

/// The line of thoughts that ends with `latest`: that thought and its ancestors.
pub(crate) async fn ancestor_history(
    latest: Option<&ThoughtId>,
    call: &ToolContext,
) -> Result<SessionHistory, StoreError> {
    let Some(latest) = latest else {
        return Ok(SessionHistory::default());
    };
    let mut newest = Vec::new();
    for thought in call.store().ancestors(latest, STEPS_TO_READ).await? {
        newest.push(with_question(thought, call).await?);
    }
    let first = if newest.len() < STEPS_TO_READ as usize {
        newest.last().cloned()
    } else {
        first_of_line(latest, call).await?
    };
    Ok(select_steps(&newest, first.as_ref(), call.context_tokens()))
}

/// The thought that began the line that leads to `thought`, with its question.
pub(crate) async fn first_of_line(
    thought: &ThoughtId,
    call: &ToolContext,
) -> Result<Option<Thought>, StoreError> {
    match call.store().root_thought(thought).await? {
        Some(first) => Ok(Some(with_question(first, call).await?)),
        None => Ok(None),
    }
}

/// The thought with its question as the input. A perspective is stored without one, because its
/// question is the input of its synthesis; where it stands alone in a line, the question would be
/// lost.
pub(crate) async fn with_question(
    thought: Thought,
    call: &ToolContext,
) -> Result<Thought, StoreError> {
    if thought.input.is_some() {
        return Ok(thought);
    }
    let Some(id) = metadata_text(&thought, "synthesis").map(ThoughtId::from) else {
        return Ok(thought);
    };
    let synthesis = call.store().thought(&id).await?;
    let synthesis = synthesis.filter(|it| it.session_id == thought.session_id);
    Ok(Thought {
        input: synthesis.and_then(|it| it.input),
        ..thought
    })
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

/// The result that the session has reached: of the latest thought at its current position, else of
/// the node that represents its graph.
pub(crate) async fn current_answer(
    session: &Session,
    call: &ToolContext,
) -> Result<Option<String>, StoreError> {
    let latest = latest_thought(session, call).await?;
    if let Some(answer) = latest.and_then(|thought| metadata_text(&thought, "answer")) {
        return Ok(Some(answer));
    }
    let node = best_node(session, call).await?;
    Ok(node.as_ref().and_then(node_answer).map(str::to_owned))
}

/// A text in the metadata of a thought.
pub(crate) fn metadata_text(thought: &Thought, name: &str) -> Option<String> {
    let text = thought.metadata.as_ref()?.get(name)?;
    text.as_str().map(str::to_owned)
}
