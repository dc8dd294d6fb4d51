//! Usage statistics from the invocation log.

use deliberate_core::{Change, Invocation, ModelUsage, Timestamp};
use deliberate_store::{
    Pagination, Store, UsageFigures, UsageGroup, UsageQuery, UsageReport, UsageRow, UtcOffset,
};

use super::{ALL, Fixture, commit};
use crate::samples::{at_second, full_invocation, invocation, session};

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

fn tool_usage(tool: &str, [calls, failed, total_ms, max_ms]: [u64; 4]) -> UsageRow {
    UsageRow {
        key: Some(tool.to_owned()),
        figures: UsageFigures {
            calls,
            failed,
            total_ms,
            max_ms,
            ..UsageFigures::default()
        },
    }
}

async fn usage_by_tool(it: &Fixture, since: Option<Timestamp>) -> Vec<UsageRow> {
    let query = UsageQuery {
        since,
        ..UsageQuery::new(UsageGroup::Tool)
    };
    it.store.usage(&query).await.unwrap().rows
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
    assert_eq!(usage_by_tool(&it, None).await, []);
    record_sample_calls(&*it.store).await;
    let wanted = [
        tool_usage("chain", [3, 2, 81, 70]),
        tool_usage("think", [2, 0, 3, 2]),
    ];
    assert_eq!(usage_by_tool(&it, None).await, wanted);
}

pub(crate) async fn figures_count_what_is_not_older(it: Fixture) {
    record_sample_calls(&*it.store).await;
    let wanted = [
        tool_usage("chain", [2, 1, 11, 6]),
        tool_usage("think", [2, 0, 3, 2]),
    ];
    assert_eq!(usage_by_tool(&it, Some(at_second(20))).await, wanted);
    let wanted = [tool_usage("think", [1, 0, 2, 2])];
    assert_eq!(usage_by_tool(&it, Some(at_second(31))).await, wanted);
    assert_eq!(usage_by_tool(&it, Some(at_second(41))).await, []);
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
    assert_eq!(usage_by_tool(&it, None).await, wanted);
}

/// A call that asked a model: its session, time, model, provider, tokens and cost.
fn thought(
    id: &str,
    session: Option<&str>,
    second: i64,
    (model, provider): (Option<&str>, &str),
    cost_usd: Option<f64>,
) -> Invocation {
    Invocation {
        pipe_name: Some(provider.to_owned()),
        latency_ms: Some(100),
        spent: ModelUsage {
            model: model.map(str::to_owned),
            model_calls: 2,
            prompt_tokens: 30,
            completion_tokens: 4,
            cost_usd,
        },
        created_at: at_second(second),
        ..invocation(id, session)
    }
}

/// Logs two priced calls of a model, one call whose cost is not known, one reply of the client's
/// model, and one call without a model.
async fn record_thoughts(store: &dyn Store) {
    commit(store, vec![Change::AddSession(session("s"))]).await;
    let large = (Some("large"), "cloud");
    record(
        store,
        vec![
            thought("1", Some("s"), 10, large, Some(0.25)),
            thought("2", Some("s"), 20, large, Some(0.5)),
            thought("3", Some("s"), 30, large, None),
            thought("4", None, 40, (None, "client"), None),
            call("5", "reasoning_get", 50, Some(7), true),
        ],
    )
    .await;
}

/// Returns keys with calls, tokens sent, cost and calls without a known cost.
fn summarize(report: &UsageReport) -> Vec<(&str, u64, u64, Option<f64>, u64)> {
    let rows = report.rows.iter();
    rows.map(|row| {
        let it = &row.figures;
        let key = row.key.as_deref().unwrap_or("-");
        (
            key,
            it.calls,
            it.prompt_tokens,
            it.cost_usd,
            it.unpriced_calls,
        )
    })
    .collect()
}

pub(crate) async fn an_unknown_cost_is_not_zero(it: Fixture) {
    record_thoughts(&*it.store).await;
    let report = it.store.usage(&UsageQuery::new(UsageGroup::Model)).await;
    let report = report.unwrap();
    assert_eq!(
        summarize(&report),
        [
            ("large", 3, 90, Some(0.75), 1),
            ("-", 1, 0, None, 0),
            ("client", 1, 30, None, 1),
        ]
    );
    let total = UsageFigures {
        calls: 5,
        failed: 0,
        model_calls: 8,
        prompt_tokens: 120,
        completion_tokens: 16,
        cost_usd: Some(0.75),
        unpriced_calls: 2,
        total_ms: 407,
        max_ms: 100,
    };
    assert_eq!((report.total, report.group_count), (total, 3));
}

pub(crate) async fn usage_is_of_the_session_and_the_time_that_are_asked_for(it: Fixture) {
    record_thoughts(&*it.store).await;
    let by_session = UsageQuery::new(UsageGroup::Session);
    let report = it.store.usage(&by_session).await.unwrap();
    assert_eq!(
        summarize(&report),
        [("-", 2, 30, None, 1), ("s", 3, 90, Some(0.75), 1)]
    );
    let query = UsageQuery {
        session: Some("s".into()),
        since: Some(at_second(20)),
        until: Some(at_second(30)),
        ..by_session.clone()
    };
    let report = it.store.usage(&query).await.unwrap();
    assert_eq!(summarize(&report), [("s", 1, 30, Some(0.5), 0)]);
    assert_eq!(report.total, report.rows[0].figures);
    let query = UsageQuery {
        session: Some("unknown".into()),
        ..by_session
    };
    let report = it.store.usage(&query).await.unwrap();
    assert_eq!(report, UsageReport::default());
}

pub(crate) async fn totals_count_the_groups_beyond_the_limit(it: Fixture) {
    record_sample_calls(&*it.store).await;
    let query = UsageQuery {
        limit: 1,
        ..UsageQuery::new(UsageGroup::Tool)
    };
    let report = it.store.usage(&query).await.unwrap();
    assert_eq!(report.rows, [tool_usage("chain", [3, 2, 81, 70])]);
    assert_eq!((report.total.calls, report.group_count), (5, 2));
}

pub(crate) async fn days_are_those_of_the_time_zone(it: Fixture) {
    let at = |time: &str| Timestamp::parse(time).unwrap();
    let calls = [
        "2026-10-24T22:30:00Z",
        "2026-10-25T22:30:00Z",
        "2026-10-25T23:30:00Z",
    ];
    let calls = calls.iter().enumerate().map(|(number, time)| Invocation {
        created_at: at(time),
        ..invocation(&number.to_string(), None)
    });
    record(&*it.store, calls.collect()).await;
    let days = async |utc_offsets| {
        let query = UsageQuery {
            utc_offsets,
            ..UsageQuery::new(UsageGroup::Day)
        };
        let report = it.store.usage(&query).await.unwrap();
        let rows = report.rows.iter();
        let rows = rows.map(|row| format!("{} {}", row.key.as_ref().unwrap(), row.figures.calls));
        rows.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(days(vec![]).await, "2026-10-25 2, 2026-10-24 1");
    // Summer time ends at 01:00 UTC on October 25.
    let offset = |time, hours: i32| UtcOffset {
        since: at(time),
        seconds: hours * 3600,
    };
    let berlin = vec![
        offset("2026-03-29T01:00:00Z", 2),
        offset("2026-10-25T01:00:00Z", 1),
    ];
    assert_eq!(days(berlin).await, "2026-10-26 1, 2026-10-25 2");
}
