//! Suspended and background calls.

use deliberate_core::{Change, StoredProgress, SuspendedCall, SuspensionId};
use deliberate_store::{Store, StoreError};
use futures::future::join_all;
use serde_json::{Value, json};

use super::{ALL, Fixture, commit};
use crate::samples::{at_second, odd_json, session, suspended_call};

async fn load_suspended(store: &dyn Store, id: &str) -> Option<SuspendedCall> {
    store.suspended_call(&SuspensionId::from(id)).await.unwrap()
}

fn end(id: &str, outcome: Value) -> Change {
    end_under(id, 0, outcome)
}

fn end_under(id: &str, fence: i64, outcome: Value) -> Change {
    Change::EndSuspension {
        id: id.into(),
        fence,
        outcome,
        failed: false,
    }
}

pub(crate) async fn a_suspended_call_comes_back_whole(it: Fixture) {
    let suspended = SuspendedCall {
        journal: odd_json(),
        asks: json!(["a", "b/again"]),
        ..suspended_call("x")
    };
    commit(&*it.store, vec![Change::Suspend(suspended.clone())]).await;
    assert_eq!(
        load_suspended(&*it.store, "x").await,
        Some(suspended.clone())
    );

    commit(&*it.store, vec![end("x", odd_json())]).await;
    let ended = SuspendedCall {
        outcome: Some(odd_json()),
        ..suspended
    };
    assert_eq!(load_suspended(&*it.store, "x").await, Some(ended));
}

pub(crate) async fn a_new_round_changes_only_what_belongs_to_the_round(it: Fixture) {
    let first = suspended_call("x");
    let second = SuspendedCall {
        tool_name: "another".to_owned(),
        arguments: json!({ "changed": true }),
        journal: json!({ "linear": "reply" }),
        asks: json!(["linear/again"]),
        created_at: at_second(500),
        expires_at: at_second(2_000),
        fence: 1,
        notes: Some(odd_json()),
        progress: progress(0.5, "half"),
        ..first.clone()
    };
    commit(&*it.store, vec![Change::Suspend(first.clone())]).await;
    commit(&*it.store, vec![Change::Suspend(second.clone())]).await;
    let wanted = SuspendedCall {
        arguments: second.arguments,
        journal: second.journal,
        asks: second.asks,
        expires_at: second.expires_at,
        fence: 1,
        notes: second.notes,
        progress: second.progress,
        ..first
    };
    assert_eq!(load_suspended(&*it.store, "x").await, Some(wanted));
}

pub(crate) async fn a_call_ends_once(it: Fixture) {
    commit(&*it.store, vec![Change::Suspend(suspended_call("x"))]).await;
    commit(&*it.store, vec![end("x", json!({ "first": 1 }))]).await;
    let again = it
        .store
        .commit(vec![end("x", json!({ "second": 2 }))])
        .await;
    assert_eq!(again, Err(StoreError::AlreadyEnded));
    let outcome = load_suspended(&*it.store, "x").await.unwrap().outcome;
    assert_eq!(outcome, Some(json!({ "first": 1 })));
}

pub(crate) async fn an_ended_call_is_not_suspended_again(it: Fixture) {
    commit(&*it.store, vec![Change::Suspend(suspended_call("x"))]).await;
    commit(&*it.store, vec![end("x", Value::Null)]).await;
    let ended = load_suspended(&*it.store, "x").await;
    // A `null` answer is an answer too.
    assert_eq!(ended.as_ref().unwrap().outcome, Some(Value::Null));
    let late = SuspendedCall {
        journal: json!({ "late": "reply" }),
        fence: 1,
        ..suspended_call("x")
    };
    let outcome = it.store.commit(vec![Change::Suspend(late)]).await;
    assert_eq!(outcome, Err(StoreError::AlreadyEnded));
    assert_eq!(load_suspended(&*it.store, "x").await, ended);
}

pub(crate) async fn ending_twice_at_once_takes_effect_once(it: Fixture) {
    commit(&*it.store, vec![Change::Suspend(suspended_call("x"))]).await;
    let other = (it.reopen)();
    let endings = (0..16).map(|number| {
        let store = if number % 2 == 0 { &it.store } else { &other };
        let name = format!("s{number}");
        let session = Change::AddSession(session(&name));
        store.commit(vec![session, end("x", json!(name))])
    });
    let outcomes = join_all(endings).await;
    let mut won = Vec::new();
    for (number, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Ok(()) => won.push(format!("s{number}")),
            Err(error) => assert_eq!(error, StoreError::AlreadyEnded),
        }
    }
    let sessions = it.store.sessions(ALL).await.unwrap();
    let names: Vec<_> = sessions
        .iter()
        .map(|entry| entry.session.id.to_string())
        .collect();
    assert_eq!(won.len(), 1);
    assert_eq!(names, won);
    let outcome = load_suspended(&*it.store, "x").await.unwrap().outcome;
    assert_eq!(outcome, Some(json!(won[0])));
}

pub(crate) async fn what_comes_with_a_second_ending_leaves_nothing(it: Fixture) {
    commit(&*it.store, vec![Change::Suspend(suspended_call("x"))]).await;
    commit(&*it.store, vec![end("x", json!(1))]).await;
    let changes = vec![Change::AddSession(session("s")), end("x", json!(2))];
    assert_eq!(
        it.store.commit(changes).await,
        Err(StoreError::AlreadyEnded)
    );
    assert_eq!(it.store.sessions(ALL).await.unwrap(), []);
}

pub(crate) async fn a_call_that_was_never_suspended_can_not_end(it: Fixture) {
    let outcome = it.store.commit(vec![end("missing", json!(1))]).await;
    assert_eq!(outcome, Err(StoreError::AlreadyEnded));
    assert_eq!(load_suspended(&*it.store, "missing").await, None);
}

pub(crate) async fn an_expired_call_is_kept_until_another_is_suspended(it: Fixture) {
    let lasting = |id: &str, from, until| SuspendedCall {
        created_at: at_second(from),
        expires_at: at_second(until),
        ..suspended_call(id)
    };
    let short = lasting("short", 0, 10);
    let exact = lasting("exact", 0, 50);
    let long = lasting("long", 0, 100);
    for suspended in [&short, &exact, &long] {
        commit(&*it.store, vec![Change::Suspend(suspended.clone())]).await;
    }
    commit(&*it.store, vec![Change::AddSession(session("s"))]).await;
    assert_eq!(load_suspended(&*it.store, "short").await, Some(short));

    // A call that expires at once is still stored by its own commit.
    let now = lasting("now", 50, 40);
    commit(&*it.store, vec![Change::Suspend(now.clone())]).await;
    assert_eq!(load_suspended(&*it.store, "short").await, None);
    assert_eq!(load_suspended(&*it.store, "exact").await, Some(exact));
    assert_eq!(load_suspended(&*it.store, "long").await, Some(long));
    assert_eq!(load_suspended(&*it.store, "now").await, Some(now));
}

fn progress(fraction: f64, message: &str) -> StoredProgress {
    StoredProgress {
        fraction: Some(fraction),
        message: message.to_owned(),
    }
}

fn renew_lease(id: &str, fence: i64, until: i64) -> Change {
    Change::RenewLease {
        id: id.into(),
        fence,
        until: at_second(until),
        progress: progress(0.25, "a quarter"),
    }
}

fn take_lease(id: &str, fence: i64, seen: Option<i64>, until: i64) -> Change {
    Change::TakeLease {
        id: id.into(),
        fence,
        seen: seen.map(at_second),
        until: at_second(until),
    }
}

fn running_call(id: &str) -> SuspendedCall {
    SuspendedCall {
        asks: json!([]),
        owner: Some("ann".to_owned()),
        running_until: Some(at_second(10)),
        ..suspended_call(id)
    }
}

pub(crate) async fn a_lease_is_renewed_with_its_progress_by_who_has_the_fence(it: Fixture) {
    let running = running_call("x");
    commit(&*it.store, vec![Change::Suspend(running.clone())]).await;
    assert_eq!(load_suspended(&*it.store, "x").await, Some(running.clone()));
    commit(&*it.store, vec![renew_lease("x", 0, 20)]).await;
    let renewed = SuspendedCall {
        running_until: Some(at_second(20)),
        progress: progress(0.25, "a quarter"),
        ..running.clone()
    };
    assert_eq!(load_suspended(&*it.store, "x").await, Some(renewed.clone()));
    for stale in [renew_lease("x", 1, 30), renew_lease("x", -1, 30)] {
        let refused = it.store.commit(vec![stale]).await;
        assert_eq!(refused, Err(StoreError::AlreadyEnded));
    }
    assert_eq!(load_suspended(&*it.store, "x").await, Some(renewed));
    let waits = SuspendedCall {
        asks: json!(["a"]),
        running_until: None,
        fence: 1,
        ..running
    };
    commit(&*it.store, vec![Change::Suspend(waits.clone())]).await;
    assert_eq!(load_suspended(&*it.store, "x").await, Some(waits));
}

pub(crate) async fn who_lost_the_lease_can_not_commit(it: Fixture) {
    let running = running_call("x");
    commit(&*it.store, vec![Change::Suspend(running.clone())]).await;
    commit(&*it.store, vec![take_lease("x", 0, Some(10), 30)]).await;
    let taken = SuspendedCall {
        running_until: Some(at_second(30)),
        fence: 1,
        ..running.clone()
    };
    assert_eq!(load_suspended(&*it.store, "x").await, Some(taken.clone()));
    // The first worker is not dead, only slow: whatever it commits with the call is refused whole.
    let step = SuspendedCall {
        arguments: json!({ "step": 2 }),
        fence: 1,
        ..running
    };
    for late in [
        renew_lease("x", 0, 40),
        end("x", json!(1)),
        Change::Suspend(step),
    ] {
        let changes = vec![late, Change::AddSession(session("s"))];
        let outcome = it.store.commit(changes).await;
        assert_eq!(outcome, Err(StoreError::AlreadyEnded));
    }
    assert_eq!(it.store.sessions(ALL).await.unwrap(), []);
    assert_eq!(load_suspended(&*it.store, "x").await, Some(taken));
    commit(&*it.store, vec![end_under("x", 1, json!(2))]).await;
    let outcome = load_suspended(&*it.store, "x").await.unwrap().outcome;
    assert_eq!(outcome, Some(json!(2)));
}

pub(crate) async fn a_lease_that_was_renewed_is_not_taken(it: Fixture) {
    commit(&*it.store, vec![Change::Suspend(running_call("x"))]).await;
    commit(&*it.store, vec![renew_lease("x", 0, 20)]).await;
    for stale in [
        take_lease("x", 0, Some(10), 30),
        take_lease("x", 0, None, 30),
    ] {
        let refused = it.store.commit(vec![stale]).await;
        assert_eq!(refused, Err(StoreError::AlreadyEnded));
    }
    commit(&*it.store, vec![take_lease("x", 0, Some(20), 30)]).await;
    assert_eq!(load_suspended(&*it.store, "x").await.unwrap().fence, 1);
}

pub(crate) async fn a_call_that_ended_runs_no_more_and_may_have_failed(it: Fixture) {
    let running = SuspendedCall {
        running_until: Some(at_second(10)),
        ..suspended_call("x")
    };
    commit(&*it.store, vec![Change::Suspend(running.clone())]).await;
    let failed = Change::EndSuspension {
        id: "x".into(),
        fence: 0,
        outcome: json!({ "code": "Timeout" }),
        failed: true,
    };
    commit(&*it.store, vec![failed]).await;
    let ended = SuspendedCall {
        running_until: None,
        outcome: Some(json!({ "code": "Timeout" })),
        failed: true,
        ..running
    };
    assert_eq!(load_suspended(&*it.store, "x").await, Some(ended));
    let late = it.store.commit(vec![take_lease("x", 0, None, 20)]).await;
    assert_eq!(late, Err(StoreError::AlreadyEnded));
}

pub(crate) async fn one_of_several_takes_over_a_call(it: Fixture) {
    let abandoned = SuspendedCall {
        running_until: Some(at_second(10)),
        ..suspended_call("x")
    };
    commit(&*it.store, vec![Change::Suspend(abandoned)]).await;
    let other = (it.reopen)();
    let attempts = (0..8).map(|number: i64| {
        let store = if number % 2 == 0 { &it.store } else { &other };
        store.commit(vec![take_lease("x", 0, Some(10), 100 + number)])
    });
    let outcomes = join_all(attempts).await;
    let won = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(won, 1, "{outcomes:?}");
}
