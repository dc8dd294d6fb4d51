//! Measures the throughput of sixty-four connections compared with the baseline, and the memory it
//! takes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::ensure;
use deliberate_testkit::load::{ClientProtocol, LoadClient, ServerProcess};
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    http::{BenchCall, ServerPair, echo_call, read_calls},
    report::{BenchReport, ReportRow},
    samples::median_rate,
    setup::BenchSetup,
};

const CONNECTIONS: usize = 64;
const ROUNDS: usize = 5;
const CALLS_PER_ROUND: usize = 4_000;
const MIN_SHARE: f64 = 0.7;

pub(crate) async fn measure(bench: &BenchSetup, report: &mut BenchReport) -> anyhow::Result<()> {
    let pair = ServerPair::start(bench).await?;
    for era in ClientProtocol::ALL {
        let mut subjects = vec![ConnectionGroup::new(&pair.baseline, era, &echo_call())];
        for call in read_calls(&pair.graph) {
            subjects.push(ConnectionGroup::new(&pair.server, era, &call));
        }
        // The first round fills caches and pools and is not counted.
        for round in 0..=ROUNDS {
            for crowd in &mut subjects {
                crowd.run(bench.scaled(CALLS_PER_ROUND), round > 0).await?;
            }
        }
        let Some((floor, servers)) = subjects.split_first() else {
            continue;
        };
        for server in servers {
            report.add(comparison_row(era, floor, server));
        }
    }
    report.add(ReportRow {
        label: "memory after that".to_owned(),
        baseline: format!("{} MB", pair.baseline.resident_kib()? / 1024),
        server: format!("{} MB", pair.server.resident_kib()? / 1024),
        ..ReportRow::default()
    });
    Ok(())
}

fn comparison_row(
    era: ClientProtocol,
    floor: &ConnectionGroup,
    server: &ConnectionGroup,
) -> ReportRow {
    let share = server.rate() / floor.rate().max(1.0);
    ReportRow {
        label: format!(
            "`{}` over {CONNECTIONS} connections ({}), requests a second, median of {ROUNDS}",
            server.tool,
            era.version()
        ),
        baseline: format!("{:.0}", floor.rate()),
        server: format!("{:.0}", server.rate()),
        result: format!("{share:.2} of the baseline"),
        bar: Some((format!("≥ {MIN_SHARE}"), share >= MIN_SHARE)),
    }
}

/// The same call on many connections that stay open between rounds.
struct ConnectionGroup {
    tool: &'static str,
    request: Arc<[u8]>,
    callers: Vec<LoadClient>,
    rates: Vec<f64>,
}

impl ConnectionGroup {
    fn new(server: &ServerProcess, era: ClientProtocol, call: &BenchCall) -> Self {
        let host = server.address();
        let params = json!({ "name": call.tool, "arguments": call.arguments });
        let callers = (0..CONNECTIONS).map(|_| LoadClient::new(host, era, 1));
        Self {
            tool: call.tool,
            request: era.request(host, 1, "tools/call", params).into(),
            callers: callers.collect(),
            rates: Vec::new(),
        }
    }

    /// Makes this many requests; each free connection makes the next one.
    async fn run(&mut self, requests: usize, counted: bool) -> anyhow::Result<()> {
        let taken = Arc::new(AtomicUsize::new(0));
        let mut running = JoinSet::new();
        let begun = Instant::now();
        for mut caller in self.callers.drain(..) {
            let (taken, request) = (Arc::clone(&taken), Arc::clone(&self.request));
            running.spawn(async move {
                while taken.fetch_add(1, Ordering::Relaxed) < requests {
                    let answer = caller.exchange(&request).await?;
                    ensure!(answer.is_success(), "{}", answer.summary());
                }
                anyhow::Ok(caller)
            });
        }
        while let Some(ended) = running.join_next().await {
            self.callers.push(ended??);
        }
        if counted {
            self.rates.push(rate(requests, begun.elapsed()));
        }
        Ok(())
    }

    fn rate(&self) -> f64 {
        median_rate(&self.rates)
    }
}

fn rate(requests: usize, time: Duration) -> f64 {
    requests as f64 / time.as_secs_f64().max(1e-9)
}
