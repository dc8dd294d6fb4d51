//! A session's history, at random, against a model in which a checkpoint is a copy of everything.

use std::{cell::Cell, collections::BTreeSet};

use deliberate_core::{
    Branch, BranchState, Change, Checkpoint, CheckpointId, GraphNode, NodeId, NodeKind, SessionId,
    Thought,
};
use deliberate_store::{Moved, Store, WayBack};
use proptest::{
    collection::vec,
    prelude::*,
    sample::Index,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::{
    All, Current, Fixture,
    seen::{Seen, look},
};
use crate::samples::{
    at, branch, checkpoint, cross_ref, edge, graph, node, score, session, thought,
};

/// One step of a history. What it is about is chosen from what is there.
#[derive(Debug, Clone)]
enum Step {
    Think(Option<Index>, Option<Index>),
    OpenBranch(Option<Index>, Values),
    ChangeBranch(Index, Values),
    Follow(Option<Index>),
    Refer(Index, Index),
    BeginGraph,
    AddNode(Index, Values),
    ChangeNode(Index, Values),
    Prune(Vec<Index>),
    Connect(Index, Index),
    Checkpoint,
    Backtrack(Index),
}

/// What can change in a branch or a node.
#[derive(Debug, Clone)]
struct Values {
    text: String,
    score: f64,
    number: i64,
    flag: bool,
    metadata: Option<Value>,
}

fn values() -> impl Strategy<Value = Values> {
    let text = vec(any::<char>(), 0..6).prop_map(String::from_iter);
    let metadata = proptest::option::of(any::<i64>().prop_map(|it| json!({ "a": [it, 0.1] })));
    let parts = (text, 0.0..=1.0, any::<i64>(), any::<bool>(), metadata);
    parts.prop_map(|(text, score, number, flag, metadata)| Values {
        text,
        score,
        number,
        flag,
        metadata,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let one = || any::<Index>();
    let maybe = || proptest::option::of(one());
    prop_oneof![
        4 => (maybe(), maybe()).prop_map(|(parent, branch)| Step::Think(parent, branch)),
        2 => (maybe(), values()).prop_map(|(parent, values)| Step::OpenBranch(parent, values)),
        4 => (one(), values()).prop_map(|(which, values)| Step::ChangeBranch(which, values)),
        1 => maybe().prop_map(Step::Follow),
        1 => (one(), one()).prop_map(|(from, to)| Step::Refer(from, to)),
        1 => Just(Step::BeginGraph),
        3 => (one(), values()).prop_map(|(graph, values)| Step::AddNode(graph, values)),
        4 => (one(), values()).prop_map(|(which, values)| Step::ChangeNode(which, values)),
        2 => vec(one(), 1..4).prop_map(Step::Prune),
        1 => (one(), one()).prop_map(|(from, to)| Step::Connect(from, to)),
        4 => Just(Step::Checkpoint),
        4 => one().prop_map(Step::Backtrack),
    ]
}

impl Values {
    fn branch(&self, it: Branch) -> Branch {
        Branch {
            name: self.flag.then(|| self.text.clone()),
            state: [BranchState::Active, BranchState::Abandoned][usize::from(self.flag)],
            confidence: score(self.score),
            priority: self.number,
            updated_at: at(self.number >> 32),
            metadata: self.metadata.clone(),
            ..it
        }
    }

    fn node(&self, it: GraphNode) -> GraphNode {
        GraphNode {
            content: self.text.clone(),
            node_type: [NodeKind::Thought, NodeKind::Terminal][usize::from(self.flag)],
            score: self.flag.then(|| score(self.score)),
            depth: self.number,
            is_active: self.flag,
            is_terminal: self.number > 0,
            pruned: false,
            metadata: self.metadata.clone(),
            ..it
        }
    }
}

/// The session as it should be.
struct Model {
    session: SessionId,
    now: Seen,
    /// All that ever was, by id.
    ever: Seen,
    checkpoints: Vec<(CheckpointId, Seen)>,
    made: usize,
}

/// One of them, if there is one.
fn pick<T>(index: Index, from: &[T]) -> Option<&T> {
    (!from.is_empty()).then(|| index.get(from))
}

impl Model {
    fn of(session: SessionId) -> Self {
        Self {
            session,
            now: Seen::default(),
            ever: Seen::default(),
            checkpoints: Vec::new(),
            made: 0,
        }
    }

    /// Ids sort as the things they name were made.
    fn name(&mut self, kind: &str) -> String {
        self.made += 1;
        format!("{}-{kind}{:04}", self.session, self.made)
    }

    fn checkpoint(&mut self) -> Checkpoint {
        let id = self.name("c");
        self.checkpoints
            .push((id.as_str().into(), self.now.clone()));
        Checkpoint {
            branch_id: self.now.active.clone(),
            ..checkpoint(&id, self.session.as_str())
        }
    }

    /// Makes the step in the model and gives it as a change; `None` if it is about nothing.
    fn take(&mut self, step: &Step) -> Option<Change> {
        let session = self.session.to_string();
        Some(match step {
            Step::Think(parent, on) => {
                let parent = parent.and_then(|it| pick(it, &self.now.thoughts).cloned());
                let on = on.and_then(|it| pick(it, &self.now.branches).cloned());
                let thought = Thought {
                    parent_id: parent.map(|it| it.id),
                    branch_id: on.map(|it| it.id),
                    ..thought(&self.name("t"), &session)
                };
                self.now.thoughts.push(thought.clone());
                self.ever.thoughts.push(thought.clone());
                Change::AddThought(thought)
            }
            Step::OpenBranch(parent, values) => {
                let parent = parent.and_then(|it| pick(it, &self.now.branches).cloned());
                let opened = values.branch(Branch {
                    parent_id: parent.map(|it| it.id),
                    ..branch(&self.name("b"), &session)
                });
                self.now.branches.push(opened.clone());
                self.ever.branches.push(opened.clone());
                Change::AddBranch(opened)
            }
            // What is set aside may be changed too: that must not show when it is brought back.
            Step::ChangeBranch(which, values) => {
                let changed = values.branch(pick(*which, &self.ever.branches)?.clone());
                let mut current = self.now.branches.iter_mut();
                if let Some(current) = current.find(|it| it.id == changed.id) {
                    *current = changed.clone();
                }
                Change::UpdateBranch(changed)
            }
            Step::Follow(which) => {
                let which = which.and_then(|it| pick(it, &self.now.branches).cloned());
                self.now.active = which.map(|it| it.id);
                Change::FollowBranch {
                    session_id: self.session.clone(),
                    branch_id: self.now.active.clone(),
                    at: at(0),
                }
            }
            Step::Refer(from, to) => {
                let from = pick(*from, &self.now.branches)?.id.to_string();
                let to = pick(*to, &self.now.branches)?.id.to_string();
                let reference = cross_ref(&self.name("r"), &from, &to);
                self.now.cross_refs.push(reference.clone());
                self.ever.cross_refs.push(reference.clone());
                Change::AddCrossRef(reference)
            }
            Step::BeginGraph => {
                let graph = graph(&self.name("g"), &session);
                self.now.graphs.push(graph.clone());
                self.ever.graphs.push(graph.clone());
                Change::AddGraph(graph)
            }
            Step::AddNode(graph, values) => {
                let graph = pick(*graph, &self.now.graphs)?.id.to_string();
                let node = values.node(node(&self.name("n"), &graph, &session));
                self.now.nodes.push(node.clone());
                self.ever.nodes.push(node.clone());
                Change::AddNode(node)
            }
            Step::ChangeNode(which, values) => {
                let changed = values.node(pick(*which, &self.ever.nodes)?.clone());
                let mut current = self.now.nodes.iter_mut();
                if let Some(current) = current.find(|it| it.id == changed.id) {
                    *current = changed.clone();
                }
                Change::UpdateNode(changed)
            }
            Step::Prune(which) => {
                let graph = pick(*which.first()?, &self.ever.nodes)?.graph_id.clone();
                let nodes: Vec<NodeId> = which
                    .iter()
                    .filter_map(|it| pick(*it, &self.ever.nodes))
                    .filter(|it| it.graph_id == graph)
                    .map(|it| it.id.clone())
                    .collect();
                let current = self.now.nodes.iter_mut();
                for node in current.filter(|it| nodes.contains(&it.id)) {
                    node.pruned = true;
                    node.is_active = false;
                }
                Change::PruneNodes {
                    graph_id: graph,
                    nodes,
                }
            }
            Step::Connect(from, to) => {
                let from = pick(*from, &self.now.nodes)?.clone();
                let to = pick(*to, &self.now.nodes)?.id.to_string();
                let graph = from.graph_id.to_string();
                let edge = edge(&self.name("e"), &graph, from.id.as_str(), &to);
                self.now.edges.push(edge.clone());
                self.ever.edges.push(edge.clone());
                Change::AddEdge(edge)
            }
            Step::Checkpoint => Change::AddCheckpoint(self.checkpoint()),
            Step::Backtrack(to) => {
                let (to, then) = pick(*to, &self.checkpoints)?.clone();
                let left = self.checkpoint();
                self.now = then;
                Change::Backtrack {
                    session_id: self.session.clone(),
                    to,
                    left,
                }
            }
        })
    }

    /// What going from `now` to `then` moves.
    fn way(now: &Seen, then: &Seen) -> WayBack {
        let moved = |from: &Seen, into: &Seen| {
            let stays: BTreeSet<_> = into.ids().concat().into_iter().collect();
            let [thoughts, branches, _, _, nodes, _] = from
                .ids()
                .map(|ids| ids.iter().filter(|id| !stays.contains(*id)).count() as u64);
            Moved {
                thoughts,
                branches,
                nodes,
            }
        };
        WayBack {
            set_aside: moved(now, then),
            brought_back: moved(then, now),
        }
    }

    async fn check(&self, store: &dyn Store) {
        assert_eq!(look(store, &self.session, Current).await, self.now);
        let all = look(store, &self.session, All).await;
        assert_eq!(all.ids(), self.ever.ids());
        let current: BTreeSet<_> = self.now.ids().concat().into_iter().collect();
        let [thoughts, branches, _, graphs, nodes, _] = self.ever.ids();
        let aside: Vec<_> = [thoughts, branches, graphs, nodes]
            .concat()
            .into_iter()
            .filter(|id| !current.contains(id))
            .collect();
        assert_eq!(all.aside(), aside);
    }
}

/// Lives through a history, in a session of its own.
async fn live(store: &dyn Store, name: &str, steps: &[Step]) {
    let begin = Change::AddSession(session(name));
    store.commit(vec![begin]).await.unwrap();
    let mut model = Model::of(name.into());
    for step in steps {
        let before = model.now.clone();
        let Some(change) = model.take(step) else {
            continue;
        };
        let returns = if let Change::Backtrack { to, .. } = &change {
            let way = store.way_back(to).await.unwrap();
            assert_eq!(way, Some(Model::way(&before, &model.now)));
            true
        } else {
            false
        };
        store.commit(vec![change]).await.unwrap();
        if returns {
            model.check(store).await;
        }
    }
    model.check(store).await;
}

/// All histories share the store, so none may touch another's session.
pub(crate) async fn any_history_is_as_if_checkpoints_were_copies(it: Fixture) {
    let config = Config {
        cases: 96,
        failure_persistence: None,
        ..Config::default()
    };
    let number = Cell::new(0);
    let outcome = tokio::task::block_in_place(|| {
        TestRunner::new(config).run(&vec(step(), 1..60), |steps| {
            number.set(number.get() + 1);
            let name = format!("s{}", number.get());
            Handle::current().block_on(live(&*it.store, &name, &steps));
            Ok(())
        })
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
