//! What sixty-four connections get through in a second, against the floor, and the memory it took.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::ensure;
use deliberate_testkit::load::{Caller, Era, Server};
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    http::{Call, Pair, echo, reads},
    report::{Report, Row},
    setup::Bench,
};

const CONNECTIONS: usize = 64;
const ROUNDS: usize = 5;
const A_ROUND: usize = 4_000;
const LEAST_SHARE: f64 = 0.7;

pub(crate) async fn measure(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let pair = Pair::start(bench).await?;
    for era in Era::ALL {
        let mut subjects = vec![Crowd::new(&pair.floor, era, &echo())];
        for call in reads(&pair.graph) {
            subjects.push(Crowd::new(&pair.server, era, &call));
        }
        // The first round fills caches and pools and is not counted.
        for round in 0..=ROUNDS {
            for crowd in &mut subjects {
                crowd.run(bench.times(A_ROUND), round > 0).await?;
            }
        }
        let Some((floor, servers)) = subjects.split_first() else {
            continue;
        };
        for server in servers {
            report.add(compared(era, floor, server));
        }
    }
    report.add(Row {
        what: "memory after that".to_owned(),
        floor: format!("{} MB", pair.floor.resident_kib()? / 1024),
        server: format!("{} MB", pair.server.resident_kib()? / 1024),
        ..Row::default()
    });
    Ok(())
}

fn compared(era: Era, floor: &Crowd, server: &Crowd) -> Row {
    let share = server.rate() / floor.rate().max(1.0);
    Row {
        what: format!(
            "`{}` over {CONNECTIONS} connections ({}), requests a second, median of {ROUNDS}",
            server.tool,
            era.version()
        ),
        floor: format!("{:.0}", floor.rate()),
        server: format!("{:.0}", server.rate()),
        judged: format!("{share:.2} of the floor"),
        bar: Some((format!("≥ {LEAST_SHARE}"), share >= LEAST_SHARE)),
    }
}

/// The same call on many connections that are kept from round to round.
struct Crowd {
    tool: &'static str,
    request: Arc<[u8]>,
    callers: Vec<Caller>,
    rates: Vec<f64>,
}

impl Crowd {
    fn new(server: &Server, era: Era, call: &Call) -> Self {
        let host = server.address();
        let params = json!({ "name": call.tool, "arguments": call.arguments });
        let callers = (0..CONNECTIONS).map(|_| Caller::new(host, era, 1));
        Self {
            tool: call.tool,
            request: era.request(host, 1, "tools/call", params).into(),
            callers: callers.collect(),
            rates: Vec::new(),
        }
    }

    /// Makes this many requests; whoever is free makes the next.
    async fn run(&mut self, requests: usize, counted: bool) -> anyhow::Result<()> {
        let taken = Arc::new(AtomicUsize::new(0));
        let mut running = JoinSet::new();
        let begun = Instant::now();
        for mut caller in self.callers.drain(..) {
            let (taken, request) = (Arc::clone(&taken), Arc::clone(&self.request));
            running.spawn(async move {
                while taken.fetch_add(1, Ordering::Relaxed) < requests {
                    let answer = caller.exchange(&request).await?;
                    ensure!(answer.is_success(), "{}", answer.shown());
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
        let mut sorted = self.rates.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    }
}

fn rate(requests: usize, time: Duration) -> f64 {
    requests as f64 / time.as_secs_f64().max(1e-9)
}
