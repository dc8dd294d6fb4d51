//! Values that were changed after a checkpoint, and are as they were after the return to it.

use deliberate_core::{Branch, Change, GraphNode, NodeId, NodeKind};
use deliberate_store::Search;

use super::{
    ALL, Current, Fixture, commit,
    seen::{back, look, place},
};
use crate::samples::{ODD_TEXT, branch, full_branch, full_node, graph, node, score, session};

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
    let (mut plain_branches, mut plain_nodes) = (Vec::new(), Vec::new());
    for (number, value) in scores.into_iter().enumerate() {
        changes.push(Change::AddBranch(Branch {
            name: Some(format!("nul \0 {ODD_TEXT}")),
            parent_id: None,
            confidence: score(value),
            ..full_branch(&format!("b{number}"), "s", "")
        }));
        changes.push(Change::AddNode(GraphNode {
            content: format!("nul \0 {ODD_TEXT}"),
            score: Some(score(value)),
            ..full_node(&format!("n{number}"), "g", "s")
        }));
        plain_branches.push(branch(&format!("b{number}"), "s"));
        plain_nodes.push(node(&format!("n{number}"), "g", "s"));
    }
    commit(store, changes).await;
    let whole = look(store, &s, Current).await;
    assert_eq!(whole.branches.len(), scores.len());

    commit(store, vec![place("c", None)]).await;
    let mut changes: Vec<_> = plain_branches
        .iter()
        .cloned()
        .map(Change::UpdateBranch)
        .collect();
    changes.extend(plain_nodes.iter().cloned().map(Change::UpdateNode));
    commit(store, changes).await;
    let plain = look(store, &s, Current).await;
    assert_eq!(
        (&plain.branches, &plain.nodes),
        (&plain_branches, &plain_nodes)
    );

    commit(store, vec![back("c", "left", None)]).await;
    assert_eq!(look(store, &s, Current).await, whole);
    commit(store, vec![back("left", "again", None)]).await;
    assert_eq!(look(store, &s, Current).await, plain);
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
    changes.push(place("c", None));
    changes.push(Change::PruneNodes {
        graph_id: "g".into(),
        nodes: ["open", "closed"].map(NodeId::from).to_vec(),
    });
    commit(store, changes).await;
    let pruned = |node: &GraphNode| GraphNode {
        pruned: true,
        is_active: false,
        ..node.clone()
    };
    let after = [pruned(&nodes[0]), pruned(&nodes[1]), nodes[2].clone()];
    assert_eq!(store.nodes(&"g".into(), Current, ALL).await.unwrap(), after);
    commit(store, vec![back("c", "left", None)]).await;
    assert_eq!(store.nodes(&"g".into(), Current, ALL).await.unwrap(), nodes);
    commit(store, vec![back("left", "again", None)]).await;
    assert_eq!(store.nodes(&"g".into(), Current, ALL).await.unwrap(), after);
}

pub(crate) async fn pruning_nothing_is_no_problem(it: Fixture) {
    let empty = vec![
        Change::AddSession(session("s")),
        Change::AddGraph(graph("g1", "s")),
    ];
    commit(&*it.store, empty).await;
    let nothing = Change::PruneNodes {
        graph_id: "g1".into(),
        nodes: Vec::new(),
    };
    commit(&*it.store, vec![nothing]).await;
}

pub(crate) async fn a_node_is_found_by_the_words_it_has_now(it: Fixture) {
    let store = &*it.store;
    let saying = |content: &str| GraphNode {
        content: content.to_owned(),
        ..node("n", "g", "s")
    };
    let found = async |words: &str| {
        let words = words.to_owned();
        let search = Search {
            words,
            limit: 9,
            ..Search::default()
        };
        store.search(&search).await.unwrap().len()
    };
    commit(
        store,
        vec![
            Change::AddSession(session("s")),
            Change::AddGraph(graph("g", "s")),
            Change::AddNode(saying("a pelican")),
            place("c", None),
            Change::UpdateNode(saying("a heron")),
        ],
    )
    .await;
    assert_eq!((found("pelican").await, found("heron").await), (0, 1));
    commit(store, vec![back("c", "left", None)]).await;
    assert_eq!((found("pelican").await, found("heron").await), (1, 0));
    commit(store, vec![back("left", "again", None)]).await;
    assert_eq!((found("pelican").await, found("heron").await), (0, 1));
}
