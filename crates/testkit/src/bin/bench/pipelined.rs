//! Measures sixty-four concurrent calls with a provider that takes 100 ms, and the latency of
//! `ping` meanwhile.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    time::{Duration, Instant},
};

use anyhow::ensure;
use deliberate_testkit::StdioClient;
use serde_json::{Value, json};

use crate::{
    report::{BenchReport, ReportRow},
    samples::{DisplayTime, Samples},
    setup::{BenchSetup, DatabaseLocation, check_success, think_arguments},
};

pub(crate) const CALLS: usize = 64;
pub(crate) const PROVIDER: Duration = Duration::from_millis(100);
const PING_INTERVAL: Duration = Duration::from_millis(5);
const TIMEOUT: Duration = Duration::from_mins(1);
const MAX_TOTAL: Duration = Duration::from_millis(200);
const MAX_PING: Duration = Duration::from_millis(5);

pub(crate) async fn measure(bench: &BenchSetup, report: &mut BenchReport) -> anyhow::Result<()> {
    let mut servers = Vec::new();
    for place in bench.locations() {
        let mut server = bench.server(place).await?;
        // Opens the database and the connections, as any earlier use would have done.
        call_concurrently(&mut server, &thoughts()).await?;
        servers.push((place, server, Samples::default(), Samples::default()));
    }
    bench.provider.reset();
    bench
        .provider
        .update_settings(|settings| settings.delay = PROVIDER);
    let rounds = bench.scaled(50).min(5);
    for _ in 0..rounds {
        for (_, server, totals, pings) in &mut servers {
            let (total, waited) = call_concurrently(server, &thoughts()).await?;
            totals.push(total);
            pings.extend(waited);
        }
    }
    bench
        .provider
        .update_settings(|settings| settings.delay = Duration::ZERO);
    for (place, _, totals, pings) in &servers {
        let name = match place {
            DatabaseLocation::Disk => "on disk",
            DatabaseLocation::Ram => "on a RAM disk",
        };
        report.add(ReportRow {
            label: format!(
                "64 pipelined calls, provider 100 ms, {name}, median / worst of {rounds}"
            ),
            baseline: DisplayTime(PROVIDER).to_string(),
            server: totals.percentiles(&[50, 100]),
            result: format!(
                "{} concurrent at the provider",
                bench.provider.peak_concurrency()
            ),
            bar: Some(("≤ 200 ms".to_owned(), totals.median() <= MAX_TOTAL)),
        });
        report.add(ReportRow {
            label: format!("`ping` meanwhile, {name}, p50 / p99 / worst"),
            server: pings.percentiles(&[50, 99, 100]),
            result: "p99".to_owned(),
            bar: Some(("≤ 5 ms".to_owned(), pings.p99() <= MAX_PING)),
            ..ReportRow::default()
        });
    }
    Ok(())
}

/// Returns calls that add a first thought to as many sessions.
fn thoughts() -> Vec<Value> {
    let one = json!({ "name": "reasoning_linear", "arguments": think_arguments(None) });
    vec![one; CALLS]
}

/// Writes all calls, pings until all are answered, and returns the total time and the time of each
/// ping.
pub(crate) async fn call_concurrently(
    server: &mut StdioClient,
    calls: &[Value],
) -> anyhow::Result<(Duration, Vec<Duration>)> {
    let mut lines = String::new();
    let mut open = BTreeSet::new();
    for params in calls {
        let (id, message) = server.make_request("tools/call", params);
        writeln!(lines, "{message}")?;
        open.insert(id);
    }
    let begun = Instant::now();
    server.send_bytes(lines.as_bytes()).await?;
    let mut pings = Vec::new();
    loop {
        let asked = Instant::now();
        server.request("ping", json!({})).await?;
        pings.push(asked.elapsed());
        for message in server.take_buffered() {
            mark_answered(&mut open, &message)?;
        }
        let next_ping = asked + PING_INTERVAL;
        while let Some(left) = next_ping.checked_duration_since(Instant::now())
            && !open.is_empty()
        {
            if let Some(message) = server.next_message_within(left).await? {
                mark_answered(&mut open, &message)?;
            }
        }
        let total = begun.elapsed();
        if open.is_empty() {
            return Ok((total, pings));
        }
        ensure!(total < TIMEOUT, "{} calls are not answered", open.len());
    }
}

fn mark_answered(open: &mut BTreeSet<u64>, message: &Value) -> anyhow::Result<()> {
    if message["id"].as_u64().is_some_and(|id| open.remove(&id)) {
        check_success(message)?;
    }
    Ok(())
}
