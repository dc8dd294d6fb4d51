//! Old records of the invocation log are deleted, and nothing that a user made.

use std::{path::Path, sync::Arc};

use deliberate_core::{Change, Invocation};
use deliberate_store::{
    Pagination, Store as _,
    sqlite::{LogRetention, SqliteStore},
};
use serde_json::json;

use crate::{
    samples::{at_second, everything, invocation, session, suspended_call},
    sqlite::{open, raw_connection},
};

fn record(number: i64, bytes: usize) -> Change {
    Change::AddInvocation(Invocation {
        input: json!({ "content": "x".repeat(bytes) }),
        created_at: at_second(number),
        ..invocation(&format!("i{number}"), None)
    })
}

async fn record_ids(store: &SqliteStore) -> Vec<String> {
    let page = Pagination::limit(1_000);
    let records = store.invocations(None, page).await.unwrap();
    records.into_iter().map(|it| it.id.to_string()).collect()
}

async fn pages(path: &Path) -> i64 {
    let mut connection = raw_connection(path).await;
    sqlx::query_scalar("PRAGMA page_count")
        .fetch_one(&mut connection)
        .await
        .unwrap()
}

#[tokio::test]
async fn records_beyond_their_age_go_and_the_rest_stays() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("store.db"));
    let all = everything("s");
    let kept = all.invocations.len();
    store.commit(all.changes()).await.unwrap();
    // Two and a half steps.
    store
        .commit((20..520).map(|number| record(number, 10)).collect())
        .await
        .unwrap();
    let before = store.info().await.unwrap();
    let retention = LogRetention {
        before: Some(at_second(515)),
        max_bytes: None,
    };
    let pruned = store.prune_log(&retention, at_second(520)).await.unwrap();
    assert_eq!(pruned.records, 495 + u64::try_from(kept).unwrap());
    assert_eq!(
        record_ids(&store).await,
        ["i519", "i518", "i517", "i516", "i515"]
    );
    // Sessions with all that belongs to them are the user's.
    assert_eq!(store.info().await.unwrap(), before);
    let again = store.prune_log(&retention, at_second(520)).await.unwrap();
    assert_eq!(again.records, 0);
}

#[tokio::test]
async fn the_oldest_records_beyond_the_size_go_and_the_file_shrinks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path);
    store
        .commit((0..400).map(|number| record(number, 10_000)).collect())
        .await
        .unwrap();
    let large = pages(&path).await;
    let retention = |bytes| LogRetention {
        before: None,
        max_bytes: Some(bytes),
    };
    let nothing = store.prune_log(&retention(1 << 30), at_second(0)).await;
    assert_eq!(nothing.unwrap().records, 0);
    let pruned = store
        .prune_log(&retention(200_000), at_second(0))
        .await
        .unwrap();
    let left = record_ids(&store).await;
    assert_eq!(left.first().unwrap(), "i399");
    assert!((15..=20).contains(&left.len()), "{}", left.len());
    assert_eq!(pruned.records, 400 - u64::try_from(left.len()).unwrap());
    assert!(pruned.pages > 500, "{pruned:?}");
    let small = pages(&path).await;
    assert!(small * 2 < large, "{large} pages became {small}");
    store.check_integrity().await.unwrap();
}

#[tokio::test]
async fn suspended_calls_go_when_they_have_expired() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("store.db"));
    store
        .commit(vec![Change::Suspend(suspended_call("c"))])
        .await
        .unwrap();
    let retention = LogRetention::default();
    let early = store.prune_log(&retention, at_second(999)).await.unwrap();
    assert_eq!(early.suspended_calls, 0);
    let late = store.prune_log(&retention, at_second(1_001)).await.unwrap();
    assert_eq!(late.suspended_calls, 1);
    assert_eq!(store.suspended_call(&"c".into()).await.unwrap(), None);
}

#[tokio::test]
async fn commits_do_not_wait_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&folder.path().join("store.db")));
    for start in 0..10 {
        let records = (start * 1_000)..((start + 1) * 1_000);
        store
            .commit(records.map(|number| record(number, 500)).collect())
            .await
            .unwrap();
    }
    let pruning = tokio::spawn({
        let store = store.clone();
        let retention = LogRetention {
            before: Some(at_second(10_000)),
            max_bytes: None,
        };
        async move { store.prune_log(&retention, at_second(0)).await.unwrap() }
    });
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    for number in 0..5 {
        let added = Change::AddSession(session(&format!("s{number}")));
        store.commit(vec![added]).await.unwrap();
    }
    assert!(!pruning.is_finished(), "the commits came after it");
    assert_eq!(pruning.await.unwrap().records, 10_000);
}

#[tokio::test]
async fn the_backup_of_a_file_without_incremental_vacuum_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (
        folder.path().join("store.db"),
        folder.path().join("copy.db"),
    );
    let store = open(&path);
    store
        .commit(vec![Change::AddSession(session("s"))])
        .await
        .unwrap();
    store.close().await;
    let mode = async |path: &Path| -> i64 {
        sqlx::query_scalar("PRAGMA auto_vacuum")
            .fetch_one(&mut raw_connection(path).await)
            .await
            .unwrap()
    };
    assert_eq!(mode(&path).await, 2, "a new file has it");
    let mut old = raw_connection(&path).await;
    for sql in ["PRAGMA auto_vacuum = NONE", "VACUUM"] {
        sqlx::query(sql).execute(&mut old).await.unwrap();
    }
    drop(old);
    assert_eq!(mode(&path).await, 0);
    let store = open(&path);
    store.backup_to(&copy).await.unwrap();
    assert_eq!(mode(&copy).await, 2);
    assert_eq!(mode(&path).await, 0, "the file itself is as it was");
    let nothing = store
        .prune_log(&LogRetention::default(), at_second(0))
        .await;
    assert_eq!(nothing.unwrap().pages, 0);
}
