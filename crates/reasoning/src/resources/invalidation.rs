//! Maps a change to the resources whose content it changes.

use deliberate_core::{BranchId, Change, GraphId, SessionId};
use deliberate_toolkit::ResourceChange;

use super::uri::{ReasoningResourceFormat, ReasoningResourceKind, SESSIONS_URI};

/// The resources that the change affects. It runs for every committed change, so it reads nothing
/// from the store.
pub(super) fn changes_for(change: &Change, session: Option<&SessionId>) -> Vec<ResourceChange> {
    let mut touched = Vec::new();
    match change {
        Change::AddSession(added) => {
            touched.extend(entity_changes(
                ReasoningResourceKind::Session,
                added.id.as_str(),
            ));
            touched.push(ResourceChange::ListChanged);
        }
        Change::RenameSession { session_id, .. } => {
            touched.extend(entity_changes(
                ReasoningResourceKind::Session,
                session_id.as_str(),
            ));
            touched.push(ResourceChange::ListChanged);
        }
        Change::DeleteSession(id) => {
            touched.extend(entity_changes(ReasoningResourceKind::Session, id.as_str()));
            touched.extend(content_changes());
            touched.push(ResourceChange::ListChanged);
        }
        Change::AddThought(thought) => {
            touched.extend(entity_changes(
                ReasoningResourceKind::Session,
                thought.session_id.as_str(),
            ));
            if let Some(branch) = &thought.branch_id {
                touched.extend(branch_changes(branch));
            }
        }
        Change::AddBranch(branch) => {
            touched.extend(entity_changes(
                ReasoningResourceKind::Session,
                branch.session_id.as_str(),
            ));
        }
        Change::SetBranchState { id, .. } => {
            touched.extend(branch_changes(id));
            touched.extend(session_changes(session));
        }
        Change::SetActiveBranch { session_id, .. } => {
            touched.extend(entity_changes(
                ReasoningResourceKind::Session,
                session_id.as_str(),
            ));
        }
        Change::AddCrossRef(_) => touched.extend(session_changes(session)),
        Change::AddCheckpoint(checkpoint) => {
            touched.extend(entity_changes(
                ReasoningResourceKind::Session,
                checkpoint.session_id.as_str(),
            ));
        }
        Change::Backtrack { session_id, .. } => {
            touched.extend(entity_changes(
                ReasoningResourceKind::Session,
                session_id.as_str(),
            ));
            touched.extend(content_changes());
        }
        Change::AddGraph(graph) => {
            touched.extend(graph_changes(&graph.id));
            touched.extend(entity_changes(
                ReasoningResourceKind::Session,
                graph.session_id.as_str(),
            ));
        }
        Change::AddNode(node) => {
            touched.extend(graph_changes(&node.graph_id));
            touched.extend(entity_changes(
                ReasoningResourceKind::Session,
                node.session_id.as_str(),
            ));
        }
        // The change does not name the graph of the node.
        Change::UpdateNode { .. } => {
            touched.push(ResourceChange::Prefix(
                ReasoningResourceKind::Graph.uri_prefix(),
            ));
            touched.extend(session_changes(session));
        }
        Change::PruneNodes { graph_id, .. } => {
            touched.extend(graph_changes(graph_id));
            touched.extend(session_changes(session));
        }
        Change::AddEdge(edge) => {
            touched.extend(graph_changes(&edge.graph_id));
            touched.extend(session_changes(session));
        }
        Change::SetProviderThread { .. }
        | Change::AddSnapshot(_)
        | Change::Check(_)
        | Change::PutDocument { .. }
        | Change::DeleteDocument { .. }
        | Change::Suspend(_)
        | Change::EndSuspension { .. }
        | Change::RenewLease { .. }
        | Change::TakeLease { .. }
        | Change::StartRun(_)
        | Change::AddRunEvent { .. }
        | Change::PruneRuns { .. }
        | Change::DeleteRun(_)
        | Change::SetState { .. }
        | Change::AddInvocation(_) => return touched,
    }
    // Each of these changes shows in the list as a later time or another count.
    touched.push(ResourceChange::Resource(SESSIONS_URI.to_owned()));
    touched
}

/// The URIs of an entity in every format.
fn entity_changes(kind: ReasoningResourceKind, id: &str) -> [ResourceChange; 2] {
    ReasoningResourceFormat::ALL.map(|form| ResourceChange::Resource(kind.uri(id, form)))
}

fn branch_changes(id: &BranchId) -> [ResourceChange; 2] {
    entity_changes(ReasoningResourceKind::Branch, id.as_str())
}

fn graph_changes(id: &GraphId) -> [ResourceChange; 2] {
    entity_changes(ReasoningResourceKind::Graph, id.as_str())
}

fn session_changes(session: Option<&SessionId>) -> Vec<ResourceChange> {
    session.map_or_else(Vec::new, |id| {
        entity_changes(ReasoningResourceKind::Session, id.as_str()).to_vec()
    })
}

/// The entities of a session that changes as a whole.
fn content_changes() -> [ResourceChange; 3] {
    [
        ReasoningResourceKind::Graph,
        ReasoningResourceKind::Branch,
        ReasoningResourceKind::Thought,
    ]
    .map(|what| ResourceChange::Prefix(what.uri_prefix()))
}
