//! Which addresses read differently after a change.

use deliberate_core::{BranchId, Change, GraphId, SessionId};
use deliberate_toolkit::Touched;

use super::address::{Form, SESSIONS, What};

/// What the change means. It is asked for every change that is kept, so it reads nothing.
pub(super) fn by(change: &Change, session: Option<&SessionId>) -> Vec<Touched> {
    let mut touched = Vec::new();
    match change {
        Change::AddSession(added) => {
            touched.extend(both(What::Session, added.id.as_str()));
            touched.push(Touched::List);
        }
        Change::RenameSession { session_id, .. } => {
            touched.extend(both(What::Session, session_id.as_str()));
            touched.push(Touched::List);
        }
        Change::DeleteSession(id) => {
            touched.extend(both(What::Session, id.as_str()));
            touched.extend(anything_inside());
            touched.push(Touched::List);
        }
        Change::AddThought(thought) => {
            touched.extend(both(What::Session, thought.session_id.as_str()));
            if let Some(branch) = &thought.branch_id {
                touched.extend(of_branch(branch));
            }
        }
        Change::AddBranch(branch) => {
            touched.extend(both(What::Session, branch.session_id.as_str()));
        }
        Change::SetBranchState { id, .. } => {
            touched.extend(of_branch(id));
            touched.extend(of_session(session));
        }
        Change::FollowBranch { session_id, .. } => {
            touched.extend(both(What::Session, session_id.as_str()));
        }
        Change::AddCrossRef(_) => touched.extend(of_session(session)),
        Change::AddCheckpoint(checkpoint) => {
            touched.extend(both(What::Session, checkpoint.session_id.as_str()));
        }
        Change::Backtrack { session_id, .. } => {
            touched.extend(both(What::Session, session_id.as_str()));
            touched.extend(anything_inside());
        }
        Change::AddGraph(graph) => {
            touched.extend(of_graph(&graph.id));
            touched.extend(both(What::Session, graph.session_id.as_str()));
        }
        Change::AddNode(node) => {
            touched.extend(of_graph(&node.graph_id));
            touched.extend(both(What::Session, node.session_id.as_str()));
        }
        // The node does not say whose it is.
        Change::MarkNode { .. } => {
            touched.push(Touched::Under(What::Graph.all()));
            touched.extend(of_session(session));
        }
        Change::PruneNodes { graph_id, .. } => {
            touched.extend(of_graph(graph_id));
            touched.extend(of_session(session));
        }
        Change::AddEdge(edge) => {
            touched.extend(of_graph(&edge.graph_id));
            touched.extend(of_session(session));
        }
        Change::KeepThread { .. }
        | Change::AddSnapshot(_)
        | Change::Require(_)
        | Change::PutItem { .. }
        | Change::DropItem { .. }
        | Change::Suspend(_)
        | Change::EndSuspension { .. }
        | Change::RunOn { .. }
        | Change::BeginRun(_)
        | Change::AddRunEvent { .. }
        | Change::ForgetRuns { .. }
        | Change::DeleteRun(_)
        | Change::SetState { .. }
        | Change::AddInvocation(_) => return touched,
    }
    // Every one of these shows in the list as a later time or another count.
    touched.push(Touched::Resource(SESSIONS.to_owned()));
    touched
}

/// The addresses of a thing, in every form.
fn both(what: What, id: &str) -> [Touched; 2] {
    Form::ALL.map(|form| Touched::Resource(what.address(id, form)))
}

fn of_branch(id: &BranchId) -> [Touched; 2] {
    both(What::Branch, id.as_str())
}

fn of_graph(id: &GraphId) -> [Touched; 2] {
    both(What::Graph, id.as_str())
}

fn of_session(session: Option<&SessionId>) -> Vec<Touched> {
    session.map_or_else(Vec::new, |id| both(What::Session, id.as_str()).to_vec())
}

/// What belongs to a session that changes as a whole.
fn anything_inside() -> [Touched; 3] {
    [What::Graph, What::Branch, What::Thought].map(|what| Touched::Under(what.all()))
}
