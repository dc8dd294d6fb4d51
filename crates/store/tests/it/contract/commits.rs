//! A commit is applied completely or not at all, whatever else happens at the same time.

use std::collections::BTreeSet;

use deliberate_core::{Change, Precondition, Session, SessionId, Thought};
use deliberate_store::{Store, StoreError};
use futures::{FutureExt, future::join_all};

use super::{ALL, Current, Fixture, commit};
use crate::samples::{
    branch, checkpoint, cross_ref, edge, everything, graph, invocation, node, session, thought,
};

/// A session with one thought and the log record of its call, as a tool commits them.
fn call_changes(name: &str) -> Vec<Change> {
    vec![
        Change::AddSession(session(name)),
        Change::AddThought(thought(&format!("t-{name}"), name)),
        Change::AddInvocation(invocation(&format!("i-{name}"), Some(name))),
    ]
}

async fn session_names(store: &dyn Store) -> BTreeSet<String> {
    let entries = store.sessions(ALL).await.unwrap();
    entries
        .iter()
        .map(|entry| entry.session.id.to_string())
        .collect()
}

pub(crate) async fn no_changes_are_no_problem(it: Fixture) {
    commit(&*it.store, Vec::new()).await;
    assert_eq!(it.store.sessions(ALL).await.unwrap(), []);
}

pub(crate) async fn a_bad_change_in_the_middle_leaves_nothing(it: Fixture) {
    let all = everything("there");
    commit(&*it.store, all.changes()).await;
    commit(&*it.store, vec![Change::AddSession(session("spare"))]).await;
    let missing = || SessionId::from("missing");
    let bad = [
        Change::AddSession(session("there")),
        Change::AddThought(thought("t", "missing")),
        Change::AddThought(thought("there-t1", "there")),
        Change::RenameSession {
            session_id: missing(),
            title: "new".to_owned(),
            at: crate::samples::at_second(0),
        },
        Change::Backtrack {
            session_id: "there".into(),
            to: "missing".into(),
            left: checkpoint("left", "there"),
        },
        Change::Check(Precondition::UsableNode("missing".into())),
        Change::DeleteSession(missing()),
        Change::AddBranch(branch("b", "missing")),
        Change::AddCrossRef(cross_ref("r", "there-b1", "missing")),
        Change::AddNode(node("n", "missing", "there")),
        Change::AddEdge(edge("e", "there-g1", "there-n1", "missing")),
        Change::SetActiveBranch {
            session_id: missing(),
            branch_id: None,
            at: crate::samples::at_second(0),
        },
        Change::SetActiveBranch {
            session_id: "there".into(),
            branch_id: Some("missing".into()),
            at: crate::samples::at_second(200),
        },
        Change::EndSuspension {
            id: "missing".into(),
            fence: 0,
            outcome: serde_json::Value::Null,
            failed: false,
        },
    ];
    for bad in bad {
        let shown = format!("{bad:?}");
        let mut changes = call_changes("new");
        changes.push(Change::DeleteSession("spare".into()));
        changes.insert(1, bad);
        let outcome = it.store.commit(changes).await;
        assert!(outcome.is_err(), "{shown}");
        assert_eq!(
            session_names(&*it.store).await,
            BTreeSet::from(["spare", "there"].map(str::to_owned))
        );
        super::round_trip::assert_everything(&*it.store, &all).await;
        let records = it.store.invocations(None, ALL).await.unwrap();
        assert_eq!(records, all.invocations, "{shown}");
    }
}

pub(crate) async fn a_failing_commit_spoils_no_other_at_the_same_time(it: Fixture) {
    let commits = (0..80).map(|number| {
        let name = format!("s{number}");
        let mut changes = call_changes(&name);
        if number % 2 == 1 {
            changes.push(Change::AddThought(thought("stray", "missing")));
        }
        it.store.commit(changes)
    });
    let outcomes = join_all(commits).await;
    for (number, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.is_ok(), number % 2 == 0, "{number}: {outcome:?}");
    }
    let even = (0..80)
        .step_by(2)
        .map(|number| format!("s{number}"))
        .collect();
    assert_eq!(session_names(&*it.store).await, even);
    assert_eq!(it.store.invocations(None, ALL).await.unwrap().len(), 40);
}

/// A session may name its active branch before that branch is added, so a backend may notice only
/// at the end of a transaction that the branch is missing.
pub(crate) async fn a_broken_link_that_shows_only_at_the_end_spoils_no_other(it: Fixture) {
    let commits = (0..40).map(|number| {
        let mut changes = call_changes(&format!("s{number}"));
        if number == 20 {
            changes.push(Change::SetActiveBranch {
                session_id: "s20".into(),
                branch_id: Some("missing".into()),
                at: crate::samples::at_second(1),
            });
        }
        it.store.commit(changes)
    });
    let outcomes = join_all(commits).await;
    for (number, outcome) in outcomes.iter().enumerate() {
        match outcome {
            Err(StoreError::Conflict { .. }) => assert_eq!(number, 20),
            other => assert!(other.is_ok() && number != 20, "{number}: {other:?}"),
        }
    }
    assert_eq!(session_names(&*it.store).await.len(), 39);
}

pub(crate) async fn two_hundred_commits_at_once_are_all_there(it: Fixture) {
    let tasks = (0..200).map(|number| {
        let store = it.store.clone();
        tokio::spawn(async move { store.commit(call_changes(&format!("s{number}"))).await })
    });
    for outcome in join_all(tasks).await {
        outcome.unwrap().unwrap();
    }
    let wanted = (0..200).map(|number| format!("s{number}")).collect();
    assert_eq!(session_names(&*it.store).await, wanted);
    let state = it.store.info().await.unwrap();
    assert_eq!((state.sessions, state.thoughts), (200, 200));
    assert_eq!(it.store.invocations(None, ALL).await.unwrap().len(), 200);
}

pub(crate) async fn commits_at_once_to_one_session_are_all_there(it: Fixture) {
    commit(&*it.store, vec![Change::AddSession(session("s"))]).await;
    let commits = (0..100).map(|number| {
        let step = Thought {
            created_at: crate::samples::at_second(number),
            ..thought(&format!("t{number}"), "s")
        };
        it.store.commit(vec![Change::AddThought(step)])
    });
    for outcome in join_all(commits).await {
        outcome.unwrap();
    }
    let thoughts = it.store.thoughts(&"s".into(), Current, ALL).await.unwrap();
    let ids: BTreeSet<_> = thoughts.iter().map(|thought| thought.id.clone()).collect();
    assert_eq!(ids.len(), 100);
    let wanted = Session {
        updated_at: crate::samples::at_second(99),
        ..session("s")
    };
    assert_eq!(it.store.session(&"s".into()).await.unwrap(), Some(wanted));
}

pub(crate) async fn a_read_sees_every_commit_that_returned_before(it: Fixture) {
    let other = (it.reopen)();
    commit(&*it.store, vec![Change::AddSession(session("s"))]).await;
    for number in 0..50 {
        let (writer, reader) = match number % 3 {
            0 => (&it.store, &it.store),
            1 => (&it.store, &other),
            _ => (&other, &it.store),
        };
        let step = thought(&format!("t{number}"), "s");
        commit(&**writer, vec![Change::AddThought(step.clone())]).await;
        let latest = reader.latest_thoughts(&"s".into(), 1).await.unwrap();
        assert_eq!(latest, [step]);
    }
}

pub(crate) async fn a_commit_that_nobody_waits_for_is_whole_or_absent(it: Fixture) {
    commit(&*it.store, call_changes("first")).await;
    for number in 0..20 {
        let mut changes = call_changes(&format!("s{number}"));
        changes.push(Change::AddGraph(graph(
            &format!("g{number}"),
            &format!("s{number}"),
        )));
        let begun = it.store.commit(changes);
        // Polled once, then dropped, as the future of a call whose client disconnects.
        assert!(begun.now_or_never().is_none_or(|outcome| outcome.is_ok()));
    }
    // Commits that began before this one are complete when this one is.
    commit(&*it.store, call_changes("last")).await;
    for name in session_names(&*it.store).await {
        let id = SessionId::from(name.as_str());
        assert_eq!(
            it.store.thoughts(&id, Current, ALL).await.unwrap().len(),
            1,
            "{name}"
        );
        assert_eq!(
            it.store.invocations(Some(&id), ALL).await.unwrap().len(),
            1,
            "{name}"
        );
        let graphs = usize::from(name.starts_with('s'));
        assert_eq!(
            it.store.graphs(&id, Current, ALL).await.unwrap().len(),
            graphs,
            "{name}"
        );
    }
}
