//! The entities of a session that can be set aside and restored, and the changes that do it.

use deliberate_core::{
    Branch, BranchId, Change, Checkpoint, CheckpointKind, CrossRef, Graph, GraphEdge, GraphNode,
    SessionId, Thought,
};
use deliberate_store::Store;

use super::{ALL, All, EpochFilter, branches};
use crate::samples::{at_second, checkpoint};

/// The entities of a session that can be set aside and restored.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SessionView {
    pub(super) active: Option<BranchId>,
    pub(super) thoughts: Vec<Thought>,
    pub(super) branches: Vec<Branch>,
    pub(super) cross_refs: Vec<CrossRef>,
    pub(super) graphs: Vec<Graph>,
    /// The nodes of all graphs, by id.
    pub(super) nodes: Vec<GraphNode>,
    /// The edges of all graphs, by id.
    pub(super) edges: Vec<GraphEdge>,
}

pub(super) async fn load_view(
    store: &dyn Store,
    id: &SessionId,
    which: EpochFilter,
) -> SessionView {
    let mut seen = SessionView {
        active: store.session(id).await.unwrap().unwrap().active_branch_id,
        thoughts: store.thoughts(id, which, ALL).await.unwrap(),
        branches: branches(store, id, which).await,
        cross_refs: store.cross_refs(id, which, ALL).await.unwrap(),
        graphs: store.graphs(id, which, ALL).await.unwrap(),
        ..SessionView::default()
    };
    for graph in store.graphs(id, All, ALL).await.unwrap() {
        let nodes = store.nodes(&graph.id, which, ALL).await.unwrap();
        let edges = store.edges(&graph.id, which, ALL).await.unwrap();
        seen.nodes.extend(nodes);
        seen.edges.extend(edges);
    }
    seen.nodes
        .sort_by(|one, other| one.id.as_str().cmp(other.id.as_str()));
    seen.edges
        .sort_by(|one, other| one.id.as_str().cmp(other.id.as_str()));
    seen
}

impl SessionView {
    /// Returns the ids of all entities that are set aside.
    pub(super) fn set_aside_ids(&self) -> Vec<&str> {
        let thoughts = self.thoughts.iter().filter(|it| it.set_aside);
        let branches = self.branches.iter().filter(|it| it.set_aside);
        let graphs = self.graphs.iter().filter(|it| it.set_aside);
        let nodes = self.nodes.iter().filter(|it| it.set_aside);
        thoughts
            .map(|it| it.id.as_str())
            .chain(branches.map(|it| it.id.as_str()))
            .chain(graphs.map(|it| it.id.as_str()))
            .chain(nodes.map(|it| it.id.as_str()))
            .collect()
    }

    /// Returns the ids, one list per kind.
    pub(super) fn ids(&self) -> [Vec<&str>; 6] {
        [
            self.thoughts.iter().map(|it| it.id.as_str()).collect(),
            self.branches.iter().map(|it| it.id.as_str()).collect(),
            self.cross_refs.iter().map(|it| it.id.as_str()).collect(),
            self.graphs.iter().map(|it| it.id.as_str()).collect(),
            self.nodes.iter().map(|it| it.id.as_str()).collect(),
            self.edges.iter().map(|it| it.id.as_str()).collect(),
        ]
    }
}

/// Adds a checkpoint of session `s` with that active branch.
pub(super) fn checkpoint_at(id: &str, branch: Option<&str>) -> Change {
    Change::AddCheckpoint(Checkpoint {
        branch_id: branch.map(Into::into),
        ..checkpoint(id, "s")
    })
}

/// Returns session `s` to a checkpoint and creates one of the state that it leaves.
pub(super) fn backtrack_to(to: &str, left: &str, branch: Option<&str>) -> Change {
    Change::Backtrack {
        session_id: "s".into(),
        to: to.into(),
        left: Checkpoint {
            branch_id: branch.map(Into::into),
            kind: CheckpointKind::Undo,
            ..checkpoint(left, "s")
        },
    }
}

pub(super) fn follow_branch(branch: &str) -> Change {
    Change::SetActiveBranch {
        session_id: "s".into(),
        branch_id: Some(branch.into()),
        at: at_second(20),
    }
}
