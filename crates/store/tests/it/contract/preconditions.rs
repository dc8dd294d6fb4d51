//! Preconditions of a commit: it builds on nothing that is set aside, and on what it requires.

use deliberate_core::{Branch, BranchState, Change, GraphNode, NodeUpdate, Precondition, Thought};

use super::{
    All, Current, Fixture, assert_conflict, commit,
    epochs::{base_changes, later_changes},
    prune,
    session_view::{backtrack_to, follow_branch, load_view},
    set_state, update_node,
};
use crate::samples::{branch, checkpoint, cross_ref, edge, node, session, thought};

/// Changes that build on the [`later_changes`].
fn dependent_changes() -> Vec<Change> {
    vec![
        Change::AddThought(Thought {
            parent_id: Some("t2".into()),
            ..thought("on-thought", "s")
        }),
        Change::AddThought(Thought {
            parent_id: Some("t1".into()),
            branch_id: Some("b3".into()),
            ..thought("on-branch", "s")
        }),
        Change::AddBranch(Branch {
            parent_id: Some("b3".into()),
            ..branch("from-branch", "s")
        }),
        Change::AddCrossRef(cross_ref("from", "b3", "b1")),
        Change::AddCrossRef(cross_ref("to", "b1", "b3")),
        Change::AddNode(node("in-graph", "g2", "s")),
        Change::AddEdge(edge("from-node", "g1", "n3", "n1")),
        Change::AddEdge(edge("to-node", "g1", "n1", "n3")),
        follow_branch("b3"),
    ]
}

pub(crate) async fn nothing_is_built_on_what_was_set_aside(it: Fixture) {
    let (store, s) = (&*it.store, "s".into());
    commit(store, base_changes()).await;
    commit(store, later_changes()).await;
    commit(store, vec![backtrack_to("c", "left", Some("b3"))]).await;
    let (now, history) = (
        load_view(store, &s, Current).await,
        load_view(store, &s, All).await,
    );
    for change in dependent_changes() {
        assert_conflict(store, change).await;
    }
    assert_eq!(load_view(store, &s, Current).await, now);
    assert_eq!(load_view(store, &s, All).await, history);
    // They are valid once that data is restored.
    commit(store, vec![backtrack_to("left", "again", Some("b1"))]).await;
    for change in dependent_changes() {
        commit(store, vec![change]).await;
    }
}

pub(crate) async fn what_is_there_is_not_taken_for_what_was_refused(it: Fixture) {
    let store = &*it.store;
    commit(store, base_changes()).await;
    commit(store, later_changes()).await;
    commit(store, vec![backtrack_to("c", "left", Some("b3"))]).await;
    for change in [
        Change::AddThought(Thought {
            parent_id: Some("t2".into()),
            ..thought("t1", "s")
        }),
        Change::AddNode(GraphNode {
            content: "another".to_owned(),
            ..node("n1", "g2", "s")
        }),
    ] {
        assert_conflict(store, change).await;
    }
}

/// Commits a thought with a precondition and returns whether the commit was accepted.
async fn precondition_holds(fixture: &Fixture, requirement: Precondition) -> bool {
    let outcome = fixture
        .store
        .commit(vec![
            Change::AddSession(session("try")),
            Change::Check(requirement),
        ])
        .await;
    if outcome.is_ok() {
        commit(&*fixture.store, vec![Change::DeleteSession("try".into())]).await;
        return true;
    }
    assert_eq!(outcome.unwrap_err().code(), "Conflict");
    let left = fixture.store.session(&"try".into()).await.unwrap();
    assert_eq!(left, None, "what came before it in the commit is gone too");
    false
}

pub(crate) async fn a_branch_can_be_required_to_be_open(it: Fixture) {
    let open = async |id: &str| precondition_holds(&it, Precondition::OpenBranch(id.into())).await;
    let store = &*it.store;
    commit(store, base_changes()).await;
    assert!(open("b1").await);
    assert!(!open("b2").await, "it was abandoned");
    assert!(!open("missing").await);
    commit(store, vec![Change::AddBranch(branch("b4", "s"))]).await;
    assert!(open("b4").await);
    commit(store, vec![set_state("b1", BranchState::Completed)]).await;
    assert!(!open("b1").await);
    commit(store, vec![backtrack_to("c", "left", Some("b1"))]).await;
    assert!(open("b1").await, "it is open again");
    assert!(!open("b4").await, "it was set aside");
}

pub(crate) async fn a_node_can_be_required_to_be_usable(it: Fixture) {
    let usable =
        async |id: &str| precondition_holds(&it, Precondition::UsableNode(id.into())).await;
    let store = &*it.store;
    commit(store, base_changes()).await;
    assert!(usable("n1").await && usable("n2").await);
    assert!(!usable("missing").await);
    commit(store, later_changes()).await;
    assert!(!usable("n2").await, "it was pruned");
    assert!(usable("n3").await);
    commit(store, vec![backtrack_to("c", "left", Some("b3"))]).await;
    assert!(usable("n2").await, "it is no longer pruned");
    assert!(!usable("n3").await, "it was set aside");
}

pub(crate) async fn a_node_can_be_required_to_be_no_conclusion(it: Fixture) {
    let open = async |id: &str| precondition_holds(&it, Precondition::OpenNode(id.into())).await;
    let store = &*it.store;
    commit(store, base_changes()).await;
    assert!(open("n1").await && open("n2").await);
    assert!(!open("missing").await);
    let rest = NodeUpdate {
        is_active: Some(false),
        ..NodeUpdate::default()
    };
    commit(store, vec![update_node("n1", rest)]).await;
    assert!(open("n1").await, "one that rests can still be concluded");
    commit(store, later_changes()).await;
    assert!(!open("n1").await, "it was made a conclusion");
    assert!(!open("n2").await, "it was pruned");
    assert!(open("n3").await);
    commit(store, vec![backtrack_to("c", "left", Some("b3"))]).await;
    assert!(open("n1").await, "it is no conclusion any more");
    assert!(open("n2").await, "it is no longer pruned");
    assert!(!open("n3").await, "it was set aside");
}

pub(crate) async fn a_name_can_be_required_to_be_free(it: Fixture) {
    let free = async |session: &str, name: &str| {
        let name = name.to_owned();
        let session_id = session.into();
        precondition_holds(&it, Precondition::FreeName { session_id, name }).await
    };
    let store = &*it.store;
    commit(store, base_changes()).await;
    let taken = checkpoint("c", "s").name;
    assert!(!free("s", &taken).await);
    assert!(free("s", "another").await && free("s", &taken.to_uppercase()).await);
    assert!(free("missing", &taken).await, "names are a session's own");
    commit(store, vec![backtrack_to("c", "left", Some("b1"))]).await;
    assert!(!free("s", &taken).await, "no checkpoint is ever set aside");
}

pub(crate) async fn a_graph_can_be_required_not_to_have_grown(it: Fixture) {
    let at_most = async |most: u32| {
        let graph_id = "g1".into();
        precondition_holds(&it, Precondition::NodesAtMost { graph_id, most }).await
    };
    let store = &*it.store;
    commit(store, base_changes()).await;
    assert!(at_most(2).await && at_most(u32::MAX).await);
    assert!(!at_most(1).await && !at_most(0).await);
    commit(
        store,
        vec![
            Change::AddNode(node("n3", "g1", "s")),
            Change::AddNode(node("n4", "g1", "s")),
        ],
    )
    .await;
    assert!(at_most(4).await && !at_most(3).await);
    commit(store, vec![prune("g1", &["n1", "n3"])]).await;
    assert!(at_most(2).await && !at_most(1).await, "two are pruned");
    commit(store, vec![backtrack_to("c", "left", Some("b1"))]).await;
    assert!(at_most(2).await && !at_most(1).await, "two are set aside");
}

/// A precondition is checked at its position: earlier changes of the commit count.
pub(crate) async fn a_requirement_sees_the_changes_before_it(it: Fixture) {
    let store = &*it.store;
    commit(store, base_changes()).await;
    let limit = || {
        Change::Check(Precondition::NodesAtMost {
            graph_id: "g1".into(),
            most: 2,
        })
    };
    let grow = || Change::AddNode(node("n3", "g1", "s"));
    assert!(store.commit(vec![grow(), limit()]).await.is_err());
    commit(store, vec![limit(), grow()]).await;
}
