//! Updates of nodes and branches. Other calls may change the same entity while a model answers, so
//! an update names only the parts that it changes.

use deliberate_core::{Branch, BranchState, Change, GraphNode, NodeUpdate};
use deliberate_store::Store;
use futures::future::join_all;
use serde_json::json;

use super::{
    ALL, All, Current, Fixture, assert_conflict, branches, commit,
    epochs::{base_changes, later_changes},
    prune,
    session_view::{backtrack_to, load_view},
    set_state, update_node,
};
use crate::samples::{
    at_second, branch, full_branch, full_node, graph, node, odd_json, score, session,
};

async fn load_node(store: &dyn Store, id: &str) -> GraphNode {
    store.node(&id.into()).await.unwrap().unwrap()
}

/// Adds session `s` with graph `g` and these nodes.
async fn with_nodes(store: &dyn Store, nodes: &[GraphNode]) {
    let mut changes = vec![
        Change::AddSession(session("s")),
        Change::AddGraph(graph("g", "s")),
    ];
    changes.extend(nodes.iter().cloned().map(Change::AddNode));
    commit(store, changes).await;
}

pub(crate) async fn a_mark_changes_its_part_and_no_other(it: Fixture) {
    let bare = node("bare", "g", "s");
    let whole = GraphNode {
        pruned: false,
        ..full_node("whole", "g", "s")
    };
    with_nodes(&*it.store, &[bare.clone(), whole.clone()]).await;
    for mut wanted in [bare, whole] {
        for marks in [
            NodeUpdate {
                score: Some(score(0.1 + 0.2)),
                ..NodeUpdate::default()
            },
            NodeUpdate {
                is_active: Some(!wanted.is_active),
                ..NodeUpdate::default()
            },
            NodeUpdate {
                is_terminal: Some(!wanted.is_terminal),
                ..NodeUpdate::default()
            },
            NodeUpdate {
                is_active: Some(wanted.is_active),
                is_terminal: Some(wanted.is_terminal),
                ..NodeUpdate::default()
            },
            NodeUpdate {
                score: Some(score(0.0)),
                ..NodeUpdate::default()
            },
            NodeUpdate::default(),
        ] {
            wanted.score = marks.score.or(wanted.score);
            wanted.is_active = marks.is_active.unwrap_or(wanted.is_active);
            wanted.is_terminal = marks.is_terminal.unwrap_or(wanted.is_terminal);
            commit(
                &*it.store,
                vec![update_node(wanted.id.as_str(), marks.clone())],
            )
            .await;
            let node = load_node(&*it.store, wanted.id.as_str()).await;
            assert_eq!(node, wanted, "{marks:?}");
        }
    }
    let all = it.store.nodes(&"g".into(), Current, ALL).await.unwrap();
    assert_eq!(all.len(), 2);
}

/// The updates of a score, a refinement and a conclusion, each of one part.
fn three_updates() -> [NodeUpdate; 3] {
    let scored = NodeUpdate {
        score: Some(score(1.0 / 3.0)),
        notes: Some(json!({ "score_parts": { "depth": 0.1 } })),
        ..NodeUpdate::default()
    };
    let rests = NodeUpdate {
        is_active: Some(false),
        notes: Some(json!({ "critique": "too short" })),
        ..NodeUpdate::default()
    };
    let concluded = NodeUpdate {
        is_terminal: Some(true),
        ..NodeUpdate::default()
    };
    [scored, rests, concluded]
}

/// Returns the node `id` before and after the three updates.
fn before_and_after(id: &str) -> [GraphNode; 2] {
    let before = GraphNode {
        metadata: Some(odd_json()),
        ..node(id, "g", "s")
    };
    let mut metadata = odd_json();
    metadata["score_parts"] = json!({ "depth": 0.1 });
    metadata["critique"] = json!("too short");
    let after = GraphNode {
        score: Some(score(1.0 / 3.0)),
        is_active: false,
        is_terminal: true,
        metadata: Some(metadata),
        ..before.clone()
    };
    [before, after]
}

pub(crate) async fn marks_of_different_parts_hold_in_any_order(it: Fixture) {
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    let names: Vec<_> = orders.iter().map(|order| format!("{order:?}")).collect();
    let nodes: Vec<_> = names.iter().map(|id| before_and_after(id)).collect();
    let before: Vec<_> = nodes.iter().map(|[before, _]| before.clone()).collect();
    with_nodes(&*it.store, &before).await;
    for (order, [before, after]) in orders.into_iter().zip(&nodes) {
        let id = before.id.as_str();
        assert_eq!(load_node(&*it.store, id).await, *before, "all saw this");
        for which in order {
            let marks = three_updates()[which].clone();
            commit(&*it.store, vec![update_node(id, marks)]).await;
        }
        assert_eq!(load_node(&*it.store, id).await, *after);
    }
    // The result in one commit is the same.
    let [before, after] = before_and_after("together");
    let mut changes = vec![Change::AddNode(before)];
    changes.extend(three_updates().map(|marks| update_node("together", marks)));
    commit(&*it.store, changes).await;
    assert_eq!(load_node(&*it.store, "together").await, after);
}

pub(crate) async fn marks_of_different_parts_made_at_once_all_hold(it: Fixture) {
    let names: Vec<_> = (0..20).map(|number| format!("n{number}")).collect();
    let nodes: Vec<_> = names.iter().map(|id| before_and_after(id)).collect();
    let before: Vec<_> = nodes.iter().map(|[before, _]| before.clone()).collect();
    with_nodes(&*it.store, &before).await;
    let other = (it.reopen)();
    let marks = names.iter().enumerate().flat_map(|(number, id)| {
        let (one, two) = (&it.store, &other);
        three_updates().map(|marks| {
            let store = if number % 2 == 0 { one } else { two };
            store.commit(vec![update_node(id, marks)])
        })
    });
    for outcome in join_all(marks).await {
        outcome.unwrap();
    }
    for [_, after] in nodes {
        assert_eq!(load_node(&*it.store, after.id.as_str()).await, after);
    }
}

pub(crate) async fn a_pruned_or_set_aside_node_can_not_be_marked(it: Fixture) {
    let (store, s) = (&*it.store, "s".into());
    commit(store, base_changes()).await;
    commit(store, later_changes()).await;
    assert_updates_rejected(&it, "n2").await;
    commit(store, vec![backtrack_to("c", "left", Some("b3"))]).await;
    for id in ["n3", "m1"] {
        assert_updates_rejected(&it, id).await;
    }
    // The update is valid once the node is restored; the rejected one left no trace.
    commit(store, vec![backtrack_to("left", "again", Some("b1"))]).await;
    assert_eq!(load_node(store, "n3").await, node("n3", "g1", "s"));
    for marks in three_updates() {
        commit(store, vec![update_node("n3", marks)]).await;
    }
    assert_eq!(load_view(store, &s, All).await.set_aside_ids(), [""; 0]);
}

/// Asserts that each update is rejected and changes nothing.
async fn assert_updates_rejected(fixture: &Fixture, id: &str) {
    let (store, s) = (&*fixture.store, "s".into());
    let seen = async || {
        let session = store.session(&s).await.unwrap();
        (load_view(store, &s, All).await, session)
    };
    let unchanged = seen().await;
    let mut marks = three_updates().to_vec();
    marks.push(NodeUpdate::default());
    for marks in marks {
        let change = Change::UpdateNode {
            id: id.into(),
            marks,
            at: at_second(1_000),
        };
        assert_conflict(store, change).await;
        assert_eq!(seen().await, unchanged);
    }
}

pub(crate) async fn a_branch_takes_on_each_state_and_nothing_else(it: Fixture) {
    use BranchState::{Abandoned, Active, Completed};

    let opened = [
        branch("b", "s"),
        full_branch("whole", "s", "b"),
        branch("other", "s"),
    ];
    let mut changes = vec![Change::AddSession(session("s"))];
    changes.extend(opened.iter().cloned().map(Change::AddBranch));
    commit(&*it.store, changes).await;
    for state in [Completed, Abandoned, Abandoned, Active, Completed] {
        let changes = ["b", "whole"].map(|id| set_state(id, state));
        commit(&*it.store, changes.to_vec()).await;
        let [first, whole, other] = opened.clone();
        let became = |branch| Branch {
            state,
            updated_at: at_second(20),
            ..branch
        };
        assert_eq!(
            branches(&*it.store, &"s".into(), Current).await,
            [became(first), became(whole), other]
        );
    }
}

pub(crate) async fn a_branch_that_was_set_aside_keeps_its_state(it: Fixture) {
    let (store, s) = (&*it.store, "s".into());
    commit(store, base_changes()).await;
    commit(store, later_changes()).await;
    let there = store.branch(&"b3".into()).await.unwrap();
    commit(store, vec![backtrack_to("c", "left", Some("b3"))]).await;
    let (history, then) = (
        load_view(store, &s, All).await,
        store.session(&s).await.unwrap(),
    );
    for state in [BranchState::Active, BranchState::Completed] {
        let change = Change::SetBranchState {
            id: "b3".into(),
            state,
            at: at_second(1_000),
        };
        assert_conflict(store, change).await;
        assert_eq!(load_view(store, &s, All).await, history);
        assert_eq!(store.session(&s).await.unwrap(), then);
    }
    commit(store, vec![backtrack_to("left", "again", Some("b1"))]).await;
    assert_eq!(store.branch(&"b3".into()).await.unwrap(), there);
    commit(store, vec![set_state("b3", BranchState::Completed)]).await;
}

/// Only the current nodes are pruned.
pub(crate) async fn what_was_set_aside_is_not_pruned(it: Fixture) {
    let (store, s) = (&*it.store, "s".into());
    commit(store, base_changes()).await;
    commit(store, later_changes()).await;
    commit(store, vec![backtrack_to("c", "left", Some("b3"))]).await;
    let history = load_view(store, &s, All).await;
    assert_conflict(store, prune("g1", &["n3"])).await;
    assert_eq!(load_view(store, &s, All).await, history);
    commit(store, vec![prune("g1", &["n1", "n3"])]).await;
    let n1 = load_node(store, "n1").await;
    assert!(n1.pruned && !n1.is_active);
    assert!(!load_node(store, "n3").await.pruned);
    commit(store, vec![backtrack_to("left", "again", Some("b1"))]).await;
    assert_eq!(load_node(store, "n3").await, node("n3", "g1", "s"));
    assert!(!load_node(store, "n1").await.pruned);
}
