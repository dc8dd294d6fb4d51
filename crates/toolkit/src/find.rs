//! Finding what an id names: the thing, or the error that says why it can't be had.

use deliberate_core::{
    Branch, BranchId, Checkpoint, CheckpointId, Graph, GraphId, GraphNode, NodeId, Session,
    SessionId, Thought, ThoughtId, cut_to_chars,
};

use crate::{Call, Kind, ToolError};

/// What an error shows of an id.
const ID_CHARS: usize = 80;

impl Call {
    /// The session of that id.
    pub async fn session(&self, id: &SessionId) -> Result<Session, ToolError> {
        let session = self.store().session(id).await?;
        session.ok_or_else(|| missing(Kind::Session, id.as_str()))
    }

    /// The thought of that id, current or not.
    pub async fn thought(&self, id: &ThoughtId) -> Result<Thought, ToolError> {
        let thought = self.store().thought(id).await?;
        thought.ok_or_else(|| missing(Kind::Thought, id.as_str()))
    }

    /// The branch of that id in that session, if it is current.
    pub async fn branch(&self, id: &BranchId, session: &SessionId) -> Result<Branch, ToolError> {
        let branch = self.store().branch(id).await?;
        let branch = branch.ok_or_else(|| missing(Kind::Branch, id.as_str()))?;
        if branch.session_id != *session {
            return Err(elsewhere(
                (Kind::Branch, id.as_str()),
                (Kind::Session, session.as_str()),
            ));
        }
        current(branch.set_aside, Kind::Branch, id.as_str())?;
        Ok(branch)
    }

    /// The checkpoint of that id, of that session if one is given.
    pub async fn checkpoint(
        &self,
        id: &CheckpointId,
        session: Option<&SessionId>,
    ) -> Result<Checkpoint, ToolError> {
        let checkpoint = self.store().checkpoint(id).await?;
        let checkpoint = checkpoint.ok_or_else(|| missing(Kind::Checkpoint, id.as_str()))?;
        match session {
            Some(session) if checkpoint.session_id != *session => Err(elsewhere(
                (Kind::Checkpoint, id.as_str()),
                (Kind::Session, session.as_str()),
            )),
            _ => Ok(checkpoint),
        }
    }

    /// The graph of that id, if it is current.
    pub async fn graph(&self, id: &GraphId) -> Result<Graph, ToolError> {
        let graph = self.store().graph(id).await?;
        let graph = graph.ok_or_else(|| missing(Kind::Graph, id.as_str()))?;
        current(graph.set_aside, Kind::Graph, id.as_str())?;
        Ok(graph)
    }

    /// The node of that id in that graph, if it is current and was not pruned.
    pub async fn node(&self, id: &NodeId, graph: &GraphId) -> Result<GraphNode, ToolError> {
        let node = self.store().node(id).await?;
        let node = node.ok_or_else(|| missing(Kind::Node, id.as_str()))?;
        if node.graph_id != *graph {
            return Err(elsewhere(
                (Kind::Node, id.as_str()),
                (Kind::Graph, graph.as_str()),
            ));
        }
        current(node.set_aside, Kind::Node, id.as_str())?;
        if node.pruned {
            return Err(ToolError::NodePruned {
                id: cut_to_chars(id.as_str(), ID_CHARS),
            });
        }
        Ok(node)
    }
}

fn missing(what: Kind, id: &str) -> ToolError {
    ToolError::NotFound {
        what,
        id: cut_to_chars(id, ID_CHARS),
    }
}

fn elsewhere((what, id): (Kind, &str), (place, place_id): (Kind, &str)) -> ToolError {
    ToolError::Elsewhere {
        what,
        id: cut_to_chars(id, ID_CHARS),
        place,
        place_id: cut_to_chars(place_id, ID_CHARS),
    }
}

fn current(set_aside: bool, what: Kind, id: &str) -> Result<(), ToolError> {
    if !set_aside {
        return Ok(());
    }
    Err(ToolError::SetAside {
        what,
        id: cut_to_chars(id, ID_CHARS),
    })
}
