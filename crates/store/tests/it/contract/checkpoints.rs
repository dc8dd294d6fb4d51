//! Creating and finding checkpoints.

use deliberate_core::{Change, Checkpoint, CheckpointKind};
use deliberate_store::Pagination;
use serde_json::{Value, json};

use super::{
    ALL, All, Current, Fixture, assert_conflict, commit,
    epochs::{base_changes, later_changes},
    session_view::{backtrack_to, checkpoint_at, load_view},
};
use crate::samples::{checkpoint, full_checkpoint, odd_json, session, thought};

/// A checkpoint of session `s` whose latest thought is that one.
fn at_thought(id: &str, latest: &str) -> Checkpoint {
    Checkpoint {
        snapshot: json!({ "latest_thought_id": latest, "thoughts": 3 }),
        ..checkpoint(id, "s")
    }
}

/// Sets aside the [`later_changes`] and leaves the checkpoint `left`.
async fn backtrack_later_changes(fixture: &Fixture) {
    commit(&*fixture.store, base_changes()).await;
    commit(&*fixture.store, later_changes()).await;
    commit(&*fixture.store, vec![backtrack_to("c", "left", Some("b3"))]).await;
}

pub(crate) async fn no_checkpoint_is_made_on_a_branch_that_was_set_aside(it: Fixture) {
    backtrack_later_changes(&it).await;
    assert_conflict(&*it.store, checkpoint_at("new", Some("b3"))).await;
    assert_eq!(it.store.checkpoint(&"new".into()).await.unwrap(), None);
    commit(&*it.store, vec![checkpoint_at("new", Some("b1"))]).await;
    // It is valid once the branch is restored.
    commit(&*it.store, vec![backtrack_to("left", "again", Some("b1"))]).await;
    commit(&*it.store, vec![checkpoint_at("on-b3", Some("b3"))]).await;
}

pub(crate) async fn no_checkpoint_is_made_at_a_thought_that_was_set_aside(it: Fixture) {
    backtrack_later_changes(&it).await;
    let at = |id: &str, latest: &str| Change::AddCheckpoint(at_thought(id, latest));
    for latest in ["t2", "t3"] {
        assert_conflict(&*it.store, at("new", latest)).await;
        assert_eq!(it.store.checkpoint(&"new".into()).await.unwrap(), None);
    }
    commit(&*it.store, vec![at("new", "t1")]).await;
    commit(&*it.store, vec![backtrack_to("left", "again", Some("b1"))]).await;
    commit(&*it.store, vec![at("at-t3", "t3")]).await;
}

/// If an epoch were left behind, later changes would belong to it.
pub(crate) async fn a_refused_checkpoint_leaves_no_trace(it: Fixture) {
    let (store, s) = (&*it.store, "s".into());
    backtrack_later_changes(&it).await;
    let (now, history) = (
        load_view(store, &s, Current).await,
        load_view(store, &s, All).await,
    );
    let places = store.checkpoints(&s, ALL).await.unwrap();
    let session = store.session(&s).await.unwrap();
    for refusal in [
        Checkpoint {
            created_at: crate::samples::at_second(1_000),
            ..at_thought("no", "t2")
        },
        Checkpoint {
            branch_id: Some("b3".into()),
            created_at: crate::samples::at_second(1_000),
            ..checkpoint("no", "s")
        },
    ] {
        assert_conflict(store, Change::AddCheckpoint(refusal)).await;
        assert_eq!(load_view(store, &s, Current).await, now);
        assert_eq!(load_view(store, &s, All).await, history);
        assert_eq!(store.checkpoints(&s, ALL).await.unwrap(), places);
        assert_eq!(store.session(&s).await.unwrap(), session);
    }
    // The other changes of the commit are rolled back too.
    let along = vec![
        Change::AddThought(thought("along", "s")),
        Change::AddCheckpoint(at_thought("no", "t2")),
    ];
    assert_eq!(store.commit(along).await.unwrap_err().code(), "Conflict");
    assert_eq!(load_view(store, &s, All).await, history);
    // Backtracking there and back works as before.
    commit(store, vec![Change::AddThought(thought("new", "s"))]).await;
    let here = load_view(store, &s, Current).await;
    commit(store, vec![backtrack_to("c", "from-here", Some("b1"))]).await;
    assert_eq!(load_view(store, &s, Current).await, now);
    commit(store, vec![backtrack_to("from-here", "last", Some("b1"))]).await;
    assert_eq!(load_view(store, &s, Current).await, here);
}

/// Two backtracks at once: the second read its state before the first was committed.
pub(crate) async fn nobody_leaves_a_place_that_was_set_aside(it: Fixture) {
    let (store, s) = (&*it.store, "s".into());
    backtrack_later_changes(&it).await;
    let (now, history) = (
        load_view(store, &s, Current).await,
        load_view(store, &s, All).await,
    );
    let from_thought = Change::Backtrack {
        session_id: "s".into(),
        to: "c".into(),
        left: at_thought("again", "t2"),
    };
    for change in [backtrack_to("c", "again", Some("b3")), from_thought] {
        assert_conflict(store, change).await;
        assert_eq!(load_view(store, &s, Current).await, now);
        assert_eq!(load_view(store, &s, All).await, history);
        assert_eq!(store.checkpoint(&"again".into()).await.unwrap(), None);
    }
    commit(store, vec![backtrack_to("left", "again", Some("b1"))]).await;
    assert_eq!(load_view(store, &s, All).await.set_aside_ids(), [""; 0]);
}

/// Imported snapshots have other forms.
pub(crate) async fn a_snapshot_may_be_anything(it: Fixture) {
    commit(&*it.store, vec![Change::AddSession(session("s"))]).await;
    for (number, snapshot) in [
        Value::Null,
        json!([]),
        json!("latest_thought_id"),
        json!([{ "latest_thought_id": "x" }]),
        json!(0.1),
        json!({ "latest_thought_id": null }),
        json!({ "latest_thought_id": ["x"] }),
        json!({ "latest_thought_id": "never made" }),
        odd_json(),
    ]
    .into_iter()
    .enumerate()
    {
        let made = Checkpoint {
            snapshot,
            ..checkpoint(&format!("c{number}"), "s")
        };
        commit(&*it.store, vec![Change::AddCheckpoint(made.clone())]).await;
        let stored = it.store.checkpoint(&made.id).await.unwrap();
        assert_eq!(stored, Some(made));
    }
}

pub(crate) async fn a_checkpoint_is_found_by_its_name(it: Fixture) {
    let store = &*it.store;
    let called = |id: &str, session: &str, name: &str| {
        Change::AddCheckpoint(Checkpoint {
            name: name.to_owned(),
            ..checkpoint(id, session)
        })
    };
    let named = async |session: &str, name: &str| {
        let id = store
            .checkpoint_by_name(&session.into(), name)
            .await
            .unwrap();
        id.map(|id| id.to_string())
    };
    let odd = crate::samples::ODD_TEXT;
    commit(
        store,
        vec![
            Change::AddSession(session("s")),
            Change::AddSession(session("other")),
            called("c1", "s", "one"),
            called("c2", "s", odd),
            called("theirs", "other", "one"),
            called("c3", "s", "twice"),
            called("c4", "s", "twice"),
        ],
    )
    .await;
    assert_eq!(named("s", "one").await.as_deref(), Some("c1"));
    assert_eq!(named("s", odd).await.as_deref(), Some("c2"));
    assert_eq!(named("other", "one").await.as_deref(), Some("theirs"));
    assert_eq!(named("s", "twice").await.as_deref(), Some("c4"));
    for missing in ["", "One", "on", "one ", "%", "c1"] {
        assert_eq!(named("s", missing).await, None, "{missing:?}");
    }
    commit(store, vec![backtrack_to("c1", "left", None)]).await;
    assert_eq!(named("s", "twice").await.as_deref(), Some("c4"));
}

pub(crate) async fn checkpoints_come_newest_first_in_pages(it: Fixture) {
    let store = &*it.store;
    let mut changes = vec![Change::AddSession(session("s"))];
    // Neither ids nor times are in the order of creation.
    for (id, second) in [("b", 9), ("d", 1), ("a", 5), ("c", 5)] {
        changes.push(Change::AddCheckpoint(Checkpoint {
            created_at: crate::samples::at_second(second),
            ..checkpoint(id, "s")
        }));
    }
    changes.push(backtrack_to("d", "left", None));
    commit(store, changes).await;
    for (offset, limit, wanted) in [
        (0, 9, "left c a d b"),
        (0, 2, "left c"),
        (2, 2, "a d"),
        (4, 2, "b"),
        (5, 2, ""),
        (0, 0, ""),
    ] {
        let page = Pagination { offset, limit };
        let listed = store.checkpoints(&"s".into(), page).await.unwrap();
        let ids: Vec<_> = listed.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids.join(" "), wanted, "{page:?}");
    }
}

pub(crate) async fn a_list_of_checkpoints_is_without_their_snapshots(it: Fixture) {
    let store = &*it.store;
    commit(store, base_changes()).await;
    let whole = full_checkpoint("whole", "s", "b1");
    commit(store, vec![Change::AddCheckpoint(whole.clone())]).await;
    commit(store, vec![backtrack_to("c", "left", Some("b1"))]).await;
    let listed = store.checkpoints(&"s".into(), ALL).await.unwrap();
    let seen: Vec<_> = listed
        .iter()
        .map(|it| (it.id.as_str(), it.kind, &it.snapshot))
        .collect();
    let null = &Value::Null;
    assert_eq!(
        seen,
        [
            ("left", CheckpointKind::Undo, null),
            ("whole", whole.kind, null),
            ("c", CheckpointKind::Asked, null),
        ]
    );
    let stored = store.checkpoint(&"whole".into()).await.unwrap();
    assert_eq!(stored, Some(whole));
}
