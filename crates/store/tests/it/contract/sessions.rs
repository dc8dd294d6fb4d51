//! Changes of a session itself: its title, its thread, its time and its active branch.

use deliberate_core::{BranchState, Change, Graph, NodeUpdate, Session, Timestamp};
use serde_json::json;

use super::{Fixture, assert_conflict, commit, prune};
use crate::samples::{
    ODD_TEXT, at_second, branch, checkpoint, full_session, graph, node, odd_json, session, thought,
};

pub(crate) async fn a_session_is_renamed(it: Fixture) {
    let named = |title: &str, moment| Change::RenameSession {
        session_id: "s".into(),
        title: title.to_owned(),
        at: moment,
    };
    commit(&*it.store, vec![Change::AddSession(full_session("s"))]).await;
    for (title, second) in [("first", 50), (ODD_TEXT, 60), ("", 70)] {
        commit(&*it.store, vec![named(title, at_second(second))]).await;
        let renamed = Session {
            title: Some(title.to_owned()),
            updated_at: at_second(second),
            ..full_session("s")
        };
        assert_eq!(it.store.session(&"s".into()).await.unwrap(), Some(renamed));
    }
}

fn set_thread(thread: Option<&str>) -> Change {
    Change::SetProviderThread {
        session_id: "s".into(),
        thread: thread.map(str::to_owned),
    }
}

pub(crate) async fn a_thread_is_kept_and_let_go_of_beside_other_metadata(it: Fixture) {
    let with = |thread: Option<&str>| {
        let mut metadata = odd_json();
        if let Some(thread) = thread {
            metadata["thread"] = json!(thread);
        }
        Some(Session {
            metadata: Some(metadata),
            ..full_session("s")
        })
    };
    commit(&*it.store, vec![Change::AddSession(full_session("s"))]).await;
    for thread in [None, Some("one"), Some(ODD_TEXT), None, Some(""), None] {
        commit(&*it.store, vec![set_thread(thread)]).await;
        let stored = it.store.session(&"s".into()).await.unwrap();
        assert_eq!(stored, with(thread));
    }
}

pub(crate) async fn a_thread_is_kept_where_there_was_no_metadata(it: Fixture) {
    let metadata = async || {
        let stored = it.store.session(&"s".into()).await.unwrap();
        stored.unwrap().metadata
    };
    commit(&*it.store, vec![Change::AddSession(session("s"))]).await;
    commit(&*it.store, vec![set_thread(None)]).await;
    assert_eq!(metadata().await, None);
    commit(&*it.store, vec![set_thread(Some("one"))]).await;
    assert_eq!(metadata().await, Some(json!({ "thread": "one" })));
    commit(&*it.store, vec![set_thread(None)]).await;
    assert_eq!(metadata().await, Some(json!({})));
}

/// Imported sessions may have metadata that is not an object. It has no place for a thread, and is
/// worth more than the thread.
pub(crate) async fn metadata_that_is_no_object_is_left_as_it_is(it: Fixture) {
    for (number, metadata) in [json!("text"), json!([1, { "a": 0.1 }]), json!(7)]
        .into_iter()
        .enumerate()
    {
        let odd = Session {
            metadata: Some(metadata),
            ..session(&format!("s{number}"))
        };
        commit(&*it.store, vec![Change::AddSession(odd.clone())]).await;
        for thread in [Some("one".to_owned()), None] {
            let session_id = odd.id.clone();
            let change = Change::SetProviderThread { session_id, thread };
            commit(&*it.store, vec![change]).await;
            let stored = it.store.session(&odd.id).await.unwrap();
            assert_eq!(stored.as_ref(), Some(&odd));
        }
    }
}

pub(crate) async fn a_node_moves_the_times_of_its_graph_and_session(it: Fixture) {
    let early = Graph {
        updated_at: at_second(7),
        ..graph("g", "s")
    };
    commit(
        &*it.store,
        vec![
            Change::AddSession(session("s")),
            Change::AddGraph(early.clone()),
        ],
    )
    .await;
    let times = async || {
        let graph = it.store.graph(&"g".into()).await.unwrap().unwrap();
        let session = it.store.session(&"s".into()).await.unwrap().unwrap();
        (graph.updated_at, session.updated_at)
    };
    assert_eq!(times().await, (at_second(7), at_second(7)));
    commit(&*it.store, vec![Change::AddNode(node("n", "g", "s"))]).await;
    assert_eq!(times().await, (at_second(8), at_second(8)));
}

/// Adds session `s`, last changed at 10, with branch `b` and with graph `g`, which changed then too
/// and has the nodes `n` and `m`, for tests of the times of branch, graph and session.
async fn with_times(fixture: &Fixture) {
    commit(
        &*fixture.store,
        vec![
            Change::AddSession(Session {
                updated_at: at_second(10),
                ..session("s")
            }),
            Change::AddBranch(branch("b", "s")),
            Change::AddGraph(Graph {
                updated_at: at_second(10),
                ..graph("g", "s")
            }),
            Change::AddNode(node("n", "g", "s")),
            Change::AddNode(node("m", "g", "s")),
        ],
    )
    .await;
}

async fn times(fixture: &Fixture) -> [Timestamp; 3] {
    let branch = fixture.store.branch(&"b".into()).await.unwrap().unwrap();
    let graph = fixture.store.graph(&"g".into()).await.unwrap().unwrap();
    let session = fixture.store.session(&"s".into()).await.unwrap().unwrap();
    [branch.updated_at, graph.updated_at, session.updated_at]
}

fn update_at(second: i64) -> Change {
    Change::UpdateNode {
        id: "n".into(),
        marks: NodeUpdate {
            is_active: Some(false),
            ..NodeUpdate::default()
        },
        at: at_second(second),
    }
}

fn prune_at(second: i64) -> Change {
    Change::PruneNodes {
        graph_id: "g".into(),
        nodes: vec!["m".into()],
        at: at_second(second),
    }
}

fn complete_at(second: i64) -> Change {
    Change::SetBranchState {
        id: "b".into(),
        state: BranchState::Completed,
        at: at_second(second),
    }
}

pub(crate) async fn marks_states_and_prunes_move_the_times_of_what_they_belong_to(it: Fixture) {
    with_times(&it).await;
    let mut branch = at_second(1);
    assert_eq!(times(&it).await, [branch, at_second(10), at_second(10)]);
    commit(&*it.store, vec![update_at(11)]).await;
    assert_eq!(times(&it).await, [branch, at_second(11), at_second(11)]);
    commit(&*it.store, vec![prune_at(12)]).await;
    assert_eq!(times(&it).await, [branch, at_second(12), at_second(12)]);
    commit(&*it.store, vec![complete_at(13)]).await;
    branch = at_second(13);
    assert_eq!(times(&it).await, [branch, at_second(12), at_second(13)]);
    // The graph's time is behind its session's, and both advance.
    commit(&*it.store, vec![update_at(14)]).await;
    assert_eq!(times(&it).await, [branch, at_second(14), at_second(14)]);
    // No time goes back, in whatever order the calls end.
    commit(&*it.store, vec![update_at(3), prune_at(4), complete_at(5)]).await;
    assert_eq!(times(&it).await, [branch, at_second(14), at_second(14)]);
}

pub(crate) async fn what_is_refused_moves_no_times(it: Fixture) {
    with_times(&it).await;
    let before = times(&it).await;
    let unknown = Change::PruneNodes {
        graph_id: "g".into(),
        nodes: vec!["missing".into()],
        at: at_second(50),
    };
    assert_conflict(&*it.store, unknown).await;
    commit(&*it.store, vec![prune("g", &[])]).await;
    assert_eq!(times(&it).await, before, "nothing was pruned");
    commit(&*it.store, vec![prune_at(0), prune("g", &["n"])]).await;
    let before = times(&it).await;
    assert_conflict(&*it.store, update_at(50)).await;
    assert_eq!(times(&it).await, before, "the node was pruned");
}

pub(crate) async fn a_sessions_time_never_goes_back(it: Fixture) {
    let late = Session {
        title: Some("late".to_owned()),
        updated_at: at_second(100),
        ..session("s")
    };
    commit(
        &*it.store,
        vec![
            Change::AddSession(late.clone()),
            Change::AddThought(thought("t", "s")),
            Change::AddCheckpoint(checkpoint("c", "s")),
            Change::AddGraph(Graph {
                updated_at: at_second(7),
                ..graph("g", "s")
            }),
            Change::AddNode(node("n", "g", "s")),
            Change::RenameSession {
                session_id: "s".into(),
                title: "late".to_owned(),
                at: at_second(1),
            },
            Change::SetActiveBranch {
                session_id: "s".into(),
                branch_id: None,
                at: at_second(2),
            },
        ],
    )
    .await;
    assert_eq!(it.store.session(&"s".into()).await.unwrap(), Some(late));
}

pub(crate) async fn a_session_follows_a_branch_and_lets_go_of_it(it: Fixture) {
    let follow = |branch: Option<&str>, moment| Change::SetActiveBranch {
        session_id: "s".into(),
        branch_id: branch.map(Into::into),
        at: moment,
    };
    commit(
        &*it.store,
        vec![
            Change::AddSession(full_session("s")),
            Change::AddBranch(branch("b", "s")),
            follow(Some("b"), at_second(20)),
        ],
    )
    .await;
    let following = Session {
        active_branch_id: Some("b".into()),
        updated_at: at_second(20),
        ..full_session("s")
    };
    assert_eq!(
        it.store.session(&"s".into()).await.unwrap(),
        Some(following)
    );

    commit(&*it.store, vec![follow(None, at_second(30))]).await;
    let free = Session {
        updated_at: at_second(30),
        ..full_session("s")
    };
    assert_eq!(it.store.session(&"s".into()).await.unwrap(), Some(free));
}
