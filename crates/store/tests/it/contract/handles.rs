//! Several handles on the same data, and closing them.

use std::sync::Arc;

use deliberate_core::{Change, Mode};
use deliberate_store::{SearchQuery, Store, StoreError};
use futures::future::join_all;

use super::{ALL, Current, Fixture, commit};
use crate::samples::{everything, session, suspended_call, thought};

pub(crate) async fn another_handle_sees_everything(it: Fixture) {
    let all = everything("s");
    let suspended = suspended_call("x");
    commit(&*it.store, all.changes()).await;
    commit(&*it.store, vec![Change::Suspend(suspended.clone())]).await;
    let other = (it.reopen)();
    super::round_trip::assert_everything(&*other, &all).await;
    assert_eq!(
        other.suspended_call(&"x".into()).await.unwrap(),
        Some(suspended)
    );
    assert_eq!(other.info().await.unwrap(), it.store.info().await.unwrap());
}

pub(crate) async fn what_was_committed_survives_closing(it: Fixture) {
    let all = everything("s");
    commit(&*it.store, all.changes()).await;
    it.store.close().await;
    let again = (it.reopen)();
    super::round_trip::assert_everything(&*again, &all).await;
    commit(&*again, vec![Change::AddThought(thought("more", "s"))]).await;
}

/// Asserts that every operation fails because the store is closed.
async fn assert_closed(store: &dyn Store) {
    let closed = StoreError::Closed;
    let search = SearchQuery {
        text: "word".to_owned(),
        mode: Some(Mode::Linear),
        limit: 5,
        ..SearchQuery::default()
    };
    let change = Change::AddSession(session("late"));
    assert_eq!(store.commit(vec![change]).await, Err(closed.clone()));
    assert_eq!(store.commit(Vec::new()).await, Err(closed.clone()));
    assert_eq!(store.session(&"s".into()).await, Err(closed.clone()));
    assert_eq!(store.sessions(ALL).await, Err(closed.clone()));
    assert_eq!(
        store.thoughts(&"s".into(), Current, ALL).await,
        Err(closed.clone())
    );
    assert_eq!(
        store.latest_thoughts(&"s".into(), 1).await,
        Err(closed.clone())
    );
    assert_eq!(store.invocations(None, ALL).await, Err(closed.clone()));
    assert_eq!(store.suspended_call(&"x".into()).await, Err(closed.clone()));
    assert_eq!(store.search(&search).await, Err(closed.clone()));
    assert_eq!(store.info().await, Err(closed));
}

pub(crate) async fn a_closed_store_refuses_everything(it: Fixture) {
    commit(&*it.store, everything("s").changes()).await;
    it.store.session(&"s".into()).await.unwrap();
    it.store.close().await;
    assert_closed(&*it.store).await;
    // Closing twice does no harm.
    it.store.close().await;
    assert_closed(&*it.store).await;
}

pub(crate) async fn a_store_closed_before_its_first_use_stays_closed(it: Fixture) {
    it.store.close().await;
    assert_closed(&*it.store).await;
}

pub(crate) async fn closing_finishes_what_was_begun(it: Fixture) {
    commit(&*it.store, vec![Change::AddSession(session("s"))]).await;
    let tasks: Vec<_> = (0..64)
        .map(|number| {
            let store = Arc::clone(&it.store);
            let step = thought(&format!("t{number}"), "s");
            tokio::spawn(async move { store.commit(vec![Change::AddThought(step)]).await })
        })
        .collect();
    // Some commits have begun by now, some have not; both results are correct.
    tokio::task::yield_now().await;
    it.store.close().await;
    let mut kept = 0;
    for outcome in join_all(tasks).await {
        match outcome.unwrap() {
            Ok(()) => kept += 1,
            Err(error) => assert_eq!(error, StoreError::Closed),
        }
    }
    let thoughts = (it.reopen)()
        .thoughts(&"s".into(), Current, ALL)
        .await
        .unwrap();
    assert_eq!(thoughts.len(), kept);
}

pub(crate) async fn handles_write_side_by_side(it: Fixture) {
    let handles: Vec<_> = (0..4).map(|_| (it.reopen)()).collect();
    let tasks: Vec<_> = handles
        .iter()
        .enumerate()
        .map(|(handle, store)| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                for number in 0..25 {
                    let name = format!("h{handle}-{number}");
                    let changes = vec![
                        Change::AddSession(session(&name)),
                        Change::AddThought(thought(&name, &name)),
                    ];
                    store.commit(changes).await.unwrap();
                }
            })
        })
        .collect();
    for outcome in join_all(tasks).await {
        outcome.unwrap();
    }
    let state = it.store.info().await.unwrap();
    assert_eq!((state.sessions, state.thoughts), (100, 100));
}
