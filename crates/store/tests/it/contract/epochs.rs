//! Checkpoints and backtracking.

use deliberate_core::{
    BranchId, BranchState, Change, Checkpoint, CheckpointId, GraphNode, NodeUpdate, Thought,
};
use deliberate_store::{BacktrackPreview, EntityCounts};
use serde_json::json;

use super::{
    ALL, All, Current, Fixture, assert_conflict, commit, prune,
    session_view::{SessionView, backtrack_to, checkpoint_at, follow_branch, load_view},
    set_state, update_node,
};
use crate::samples::{
    ODD_TEXT, branch, checkpoint, cross_ref, edge, full_branch, graph, node, odd_json, score,
    session, thought, thought_with_text,
};

/// Session `s` with some entities of each kind, up to the checkpoint `c`.
pub(super) fn base_changes() -> Vec<Change> {
    vec![
        Change::AddSession(session("s")),
        Change::AddBranch(branch("b1", "s")),
        Change::AddBranch(full_branch("b2", "s", "b1")),
        Change::AddThought(Thought {
            branch_id: Some("b1".into()),
            ..thought("t1", "s")
        }),
        Change::AddCrossRef(cross_ref("r1", "b1", "b2")),
        Change::AddGraph(graph("g1", "s")),
        Change::AddNode(GraphNode {
            score: Some(score(0.1)),
            metadata: Some(odd_json()),
            ..node("n1", "g1", "s")
        }),
        Change::AddNode(node("n2", "g1", "s")),
        Change::AddEdge(edge("e1", "g1", "n1", "n2")),
        follow_branch("b1"),
        checkpoint_at("c", Some("b1")),
    ]
}

/// Later changes: more entities of each kind, and new values for the earlier ones.
pub(super) fn later_changes() -> Vec<Change> {
    vec![
        Change::AddBranch(full_branch("b3", "s", "b1")),
        Change::AddThought(Thought {
            parent_id: Some("t1".into()),
            branch_id: Some("b1".into()),
            ..thought("t2", "s")
        }),
        Change::AddThought(Thought {
            branch_id: Some("b3".into()),
            ..thought("t3", "s")
        }),
        Change::AddCrossRef(cross_ref("r2", "b1", "b3")),
        Change::AddGraph(graph("g2", "s")),
        Change::AddNode(node("m1", "g2", "s")),
        Change::AddNode(node("n3", "g1", "s")),
        Change::AddEdge(edge("e2", "g1", "n1", "n3")),
        follow_branch("b3"),
        set_state("b1", BranchState::Completed),
        set_state("b2", BranchState::Active),
        update_node(
            "n1",
            NodeUpdate {
                score: Some(score(1.0 / 3.0)),
                is_active: Some(false),
                is_terminal: Some(true),
                notes: Some(json!({ "fraction": 1.0 / 3.0, "critique": ODD_TEXT })),
            },
        ),
        prune("g1", &["n2"]),
    ]
}

pub(crate) async fn what_came_later_is_set_aside_and_stays_as_history(it: Fixture) {
    let (store, s) = (&*it.store, "s".into());
    commit(store, base_changes()).await;
    let then = load_view(store, &s, Current).await;
    commit(store, later_changes()).await;
    assert_ne!(load_view(store, &s, Current).await, then);
    commit(store, vec![backtrack_to("c", "left", Some("b3"))]).await;

    assert_eq!(load_view(store, &s, Current).await, then);
    let all = load_view(store, &s, All).await;
    assert_eq!(
        all.ids(),
        [
            vec!["t1", "t2", "t3"],
            vec!["b1", "b2", "b3"],
            vec!["r1", "r2"],
            vec!["g1", "g2"],
            vec!["m1", "n1", "n2", "n3"],
            vec!["e1", "e2"],
        ]
    );
    assert_eq!(all.set_aside_ids(), ["t2", "t3", "b3", "g2", "m1", "n3"]);
    // Read by id, they are marked as set aside.
    assert!(
        store
            .thought(&"t2".into())
            .await
            .unwrap()
            .unwrap()
            .set_aside
    );
    assert!(store.branch(&"b3".into()).await.unwrap().unwrap().set_aside);
    assert!(store.graph(&"g2".into()).await.unwrap().unwrap().set_aside);
    assert!(store.node(&"n3".into()).await.unwrap().unwrap().set_aside);
    let counted = &store.sessions(ALL).await.unwrap()[0];
    assert_eq!((counted.thoughts, counted.nodes), (1, 2));
    assert_eq!(
        store.latest_thoughts(&s, 9).await.unwrap(),
        load_view(store, &s, Current).await.thoughts
    );
}

pub(crate) async fn returning_to_the_place_one_left_undoes_it(it: Fixture) {
    let (store, s) = (&*it.store, "s".into());
    commit(store, base_changes()).await;
    let early = load_view(store, &s, Current).await;
    commit(store, later_changes()).await;
    let late = load_view(store, &s, Current).await;
    // Backtracking there and back can be repeated.
    for round in 0..3 {
        let left = format!("late{round}");
        commit(store, vec![backtrack_to("c", &left, Some("b3"))]).await;
        assert_eq!(load_view(store, &s, Current).await, early, "{round}");
        let way = store
            .preview_backtrack(&left.as_str().into())
            .await
            .unwrap();
        assert_eq!(way.unwrap().restored.thoughts, 2);
        let here = format!("early{round}");
        commit(store, vec![backtrack_to(&left, &here, Some("b1"))]).await;
        assert_eq!(load_view(store, &s, Current).await, late, "{round}");
        assert_eq!(load_view(store, &s, All).await.set_aside_ids(), [""; 0]);
    }
}

pub(crate) async fn a_way_that_was_left_can_be_taken_up_from_its_middle(it: Fixture) {
    let (store, s) = (&*it.store, "s".into());
    let say = |id: &str| Change::AddThought(thought_with_text(id, "s", id));
    let call = |name: &str| {
        let marks = NodeUpdate {
            notes: Some(json!({ "name": name })),
            ..NodeUpdate::default()
        };
        update_node("n", marks)
    };
    let now = async || {
        let seen = load_view(store, &s, Current).await;
        let said: Vec<_> = seen.thoughts.iter().map(|it| it.content.clone()).collect();
        let [only] = seen.nodes.as_slice() else {
            panic!("{seen:?}");
        };
        let name = only.metadata.as_ref().and_then(|it| it["name"].as_str());
        (said.join(" "), name.unwrap_or_default().to_owned())
    };
    let is = |said: &str, name: &str| (said.to_owned(), name.to_owned());
    commit(
        store,
        vec![
            Change::AddSession(session("s")),
            Change::AddGraph(graph("g", "s")),
            Change::AddNode(node("n", "g", "s")),
        ],
    )
    .await;
    for (number, text) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let checkpoint = checkpoint_at(&format!("after-{text}"), None);
        commit(
            store,
            vec![say(text), call(&number.to_string()), checkpoint],
        )
        .await;
    }
    commit(store, vec![say("e")]).await;
    assert_eq!(now().await, is("a b c d e", "3"));

    commit(store, vec![backtrack_to("after-a", "left-e", None)]).await;
    assert_eq!(now().await, is("a", "0"));
    commit(
        store,
        vec![say("x"), call("x"), checkpoint_at("after-x", None)],
    )
    .await;
    commit(store, vec![say("y")]).await;
    assert_eq!(now().await, is("a x y", "x"));

    // A later checkpoint on the abandoned line.
    commit(store, vec![backtrack_to("after-c", "left-y", None)]).await;
    assert_eq!(now().await, is("a b c", "2"));
    commit(
        store,
        vec![call("z"), say("z"), checkpoint_at("after-z", None)],
    )
    .await;
    assert_eq!(now().await, is("a b c z", "z"));

    for (to, left, said, name) in [
        ("left-e", "1", "a b c d e", "3"),
        ("after-x", "2", "a x", "x"),
        ("after-z", "3", "a b c z", "z"),
        ("left-y", "4", "a x y", "x"),
        ("after-b", "5", "a b", "1"),
        ("after-b", "6", "a b", "1"),
        ("2", "7", "a b c d e", "3"),
        ("6", "8", "a b", "1"),
    ] {
        commit(store, vec![backtrack_to(to, left, None)]).await;
        assert_eq!(now().await, is(said, name), "{to}");
    }
}

pub(crate) async fn what_follows_a_return_in_its_commit_belongs_to_the_new_way(it: Fixture) {
    let (store, s) = (&*it.store, "s".into());
    commit(store, base_changes()).await;
    commit(store, later_changes()).await;
    commit(
        store,
        vec![
            backtrack_to("c", "left", Some("b3")),
            Change::AddThought(thought("new", "s")),
        ],
    )
    .await;
    let ids = |view: &SessionView| view.ids()[0].iter().map(ToString::to_string).collect();
    let now: Vec<String> = ids(&load_view(store, &s, Current).await);
    assert_eq!(now, ["t1", "new"]);
    commit(store, vec![backtrack_to("left", "again", Some("b1"))]).await;
    let now: Vec<String> = ids(&load_view(store, &s, Current).await);
    assert_eq!(now, ["t1", "t2", "t3"]);
}

pub(crate) async fn the_branch_that_was_followed_is_followed_again(it: Fixture) {
    let (store, s) = (&*it.store, "s".into());
    commit(
        store,
        vec![
            Change::AddSession(session("s")),
            checkpoint_at("none", None),
        ],
    )
    .await;
    commit(
        store,
        vec![
            Change::AddBranch(branch("b1", "s")),
            Change::AddBranch(branch("b2", "s")),
            follow_branch("b1"),
            checkpoint_at("first", Some("b1")),
            follow_branch("b2"),
        ],
    )
    .await;
    let mut here = Some("b2");
    for (to, wanted) in [
        ("first", Some("b1")),
        ("none", None),
        ("left-to-first", Some("b2")),
        ("left-to-none", Some("b1")),
    ] {
        commit(
            store,
            vec![backtrack_to(to, &format!("left-to-{to}"), here)],
        )
        .await;
        let session = store.session(&s).await.unwrap().unwrap();
        assert_eq!(session.active_branch_id, wanted.map(BranchId::from), "{to}");
        here = wanted;
    }
}

pub(crate) async fn a_return_that_can_not_be_changes_nothing(it: Fixture) {
    let (store, s) = (&*it.store, "s".into());
    commit(store, base_changes()).await;
    commit(store, later_changes()).await;
    commit(
        store,
        vec![
            Change::AddSession(session("other")),
            Change::AddThought(thought("o", "other")),
            Change::AddCheckpoint(checkpoint("theirs", "other")),
        ],
    )
    .await;
    let (now, history) = (
        load_view(store, &s, Current).await,
        load_view(store, &s, All).await,
    );
    let elsewhere = Change::Backtrack {
        session_id: "s".into(),
        to: "c".into(),
        left: checkpoint("left", "other"),
    };
    let missing = Change::Backtrack {
        session_id: "missing".into(),
        to: "c".into(),
        left: checkpoint("left", "missing"),
    };
    for change in [
        backtrack_to("theirs", "left", None),
        backtrack_to("missing", "left", None),
        backtrack_to("c", "c", None),
        backtrack_to("c", "left", Some("missing")),
        elsewhere,
        missing,
    ] {
        assert_conflict(store, change).await;
        assert_eq!(load_view(store, &s, Current).await, now);
        assert_eq!(load_view(store, &s, All).await, history);
        assert_eq!(store.checkpoint(&"left".into()).await.unwrap(), None);
    }
    let theirs = load_view(store, &"other".into(), Current).await;
    assert_eq!(theirs.ids()[0], ["o"]);
    // The backtrack is the same as before.
    commit(store, vec![backtrack_to("c", "left", Some("b3"))]).await;
    commit(store, vec![backtrack_to("left", "again", Some("b1"))]).await;
    assert_eq!(load_view(store, &s, Current).await, now);
}

pub(crate) async fn sessions_go_back_each_on_their_own(it: Fixture) {
    let store = &*it.store;
    let theirs = |change: Change| match change {
        Change::Backtrack { to, left, .. } => Change::Backtrack {
            session_id: "two".into(),
            to,
            left: Checkpoint {
                session_id: "two".into(),
                ..left
            },
        },
        other => other,
    };
    let step = |id: &str, session: &str| Change::AddThought(thought(id, session));
    commit(
        store,
        vec![
            Change::AddSession(session("s")),
            Change::AddSession(session("two")),
            step("s1", "s"),
            step("two1", "two"),
            checkpoint_at("c", None),
            Change::AddCheckpoint(checkpoint("d", "two")),
            step("s2", "s"),
            step("two2", "two"),
        ],
    )
    .await;
    let said = async |session: &str| {
        let seen = load_view(store, &session.into(), Current).await;
        seen.ids()[0].join(" ")
    };
    commit(store, vec![backtrack_to("c", "s-left", None)]).await;
    assert_eq!(
        (said("s").await, said("two").await),
        ("s1".into(), "two1 two2".into())
    );
    commit(store, vec![theirs(backtrack_to("d", "two-left", None))]).await;
    commit(store, vec![backtrack_to("s-left", "s-again", None)]).await;
    assert_eq!(
        (said("s").await, said("two").await),
        ("s1 s2".into(), "two1".into())
    );
    assert_conflict(store, backtrack_to("two-left", "no", None)).await;
    commit(
        store,
        vec![theirs(backtrack_to("two-left", "two-again", None))],
    )
    .await;
    assert_eq!(said("two").await, "two1 two2");
}

pub(crate) async fn the_way_back_tells_what_will_move(it: Fixture) {
    let store = &*it.store;
    commit(store, base_changes()).await;
    let way = async |to: &str| {
        store
            .preview_backtrack(&CheckpointId::from(to))
            .await
            .unwrap()
    };
    assert_eq!(way("c").await, Some(BacktrackPreview::default()));
    assert_eq!(way("missing").await, None);
    commit(store, later_changes()).await;
    let moved = EntityCounts {
        thoughts: 2,
        branches: 1,
        nodes: 2,
    };
    assert_eq!(
        way("c").await,
        Some(BacktrackPreview {
            set_aside: moved,
            // It was pruned, and no longer is.
            restored: EntityCounts {
                nodes: 1,
                ..EntityCounts::default()
            },
        })
    );
    commit(store, vec![backtrack_to("c", "left", Some("b3"))]).await;
    commit(store, vec![Change::AddThought(thought("new", "s"))]).await;
    assert_eq!(
        way("left").await,
        Some(BacktrackPreview {
            set_aside: EntityCounts {
                thoughts: 1,
                branches: 0,
                nodes: 1,
            },
            restored: moved,
        })
    );
}
