//! The model: everything is in memory, and a checkpoint is a copy of it.

use std::collections::{BTreeSet, HashMap};

use deliberate_core::{
    Branch, BranchId, BranchState, Change, Checkpoint, CheckpointId, GraphId, NodeId, NodeUpdate,
    Session, SessionId, Thought, Timestamp,
};
use deliberate_store::{BacktrackPreview, EntityCounts, Store};
use proptest::sample::Index;
use serde_json::{Map, Value, json};

use super::{
    super::{ALL, All, Current},
    steps::HistoryStep,
};
use crate::{
    contract::session_view::{SessionView, load_view},
    samples::{at_second, branch, checkpoint, cross_ref, edge, graph, node, thought},
};

/// A step as a change, and whether it is valid; if not, the store must reject it.
pub(super) struct ExpectedChange {
    pub(super) change: Change,
    pub(super) is_valid: bool,
}

/// The expected state of the session.
pub(super) struct SessionModel {
    session: SessionId,
    /// When the session last changed.
    time: Timestamp,
    pub(super) now: SessionView,
    /// Every entity that ever existed, by id.
    ever: SessionView,
    checkpoints: Vec<(CheckpointId, SessionView)>,
    made: usize,
}

/// Picks one of the entries, if there are any.
fn pick<T>(index: Index, from: &[T]) -> Option<&T> {
    (!from.is_empty()).then(|| index.get(from))
}

/// Merges notes into metadata; null removes a field.
fn join(metadata: Option<Value>, notes: &Value) -> Value {
    let mut joined = match metadata {
        None => Map::new(),
        Some(Value::Object(fields)) => fields,
        Some(other) => Map::from_iter([("earlier".to_owned(), other)]),
    };
    for (name, value) in notes.as_object().unwrap() {
        joined.insert(name.clone(), value.clone());
        if value.is_null() {
            joined.shift_remove(name);
        }
    }
    Value::Object(joined)
}

impl SessionModel {
    pub(super) fn for_session(session: &Session) -> Self {
        Self {
            session: session.id.clone(),
            time: session.updated_at,
            now: SessionView::default(),
            ever: SessionView::default(),
            checkpoints: Vec::new(),
            made: 0,
        }
    }

    /// Returns a new id. Ids sort in the order of creation.
    fn name(&mut self, kind: &str) -> String {
        self.made += 1;
        format!("{}-{kind}{:04}", self.session, self.made)
    }

    /// Returns a checkpoint of the current state.
    fn checkpoint(&mut self) -> Checkpoint {
        let id = self.name("c");
        Checkpoint {
            branch_id: self.now.active.clone(),
            ..checkpoint(&id, self.session.as_str())
        }
    }

    /// Stores a copy of everything for the checkpoint.
    fn copy(&mut self, checkpoint: &Checkpoint) {
        let mut copy = self.now.clone();
        copy.active.clone_from(&checkpoint.branch_id);
        self.checkpoints.push((checkpoint.id.clone(), copy));
    }

    /// Sets the time of a graph's change. A backtrack does not reset it.
    fn touch(&mut self, graph: &GraphId, at: Timestamp) {
        let copies = self.checkpoints.iter_mut().map(|(_, copy)| copy);
        for seen in copies.chain([&mut self.now, &mut self.ever]) {
            for it in seen.graphs.iter_mut().filter(|it| it.id == *graph) {
                it.updated_at = it.updated_at.max(at);
            }
        }
        self.time = self.time.max(at);
    }

    /// Applies the step to the model and returns the change; `None` if the step has no subject.
    pub(super) fn apply(&mut self, step: &HistoryStep) -> Option<ExpectedChange> {
        let (change, fits) = match step {
            HistoryStep::SetState(which, state, second) => {
                self.set_state(*which, *state, at_second(*second))?
            }
            HistoryStep::UpdateNode(which, marks, second) => {
                self.update_node(*which, marks, at_second(*second))?
            }
            HistoryStep::Prune(which, second) => self.prune(which, at_second(*second))?,
            HistoryStep::Checkpoint(branch, thought) => self.make_checkpoint(*branch, *thought),
            other => (self.add(other)?, true),
        };
        Some(ExpectedChange {
            change,
            is_valid: fits,
        })
    }

    /// Applies a step that is always valid.
    fn add(&mut self, step: &HistoryStep) -> Option<Change> {
        let session = self.session.to_string();
        Some(match step {
            HistoryStep::Think(parent, on, given) => {
                let parent = parent.and_then(|it| pick(it, &self.now.thoughts).cloned());
                let on = on.and_then(|it| pick(it, &self.now.branches).cloned());
                let thought = Thought {
                    input: given.then(|| "given".to_owned()),
                    parent_id: parent.map(|it| it.id),
                    branch_id: on.map(|it| it.id),
                    ..thought(&self.name("t"), &session)
                };
                self.time = self.time.max(thought.created_at);
                self.now.thoughts.push(thought.clone());
                self.ever.thoughts.push(thought.clone());
                Change::AddThought(thought)
            }
            HistoryStep::OpenBranch(parent, values) => {
                let parent = parent.and_then(|it| pick(it, &self.now.branches).cloned());
                let opened = values.branch(Branch {
                    parent_id: parent.map(|it| it.id),
                    ..branch(&self.name("b"), &session)
                });
                self.now.branches.push(opened.clone());
                self.ever.branches.push(opened.clone());
                Change::AddBranch(opened)
            }
            HistoryStep::Follow(which) => {
                let which = which.and_then(|it| pick(it, &self.now.branches).cloned());
                self.now.active = which.map(|it| it.id);
                Change::SetActiveBranch {
                    session_id: self.session.clone(),
                    branch_id: self.now.active.clone(),
                    at: at_second(0),
                }
            }
            HistoryStep::Refer(from, to) => {
                let from = pick(*from, &self.now.branches)?.id.to_string();
                let to = pick(*to, &self.now.branches)?.id.to_string();
                let reference = cross_ref(&self.name("r"), &from, &to);
                self.now.cross_refs.push(reference.clone());
                self.ever.cross_refs.push(reference.clone());
                Change::AddCrossRef(reference)
            }
            HistoryStep::BeginGraph => {
                let graph = graph(&self.name("g"), &session);
                self.time = self.time.max(graph.updated_at);
                self.now.graphs.push(graph.clone());
                self.ever.graphs.push(graph.clone());
                Change::AddGraph(graph)
            }
            HistoryStep::AddNode(graph, values) => {
                let graph = pick(*graph, &self.now.graphs)?.id.clone();
                let node = values.node(node(&self.name("n"), graph.as_str(), &session));
                self.touch(&graph, node.created_at);
                self.now.nodes.push(node.clone());
                self.ever.nodes.push(node.clone());
                Change::AddNode(node)
            }
            HistoryStep::Connect(from, to) => {
                let from = pick(*from, &self.now.nodes)?.clone();
                let to = pick(*to, &self.now.nodes)?.id.to_string();
                let graph = from.graph_id.to_string();
                let edge = edge(&self.name("e"), &graph, from.id.as_str(), &to);
                self.now.edges.push(edge.clone());
                self.ever.edges.push(edge.clone());
                Change::AddEdge(edge)
            }
            HistoryStep::Backtrack(to) => {
                let (to, _) = pick(*to, &self.checkpoints)?.clone();
                let left = self.checkpoint();
                self.time = self.time.max(left.created_at);
                self.copy(&left);
                let then = self.checkpoints.iter().find(|(id, _)| *id == to)?;
                self.now = then.1.clone();
                Change::Backtrack {
                    session_id: self.session.clone(),
                    to,
                    left,
                }
            }
            HistoryStep::SetState(..)
            | HistoryStep::UpdateNode(..)
            | HistoryStep::Prune(..)
            | HistoryStep::Checkpoint(..) => {
                return None;
            }
        })
    }

    fn set_state(
        &mut self,
        of: Index,
        state: BranchState,
        at: Timestamp,
    ) -> Option<(Change, bool)> {
        let id = pick(of, &self.ever.branches)?.id.clone();
        let current = self.now.branches.iter_mut().find(|it| it.id == id);
        let fits = current.is_some();
        if let Some(branch) = current {
            branch.state = state;
            branch.updated_at = branch.updated_at.max(at);
            self.time = self.time.max(at);
        }
        Some((Change::SetBranchState { id, state, at }, fits))
    }

    fn update_node(
        &mut self,
        of: Index,
        update: &NodeUpdate,
        at: Timestamp,
    ) -> Option<(Change, bool)> {
        let id = pick(of, &self.ever.nodes)?.id.clone();
        let mut current = self.now.nodes.iter_mut();
        let current = current.find(|it| it.id == id && !it.pruned);
        let fits = current.is_some();
        if let Some(node) = current {
            node.score = update.score.or(node.score);
            node.is_active = update.is_active.unwrap_or(node.is_active);
            node.is_terminal = update.is_terminal.unwrap_or(node.is_terminal);
            if let Some(notes) = &update.notes {
                let joined = join(node.metadata.take(), notes);
                node.metadata = Some(joined);
            }
            let graph = node.graph_id.clone();
            self.touch(&graph, at);
        }
        let marks = update.clone();
        Some((Change::UpdateNode { id, marks, at }, fits))
    }

    /// Prunes the current ones of these nodes; there must be at least one.
    fn prune(&mut self, which: &[Index], at: Timestamp) -> Option<(Change, bool)> {
        let graph_id = pick(*which.first()?, &self.ever.nodes)?.graph_id.clone();
        let nodes: Vec<NodeId> = which
            .iter()
            .filter_map(|it| pick(*it, &self.ever.nodes))
            .filter(|it| it.graph_id == graph_id)
            .map(|it| it.id.clone())
            .collect();
        let mut fits = false;
        let current = self.now.nodes.iter_mut();
        for node in current.filter(|it| nodes.contains(&it.id)) {
            (node.pruned, node.is_active) = (true, false);
            fits = true;
        }
        if fits {
            self.touch(&graph_id, at);
        }
        let change = Change::PruneNodes {
            graph_id,
            nodes,
            at,
        };
        Some((change, fits))
    }

    fn make_checkpoint(&mut self, on: Option<Index>, latest: Option<Index>) -> (Change, bool) {
        let mut made = self.checkpoint();
        if let Some(branch) = on.and_then(|it| pick(it, &self.ever.branches)) {
            made.branch_id = Some(branch.id.clone());
        }
        let latest = latest.and_then(|it| pick(it, &self.ever.thoughts));
        if let Some(thought) = latest {
            made.snapshot = json!({ "latest_thought_id": thought.id.as_str() });
        }
        let current: BTreeSet<_> = self.now.ids().concat().into_iter().collect();
        let branch = made.branch_id.as_ref().map(BranchId::as_str);
        let named = branch.into_iter().chain(latest.map(|it| it.id.as_str()));
        let fits = named.into_iter().all(|id| current.contains(id));
        if fits {
            self.time = self.time.max(made.created_at);
            self.copy(&made);
        }
        (Change::AddCheckpoint(made), fits)
    }

    /// Counts the entities that a backtrack from `now` to `then` moves.
    pub(super) fn preview(now: &SessionView, then: &SessionView) -> BacktrackPreview {
        let moved = |from: &SessionView, into: &SessionView| {
            let stays: BTreeSet<_> = into.ids().concat().into_iter().collect();
            let [thoughts, branches, _, _, nodes, _] = from
                .ids()
                .map(|ids| ids.iter().filter(|id| !stays.contains(*id)).count() as u64);
            let is_pruned = |id: &NodeId| into.nodes.iter().any(|it| it.id == *id && it.pruned);
            let pruned = from
                .nodes
                .iter()
                .filter(|it| !it.pruned && is_pruned(&it.id));
            EntityCounts {
                thoughts,
                branches,
                nodes: nodes + pruned.count() as u64,
            }
        };
        BacktrackPreview {
            set_aside: moved(now, then),
            restored: moved(then, now),
        }
    }

    /// Checks the latest graph at a checkpoint against a copy of the session there.
    pub(super) async fn check_graph_at(to: &CheckpointId, then: &SessionView, store: &dyn Store) {
        let found = store.graph_at_checkpoint(to).await.unwrap();
        let Some((graph, mut nodes)) = found else {
            assert_eq!(then.graphs, []);
            return;
        };
        assert_eq!(Some(&graph), then.graphs.last());
        nodes.sort_by(|one, other| one.id.as_str().cmp(other.id.as_str()));
        let expected = then.nodes.iter().filter(|it| it.graph_id == graph.id);
        assert_eq!(
            nodes.iter().collect::<Vec<_>>(),
            expected.collect::<Vec<_>>()
        );
    }

    pub(super) async fn check(&self, store: &dyn Store) {
        let session = store.session(&self.session).await.unwrap().unwrap();
        assert_eq!(session.updated_at, self.time);
        assert_eq!(load_view(store, &self.session, Current).await, self.now);
        let all = load_view(store, &self.session, All).await;
        assert_eq!(all.ids(), self.ever.ids());
        let current: BTreeSet<_> = self.now.ids().concat().into_iter().collect();
        let [thoughts, branches, _, graphs, nodes, _] = self.ever.ids();
        let aside: Vec<_> = [thoughts, branches, graphs, nodes]
            .concat()
            .into_iter()
            .filter(|id| !current.contains(id))
            .collect();
        assert_eq!(all.set_aside_ids(), aside);
        let places = store.checkpoints(&self.session, ALL).await.unwrap();
        let places: Vec<_> = places.iter().map(|it| &it.id).collect();
        let made: Vec<_> = self.checkpoints.iter().rev().map(|(id, _)| id).collect();
        assert_eq!(places, made);
        self.check_thoughts(store).await;
    }

    /// Checks the reads that return only some of the thoughts.
    async fn check_thoughts(&self, store: &dyn Store) {
        let given = self.now.thoughts.iter().find(|it| it.input.is_some());
        let opening = store.first_prompt(&self.session).await.unwrap();
        assert_eq!(opening.as_ref(), given);
        for branch in &self.ever.branches {
            for (which, seen) in [(Current, &self.now), (All, &self.ever)] {
                let on_it = |it: &&Thought| it.branch_id.as_ref() == Some(&branch.id);
                let wanted: Vec<_> = seen
                    .thoughts
                    .iter()
                    .filter(on_it)
                    .map(|it| &it.id)
                    .collect();
                let listed = store.branch_thoughts(&branch.id, which, ALL).await.unwrap();
                let listed: Vec<_> = listed.iter().map(|it| &it.id).collect();
                assert_eq!(listed, wanted);
            }
        }
        let parents: HashMap<_, _> = self
            .ever
            .thoughts
            .iter()
            .map(|it| (&it.id, it.parent_id.as_ref()))
            .collect();
        for mut wanted in parents.keys().copied() {
            let start = store.root_thought(wanted).await.unwrap().unwrap();
            while let Some(parent) = parents[wanted] {
                wanted = parent;
            }
            assert_eq!(start.id, *wanted);
        }
    }
}
