//! Sixty-four calls at once against a provider that takes 100 ms, and what a `ping` waits
//! meanwhile.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    time::{Duration, Instant},
};

use anyhow::ensure;
use deliberate_testkit::Client;
use serde_json::{Value, json};

use crate::{
    report::{Report, Row},
    samples::{Samples, Time},
    setup::{Bench, Place, arguments, succeeded},
};

pub(crate) const CALLS: usize = 64;
pub(crate) const PROVIDER: Duration = Duration::from_millis(100);
const PING_EVERY: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_mins(1);
const MOST_IN_ALL: Duration = Duration::from_millis(200);
const MOST_PING: Duration = Duration::from_millis(5);

pub(crate) async fn measure(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let mut servers = Vec::new();
    for place in bench.places() {
        let mut server = bench.server(place).await?;
        // Opens the database and the connections, as any earlier use would have.
        at_once(&mut server, &thoughts()).await?;
        servers.push((place, server, Samples::default(), Samples::default()));
    }
    bench.standin.reset();
    bench.standin.set(|settings| settings.delay = PROVIDER);
    let rounds = bench.times(50).min(5);
    for _ in 0..rounds {
        for (_, server, totals, pings) in &mut servers {
            let (total, waited) = at_once(server, &thoughts()).await?;
            totals.push(total);
            pings.extend(waited);
        }
    }
    bench
        .standin
        .set(|settings| settings.delay = Duration::ZERO);
    for (place, _, totals, pings) in &servers {
        let name = match place {
            Place::Disk => "on disk",
            Place::Ram => "on a RAM disk",
        };
        report.add(Row {
            what: format!(
                "64 pipelined calls, provider 100 ms, {name}, median / worst of {rounds}"
            ),
            floor: Time(PROVIDER).to_string(),
            server: format!("{} / {}", Time(totals.median()), Time(totals.max())),
            judged: format!("{} at the provider at once", bench.standin.peak()),
            bar: Some(("≤ 200 ms".to_owned(), totals.median() <= MOST_IN_ALL)),
        });
        report.add(Row {
            what: format!("`ping` meanwhile, {name}, p50 / p99 / worst"),
            server: format!(
                "{} / {} / {}",
                Time(pings.median()),
                Time(pings.p99()),
                Time(pings.max())
            ),
            judged: "p99".to_owned(),
            bar: Some(("≤ 5 ms".to_owned(), pings.p99() <= MOST_PING)),
            ..Row::default()
        });
    }
    Ok(())
}

/// A first thought in as many sessions.
fn thoughts() -> Vec<Value> {
    let one = json!({ "name": "reasoning_linear", "arguments": arguments(None) });
    vec![one; CALLS]
}

/// Writes all calls, pings until all are answered, and returns the time in all and each ping's.
pub(crate) async fn at_once(
    server: &mut Client,
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
        for message in server.take_kept() {
            close(&mut open, &message)?;
        }
        let next_ping = asked + PING_EVERY;
        while let Some(left) = next_ping.checked_duration_since(Instant::now())
            && !open.is_empty()
        {
            if let Some(message) = server.next_message_within(left).await? {
                close(&mut open, &message)?;
            }
        }
        let total = begun.elapsed();
        if open.is_empty() {
            return Ok((total, pings));
        }
        ensure!(total < PATIENCE, "{} calls are not answered", open.len());
    }
}

fn close(open: &mut BTreeSet<u64>, message: &Value) -> anyhow::Result<()> {
    if message["id"].as_u64().is_some_and(|id| open.remove(&id)) {
        succeeded(message)?;
    }
    Ok(())
}
