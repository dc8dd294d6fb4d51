//! Usage statistics from the invocation log.

use deliberate_core::{Change, Invocation};
use deliberate_store::{Pagination, Store, ToolUsage};

use super::{ALL, Fixture, commit};
use crate::samples::{at_second, full_invocation, invocation};

fn call(id: &str, tool: &str, second: i64, took: Option<i64>, success: bool) -> Invocation {
    Invocation {
        tool_name: tool.to_owned(),
        latency_ms: took,
        success,
        created_at: at_second(second),
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

fn tool_usage(tool: &str, [calls, failed, total_ms, most_ms]: [u64; 4]) -> ToolUsage {
    ToolUsage {
        tool: tool.to_owned(),
        calls,
        failed,
        total_ms,
        max_ms: most_ms,
    }
}

/// Logs three calls of one tool and two of another, in the order of their numbers, not their times.
async fn record_sample_calls(store: &dyn Store) {
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
    assert_eq!(it.store.tool_usage(None).await.unwrap(), []);
    record_sample_calls(&*it.store).await;
    let wanted = [
        tool_usage("chain", [3, 2, 81, 70]),
        tool_usage("think", [2, 0, 3, 2]),
    ];
    assert_eq!(it.store.tool_usage(None).await.unwrap(), wanted);
}

pub(crate) async fn figures_count_what_is_not_older(it: Fixture) {
    record_sample_calls(&*it.store).await;
    let wanted = [
        tool_usage("chain", [2, 1, 11, 6]),
        tool_usage("think", [2, 0, 3, 2]),
    ];
    assert_eq!(
        it.store.tool_usage(Some(at_second(20))).await.unwrap(),
        wanted
    );
    let wanted = [tool_usage("think", [1, 0, 2, 2])];
    assert_eq!(
        it.store.tool_usage(Some(at_second(31))).await.unwrap(),
        wanted
    );
    assert_eq!(it.store.tool_usage(Some(at_second(41))).await.unwrap(), []);
}

pub(crate) async fn a_tools_calls_come_newest_first_in_pages(it: Fixture) {
    record_sample_calls(&*it.store).await;
    let whole = Invocation {
        tool_name: "chain".to_owned(),
        session_id: None,
        created_at: at_second(20),
        ..full_invocation("6", "s")
    };
    record(&*it.store, vec![whole.clone()]).await;
    let ids = async |tool: &str, since, page| {
        let calls = it.store.tool_invocations(tool, since, page).await.unwrap();
        let ids: Vec<_> = calls.iter().map(|it| it.id.as_str()).collect();
        ids.concat()
    };
    assert_eq!(ids("chain", None, ALL).await, "1642");
    assert_eq!(ids("chain", Some(at_second(20)), ALL).await, "164");
    let page = Pagination {
        offset: 1,
        limit: 2,
    };
    assert_eq!(ids("chain", None, page).await, "64");
    assert_eq!(ids("think", None, ALL).await, "53");
    assert_eq!(ids("never called", None, ALL).await, "");
    let calls = it.store.tool_invocations("chain", None, ALL).await.unwrap();
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
        tool_usage("endless", [2, 0, most, most]),
        tool_usage("backwards", [1, 0, 0, 0]),
        tool_usage("unknown", [1, 0, 0, 0]),
    ];
    assert_eq!(it.store.tool_usage(None).await.unwrap(), wanted);
}
