//! What the records of calls tell about each tool.

use deliberate_core::{Change, Invocation};
use deliberate_store::{Page, Store, Usage};

use super::{ALL, Fixture, commit};
use crate::samples::{at, full_invocation, invocation};

fn call(id: &str, tool: &str, second: i64, took: Option<i64>, success: bool) -> Invocation {
    Invocation {
        tool_name: tool.to_owned(),
        latency_ms: took,
        success,
        created_at: at(second),
        ..invocation(id, None)
    }
}

async fn record(store: &dyn Store, calls: Vec<Invocation>) {
    commit(
        store,
        calls.into_iter().map(Change::AddInvocation).collect(),
    )
    .await;
}

fn figures(tool: &str, [calls, failed, total_ms, most_ms]: [u64; 4]) -> Usage {
    Usage {
        tool: tool.to_owned(),
        calls,
        failed,
        total_ms,
        most_ms,
    }
}

/// Three calls of one tool, two of another, in the order of their numbers but not of their times.
async fn some_calls(store: &dyn Store) {
    record(
        store,
        vec![
            call("1", "chain", 30, Some(5), true),
            call("2", "chain", 10, Some(70), false),
            call("3", "think", 20, Some(1), true),
            call("4", "chain", 20, Some(6), false),
            call("5", "think", 40, Some(2), true),
        ],
    )
    .await;
}

pub(crate) async fn figures_are_those_of_each_tool(it: Fixture) {
    assert_eq!(it.store.usage(None).await.unwrap(), []);
    some_calls(&*it.store).await;
    let wanted = [
        figures("chain", [3, 2, 81, 70]),
        figures("think", [2, 0, 3, 2]),
    ];
    assert_eq!(it.store.usage(None).await.unwrap(), wanted);
}

pub(crate) async fn figures_count_what_is_not_older(it: Fixture) {
    some_calls(&*it.store).await;
    let wanted = [
        figures("chain", [2, 1, 11, 6]),
        figures("think", [2, 0, 3, 2]),
    ];
    assert_eq!(it.store.usage(Some(at(20))).await.unwrap(), wanted);
    let wanted = [figures("think", [1, 0, 2, 2])];
    assert_eq!(it.store.usage(Some(at(31))).await.unwrap(), wanted);
    assert_eq!(it.store.usage(Some(at(41))).await.unwrap(), []);
}

pub(crate) async fn a_tools_calls_come_newest_first_in_pages(it: Fixture) {
    some_calls(&*it.store).await;
    let whole = Invocation {
        tool_name: "chain".to_owned(),
        session_id: None,
        created_at: at(20),
        ..full_invocation("6", "s")
    };
    record(&*it.store, vec![whole.clone()]).await;
    let ids = async |tool: &str, since, page| {
        let calls = it.store.invocations_of(tool, since, page).await.unwrap();
        let ids: Vec<_> = calls.iter().map(|it| it.id.as_str()).collect();
        ids.concat()
    };
    assert_eq!(ids("chain", None, ALL).await, "1642");
    assert_eq!(ids("chain", Some(at(20)), ALL).await, "164");
    let page = Page {
        offset: 1,
        limit: 2,
    };
    assert_eq!(ids("chain", None, page).await, "64");
    assert_eq!(ids("think", None, ALL).await, "53");
    assert_eq!(ids("never called", None, ALL).await, "");
    let calls = it.store.invocations_of("chain", None, ALL).await.unwrap();
    assert_eq!(calls[1], whole);
}

pub(crate) async fn a_time_that_is_not_known_counts_nothing(it: Fixture) {
    record(
        &*it.store,
        vec![
            call("1", "unknown", 0, None, true),
            call("2", "backwards", 0, Some(-5), true),
            call("3", "endless", 0, Some(i64::MAX), true),
            call("4", "endless", 0, Some(i64::MAX), true),
        ],
    )
    .await;
    let most = i64::MAX.unsigned_abs();
    let wanted = [
        figures("endless", [2, 0, most, most]),
        figures("backwards", [1, 0, 0, 0]),
        figures("unknown", [1, 0, 0, 0]),
    ];
    assert_eq!(it.store.usage(None).await.unwrap(), wanted);
}
