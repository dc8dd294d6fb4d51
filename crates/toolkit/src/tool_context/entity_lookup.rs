//! Finding what an id names: the thing, or the error that says why it can't be had.

use deliberate_core::{
    Branch, BranchId, Checkpoint, CheckpointId, Graph, GraphId, GraphNode, NodeId, Session,
    SessionId, Thought, ThoughtId, truncate_chars,
};

use crate::{EntityKind, ToolContext, ToolError};

/// What an error shows of an id.
const MAX_ID_CHARS: usize = 80;

impl ToolContext {
    /// The session of that id.
    pub async fn session(&self, id: &SessionId) -> Result<Session, ToolError> {
        let session = self.store().session(id).await?;
        session.ok_or_else(|| not_found(EntityKind::Session, id.as_str()))
    }

    /// The thought of that id, current or not.
    pub async fn thought(&self, id: &ThoughtId) -> Result<Thought, ToolError> {
        let thought = self.store().thought(id).await?;
        thought.ok_or_else(|| not_found(EntityKind::Thought, id.as_str()))
    }

    /// The branch of that id in that session, if it is current.
    pub async fn branch(&self, id: &BranchId, session: &SessionId) -> Result<Branch, ToolError> {
        let branch = self.store().branch(id).await?;
        let branch = branch.ok_or_else(|| not_found(EntityKind::Branch, id.as_str()))?;
        if branch.session_id != *session {
            return Err(wrong_parent(
                (EntityKind::Branch, id.as_str()),
                (EntityKind::Session, session.as_str()),
            ));
        }
        require_current(branch.set_aside, EntityKind::Branch, id.as_str())?;
        Ok(branch)
    }

    /// The checkpoint of that id, of that session if one is given.
    pub async fn checkpoint(
        &self,
        id: &CheckpointId,
        session: Option<&SessionId>,
    ) -> Result<Checkpoint, ToolError> {
        let checkpoint = self.store().checkpoint(id).await?;
        let checkpoint =
            checkpoint.ok_or_else(|| not_found(EntityKind::Checkpoint, id.as_str()))?;
        match session {
            Some(session) if checkpoint.session_id != *session => Err(wrong_parent(
                (EntityKind::Checkpoint, id.as_str()),
                (EntityKind::Session, session.as_str()),
            )),
            _ => Ok(checkpoint),
        }
    }

    /// The graph of that id, if it is current.
    pub async fn graph(&self, id: &GraphId) -> Result<Graph, ToolError> {
        let graph = self.store().graph(id).await?;
        let graph = graph.ok_or_else(|| not_found(EntityKind::Graph, id.as_str()))?;
        require_current(graph.set_aside, EntityKind::Graph, id.as_str())?;
        Ok(graph)
    }

    /// The node of that id in that graph, if it is current and was not pruned.
    pub async fn node(&self, id: &NodeId, graph: &GraphId) -> Result<GraphNode, ToolError> {
        let node = self.store().node(id).await?;
        let node = node.ok_or_else(|| not_found(EntityKind::Node, id.as_str()))?;
        if node.graph_id != *graph {
            return Err(wrong_parent(
                (EntityKind::Node, id.as_str()),
                (EntityKind::Graph, graph.as_str()),
            ));
        }
        require_current(node.set_aside, EntityKind::Node, id.as_str())?;
        if node.pruned {
            return Err(ToolError::NodePruned {
                id: truncate_chars(id.as_str(), MAX_ID_CHARS),
            });
        }
        Ok(node)
    }
}

fn not_found(what: EntityKind, id: &str) -> ToolError {
    ToolError::NotFound {
        what,
        id: truncate_chars(id, MAX_ID_CHARS),
    }
}

fn wrong_parent(
    (what, id): (EntityKind, &str),
    (place, place_id): (EntityKind, &str),
) -> ToolError {
    ToolError::WrongParent {
        what,
        id: truncate_chars(id, MAX_ID_CHARS),
        place,
        place_id: truncate_chars(place_id, MAX_ID_CHARS),
    }
}

fn require_current(set_aside: bool, what: EntityKind, id: &str) -> Result<(), ToolError> {
    if !set_aside {
        return Ok(());
    }
    Err(ToolError::SetAside {
        what,
        id: truncate_chars(id, MAX_ID_CHARS),
    })
}
