//! Loads reasoning entities by id and builds the errors about them: an unknown id, an entity of
//! another session, one that a backtrack set aside, a closed branch, a pruned node.

use deliberate_core::{
    Branch, BranchId, BranchState, Checkpoint, CheckpointId, Graph, GraphId, GraphNode, NodeId,
    Session, SessionId, Thought, ThoughtId, truncate_chars,
};
use deliberate_toolkit::{EntityKind, ErrorCode, ToolContext, ToolError};

/// The longest id that an error shows.
const MAX_ID_CHARS: usize = 80;

const USE_KNOWN_ID: &str = "Use an id from the answer of an earlier call; a short one such as t3 or n2 needs its session_id or \
     graph_id beside it.";

pub(crate) const SESSION: EntityKind = EntityKind {
    label: "session",
    not_found: ErrorCode::SessionNotFound,
    hint: "Use an id from an earlier answer (reasoning_sessions lists them). To begin a \
           new session, omit session_id.",
};

pub(crate) const THOUGHT: EntityKind = EntityKind {
    label: "thought",
    not_found: ErrorCode::ThoughtNotFound,
    hint: USE_KNOWN_ID,
};

pub(crate) const BRANCH: EntityKind = EntityKind {
    label: "branch",
    not_found: ErrorCode::BranchNotFound,
    hint: USE_KNOWN_ID,
};

pub(crate) const CHECKPOINT: EntityKind = EntityKind {
    label: "checkpoint",
    not_found: ErrorCode::CheckpointNotFound,
    hint: USE_KNOWN_ID,
};

pub(crate) const GRAPH: EntityKind = EntityKind {
    label: "graph",
    not_found: ErrorCode::GraphNotFound,
    hint: USE_KNOWN_ID,
};

pub(crate) const NODE: EntityKind = EntityKind {
    label: "node",
    not_found: ErrorCode::NodeNotFound,
    hint: USE_KNOWN_ID,
};

pub(crate) async fn session(call: &ToolContext, id: &SessionId) -> Result<Session, ToolError> {
    let session = call.store().session(id).await?;
    session.ok_or_else(|| not_found(SESSION, id.as_str()))
}

/// Loads a thought, current or set aside.
pub(crate) async fn thought(call: &ToolContext, id: &ThoughtId) -> Result<Thought, ToolError> {
    let thought = call.store().thought(id).await?;
    thought.ok_or_else(|| not_found(THOUGHT, id.as_str()))
}

/// Loads a thought that is current, of the session if one is given.
pub(crate) async fn current_thought(
    call: &ToolContext,
    id: &ThoughtId,
    session: Option<&SessionId>,
) -> Result<Thought, ToolError> {
    let thought = thought(call, id).await?;
    if let Some(named) = session.filter(|named| **named != thought.session_id) {
        self::session(call, named).await?;
        return Err(wrong_parent(
            (THOUGHT, thought.id.as_str()),
            (SESSION, named.as_str()),
        ));
    }
    require_current(thought.set_aside, THOUGHT, thought.id.as_str())?;
    Ok(thought)
}

/// Loads a current branch of the session.
pub(crate) async fn branch(
    call: &ToolContext,
    id: &BranchId,
    session: &SessionId,
) -> Result<Branch, ToolError> {
    let branch = call.store().branch(id).await?;
    let branch = branch.ok_or_else(|| not_found(BRANCH, id.as_str()))?;
    if branch.session_id != *session {
        return Err(wrong_parent(
            (BRANCH, id.as_str()),
            (SESSION, session.as_str()),
        ));
    }
    require_current(branch.set_aside, BRANCH, id.as_str())?;
    Ok(branch)
}

/// Loads a checkpoint, of the session if one is given.
pub(crate) async fn checkpoint(
    call: &ToolContext,
    id: &CheckpointId,
    session: Option<&SessionId>,
) -> Result<Checkpoint, ToolError> {
    let checkpoint = call.store().checkpoint(id).await?;
    let checkpoint = checkpoint.ok_or_else(|| not_found(CHECKPOINT, id.as_str()))?;
    match session {
        Some(session) if checkpoint.session_id != *session => Err(wrong_parent(
            (CHECKPOINT, id.as_str()),
            (SESSION, session.as_str()),
        )),
        _ => Ok(checkpoint),
    }
}

/// Loads a current graph.
pub(crate) async fn graph(call: &ToolContext, id: &GraphId) -> Result<Graph, ToolError> {
    let graph = call.store().graph(id).await?;
    let graph = graph.ok_or_else(|| not_found(GRAPH, id.as_str()))?;
    require_current(graph.set_aside, GRAPH, id.as_str())?;
    Ok(graph)
}

/// Loads a node of the graph that is current and not pruned.
pub(crate) async fn node(
    call: &ToolContext,
    id: &NodeId,
    graph: &GraphId,
) -> Result<GraphNode, ToolError> {
    let node = call.store().node(id).await?;
    let node = node.ok_or_else(|| not_found(NODE, id.as_str()))?;
    if node.graph_id != *graph {
        return Err(wrong_parent((NODE, id.as_str()), (GRAPH, graph.as_str())));
    }
    require_current(node.set_aside, NODE, id.as_str())?;
    if node.pruned {
        return Err(node_pruned(id));
    }
    Ok(node)
}

fn not_found(kind: EntityKind, id: &str) -> ToolError {
    ToolError::NotFound {
        what: kind,
        id: truncate_chars(id, MAX_ID_CHARS),
    }
}

/// Builds the error for an entity that exists, but in another session or graph than the call says.
pub(crate) fn wrong_parent(
    (what, id): (EntityKind, &str),
    (parent, parent_id): (EntityKind, &str),
) -> ToolError {
    let id = truncate_chars(id, MAX_ID_CHARS);
    let parent_id = truncate_chars(parent_id, MAX_ID_CHARS);
    ToolError::Custom {
        code: what.not_found,
        message: format!("{what} {id:?} does not belong to {parent} {parent_id:?}"),
        hint: Some(format!(
            "Use an id from the answer of a call on that {parent}."
        )),
    }
}

pub(crate) fn set_aside(what: EntityKind, id: &str) -> ToolError {
    let id = truncate_chars(id, MAX_ID_CHARS);
    ToolError::Custom {
        code: ErrorCode::SetAside,
        message: format!("{what} {id:?} was set aside by a backtrack and is no longer current"),
        hint: Some(
            "Continue from the current state (reasoning_get shows it), or undo \
             the backtrack: reasoning_checkpoint_list lists its undo checkpoint."
                .to_owned(),
        ),
    }
}

pub(crate) fn branch_closed(id: &BranchId, state: BranchState) -> ToolError {
    ToolError::Custom {
        code: ErrorCode::BranchClosed,
        message: format!("branch {:?} is {}", id.as_str(), state.as_str()),
        hint: Some("Reopen it with reasoning_tree_focus, or continue another branch.".to_owned()),
    }
}

fn node_pruned(id: &NodeId) -> ToolError {
    let id = truncate_chars(id.as_str(), MAX_ID_CHARS);
    ToolError::Custom {
        code: ErrorCode::NodePruned,
        message: format!("node {id:?} was pruned"),
        hint: Some(
            "Use another node (reasoning_got_state lists them), or backtrack to a checkpoint \
             from before the pruning."
                .to_owned(),
        ),
    }
}

fn require_current(is_set_aside: bool, kind: EntityKind, id: &str) -> Result<(), ToolError> {
    if is_set_aside {
        return Err(set_aside(kind, id));
    }
    Ok(())
}
