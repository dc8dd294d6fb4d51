//! Random steps of a history.

use deliberate_core::{Branch, BranchState, GraphNode, NodeKind, NodeUpdate};
use proptest::{collection::vec, option, prelude::*, sample::Index};
use serde_json::{Value, json};

use crate::samples::{at_second, score};

/// A step of a history. Its subject is chosen from the current entities or from all earlier ones.
#[derive(Debug, Clone)]
pub(super) enum HistoryStep {
    /// Parent thought, branch, and whether there is an input.
    Think(Option<Index>, Option<Index>, bool),
    OpenBranch(Option<Index>, EntityValues),
    /// The number is the second of the change, here and below.
    SetState(Index, BranchState, i64),
    Follow(Option<Index>),
    Refer(Index, Index),
    BeginGraph,
    AddNode(Index, EntityValues),
    UpdateNode(Index, NodeUpdate, i64),
    Prune(Vec<Index>, i64),
    Connect(Index, Index),
    /// The active branch or another one, and the latest thought.
    Checkpoint(Option<Index>, Option<Index>),
    Backtrack(Index),
}

/// The values of new branches and nodes.
#[derive(Debug, Clone)]
pub(super) struct EntityValues {
    text: String,
    score: f64,
    number: i64,
    flag: bool,
    metadata: Option<Value>,
}

fn values() -> impl Strategy<Value = EntityValues> {
    let text = vec(any::<char>(), 0..6).prop_map(String::from_iter);
    let metadata = option::of(prop_oneof![4 => fields(), 1 => value()]);
    let parts = (text, 0.0..=1.0, any::<i64>(), any::<bool>(), metadata);
    parts.prop_map(|(text, score, number, flag, metadata)| EntityValues {
        text,
        score,
        number,
        flag,
        metadata,
    })
}

/// A value that is not an object.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(|it| json!([it, 0.1])),
        (-1e9..1e9).prop_map(|it: f64| json!(it)),
        vec(any::<char>(), 0..4).prop_map(|it| json!(String::from_iter(it))),
        Just(json!(true)),
    ]
}

/// An object with few possible names, so that names coincide.
fn fields() -> impl Strategy<Value = Value> {
    let name = prop_oneof![Just("a"), Just("b"), Just("\"\\ точка"), Just("earlier")];
    let value = prop_oneof![4 => value(), 1 => Just(Value::Null)];
    vec((name, value), 0..4).prop_map(|fields| {
        let fields = fields.into_iter();
        fields
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    })
}

fn node_update() -> impl Strategy<Value = NodeUpdate> {
    let score = option::of((0.0..=1.0).prop_map(score));
    let flag = || option::of(any::<bool>());
    let parts = (score, flag(), flag(), option::of(fields()));
    parts.prop_map(|(score, is_active, is_terminal, notes)| NodeUpdate {
        score,
        is_active,
        is_terminal,
        notes,
    })
}

fn state() -> impl Strategy<Value = BranchState> {
    prop_oneof![
        Just(BranchState::Active),
        Just(BranchState::Completed),
        Just(BranchState::Abandoned),
    ]
}

pub(super) fn step() -> impl Strategy<Value = HistoryStep> {
    let one = || any::<Index>();
    let maybe = || option::of(one());
    let second = || 0..200_i64;
    prop_oneof![
        4 => (maybe(), maybe(), any::<bool>())
            .prop_map(|(parent, branch, given)| HistoryStep::Think(parent, branch, given)),
        2 => (maybe(), values()).prop_map(|(parent, values)| HistoryStep::OpenBranch(parent, values)),
        4 => (one(), state(), second())
            .prop_map(|(which, state, second)| HistoryStep::SetState(which, state, second)),
        1 => maybe().prop_map(HistoryStep::Follow),
        1 => (one(), one()).prop_map(|(from, to)| HistoryStep::Refer(from, to)),
        1 => Just(HistoryStep::BeginGraph),
        3 => (one(), values()).prop_map(|(graph, values)| HistoryStep::AddNode(graph, values)),
        6 => (one(), node_update(), second())
            .prop_map(|(which, marks, second)| HistoryStep::UpdateNode(which, marks, second)),
        2 => (vec(one(), 1..4), second()).prop_map(|(which, second)| HistoryStep::Prune(which, second)),
        1 => (one(), one()).prop_map(|(from, to)| HistoryStep::Connect(from, to)),
        4 => (option::weighted(0.3, one()), option::weighted(0.3, one()))
            .prop_map(|(branch, thought)| HistoryStep::Checkpoint(branch, thought)),
        4 => one().prop_map(HistoryStep::Backtrack),
    ]
}

impl EntityValues {
    pub(super) fn branch(&self, it: Branch) -> Branch {
        Branch {
            name: self.flag.then(|| self.text.clone()),
            state: [BranchState::Active, BranchState::Abandoned][usize::from(self.flag)],
            confidence: score(self.score),
            priority: self.number,
            updated_at: at_second(self.number.rem_euclid(200)),
            metadata: self.metadata.clone(),
            ..it
        }
    }

    pub(super) fn node(&self, it: GraphNode) -> GraphNode {
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
