//! Values that changed after a checkpoint are restored by returning to it.

use deliberate_core::{Branch, BranchState, Change, GraphNode, NodeKind, NodeUpdate};
use deliberate_store::{SearchEntity, SearchQuery};
use serde_json::json;

use super::{
    ALL, Current, Fixture, commit, prune,
    session_view::{backtrack_to, checkpoint_at, load_view},
    set_state, update_node,
};
use crate::samples::{ODD_TEXT, at_second, full_branch, full_node, graph, node, score, session};

pub(crate) async fn changed_values_return_exactly(it: Fixture) {
    let (store, s) = (&*it.store, "s".into());
    let scores = [
        0.1,
        0.1 + 0.2,
        1.0 / 3.0,
        f64::MIN_POSITIVE,
        5e-324,
        0.0,
        1.0,
        1.0 - f64::EPSILON,
        0.123_456_789_012_345_67,
    ];
    let mut changes = vec![
        Change::AddSession(session("s")),
        Change::AddGraph(graph("g", "s")),
    ];
    let states = [
        BranchState::Active,
        BranchState::Completed,
        BranchState::Abandoned,
    ];
    for (number, value) in scores.into_iter().enumerate() {
        changes.push(Change::AddBranch(Branch {
            name: Some(format!("nul \0 {ODD_TEXT}")),
            parent_id: None,
            state: states[number % 3],
            confidence: score(value),
            ..full_branch(&format!("b{number}"), "s", "")
        }));
        changes.push(Change::AddNode(GraphNode {
            content: format!("nul \0 {ODD_TEXT}"),
            score: Some(score(value)),
            pruned: false,
            ..full_node(&format!("n{number}"), "g", "s")
        }));
    }
    commit(store, changes).await;
    let whole = load_view(store, &s, Current).await;
    assert_eq!(whole.branches.len(), scores.len());

    commit(store, vec![checkpoint_at("c", None)]).await;
    let mut wanted = whole.clone();
    let mut changes = Vec::new();
    for (number, branch) in wanted.branches.iter_mut().enumerate() {
        branch.state = states[(number + 1) % 3];
        branch.updated_at = at_second(20);
        changes.push(set_state(branch.id.as_str(), branch.state));
    }
    for (node, value) in wanted.nodes.iter_mut().zip(scores.into_iter().rev()) {
        node.score = Some(score(value));
        (node.is_active, node.is_terminal) = (true, false);
        node.metadata.as_mut().unwrap()["note"] = json!([value, ODD_TEXT]);
        let marks = NodeUpdate {
            score: node.score,
            is_active: Some(true),
            is_terminal: Some(false),
            notes: Some(json!({ "note": [value, ODD_TEXT] })),
        };
        changes.push(update_node(node.id.as_str(), marks));
    }
    commit(store, changes).await;
    let changed = load_view(store, &s, Current).await;
    assert_eq!(changed, wanted);

    commit(store, vec![backtrack_to("c", "left", None)]).await;
    assert_eq!(load_view(store, &s, Current).await, whole);
    commit(store, vec![backtrack_to("left", "again", None)]).await;
    assert_eq!(load_view(store, &s, Current).await, changed);
}

pub(crate) async fn pruning_is_undone_and_done_again(it: Fixture) {
    let store = &*it.store;
    let nodes = [
        node("open", "g", "s"),
        GraphNode {
            node_type: NodeKind::Conclusion,
            is_active: false,
            ..node("closed", "g", "s")
        },
        node("kept", "g", "s"),
    ];
    let mut changes = vec![
        Change::AddSession(session("s")),
        Change::AddGraph(graph("g", "s")),
    ];
    changes.extend(nodes.iter().cloned().map(Change::AddNode));
    changes.push(checkpoint_at("c", None));
    changes.push(prune("g", &["open", "closed"]));
    commit(store, changes).await;
    let pruned = |node: &GraphNode| GraphNode {
        pruned: true,
        is_active: false,
        ..node.clone()
    };
    let after = [pruned(&nodes[0]), pruned(&nodes[1]), nodes[2].clone()];
    assert_eq!(store.nodes(&"g".into(), Current, ALL).await.unwrap(), after);
    commit(store, vec![backtrack_to("c", "left", None)]).await;
    assert_eq!(store.nodes(&"g".into(), Current, ALL).await.unwrap(), nodes);
    commit(store, vec![backtrack_to("left", "again", None)]).await;
    assert_eq!(store.nodes(&"g".into(), Current, ALL).await.unwrap(), after);
}

pub(crate) async fn pruning_nothing_is_no_problem(it: Fixture) {
    let empty = vec![
        Change::AddSession(session("s")),
        Change::AddGraph(graph("g1", "s")),
    ];
    commit(&*it.store, empty).await;
    commit(&*it.store, vec![prune("g1", &[])]).await;
}

pub(crate) async fn a_node_is_found_by_its_words_whatever_becomes_of_it(it: Fixture) {
    let store = &*it.store;
    let found = async |words: &str| {
        let search = SearchQuery {
            text: words.to_owned(),
            limit: 9,
            ..SearchQuery::default()
        };
        let found = store.search(&search).await.unwrap().hits;
        let scores = found.into_iter().map(|it| match it.entity {
            SearchEntity::Node(node) => node.score,
            SearchEntity::Thought(thought) => panic!("{thought:?}"),
        });
        scores.collect::<Vec<_>>()
    };
    let marks = NodeUpdate {
        score: Some(score(0.75)),
        notes: Some(json!({ "critique": "a heron" })),
        ..NodeUpdate::default()
    };
    commit(
        store,
        vec![
            Change::AddSession(session("s")),
            Change::AddGraph(graph("g", "s")),
            Change::AddNode(GraphNode {
                content: "a pelican".to_owned(),
                ..node("n", "g", "s")
            }),
            checkpoint_at("c", None),
        ],
    )
    .await;
    assert_eq!(found("pelican").await, [None]);
    commit(store, vec![update_node("n", marks), prune("g", &["n"])]).await;
    assert_eq!(found("pelican").await, [Some(score(0.75))]);
    assert_eq!(found("heron").await, [], "notes are not searched");
    commit(store, vec![backtrack_to("c", "left", None)]).await;
    assert_eq!(found("pelican").await, [None]);
    commit(store, vec![backtrack_to("left", "again", None)]).await;
    assert_eq!(found("pelican").await, [Some(score(0.75))]);
}
