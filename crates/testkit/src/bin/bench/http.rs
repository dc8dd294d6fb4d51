//! Calls that ask no model, one after another, over HTTP and over pipes; and the start of the
//! process to its first answer over each.

use std::time::{Duration, Instant};

use anyhow::ensure;
use deliberate_testkit::{
    Client,
    load::{Caller, Era, Server},
};
use serde_json::{Value, json};

use crate::{
    report::{Report, Row},
    samples::{Samples, Time, ratio},
    setup::{Bench, CONTENT, Place, succeeded},
    start::first_answer,
};

const ROUNDS: usize = 10;
const A_ROUND: usize = 100;
const STARTS: usize = 20;
const MOST_TIMES: f64 = 1.5;
const MOST_START_TIMES: f64 = 3.0;

pub(crate) async fn measure(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    start(bench, report).await?;
    over_http(bench, report).await?;
    over_pipes(bench, report).await
}

/// A tool and its arguments.
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
}

/// What the floor is asked.
pub(crate) fn echo() -> Call {
    Call {
        tool: "echo",
        arguments: json!({ "text": CONTENT }),
    }
}

/// The tools that only read: a list, a graph's figures, and the graph itself.
pub(crate) fn reads(graph: &str) -> [Call; 3] {
    let call = |tool, arguments| Call { tool, arguments };
    [
        call("reasoning_sessions", json!({ "limit": 5 })),
        call("reasoning_got_state", json!({ "graph_id": graph })),
        call("reasoning_get", json!({ "id": graph })),
    ]
}

/// The floor and the server over HTTP, with a graph to read in it.
pub(crate) struct Pair {
    pub(crate) floor: Server,
    pub(crate) server: Server,
    pub(crate) graph: String,
}

impl Pair {
    pub(crate) async fn start(bench: &Bench) -> anyhow::Result<Self> {
        let mut floor = bench.spawn_http_floor()?;
        floor.listening().await?;
        let mut server = bench.spawn_http_server(bench.fastest())?;
        server.listening().await?;
        let mut caller = Caller::new(server.address(), Era::Legacy, 1);
        let made = caller.call("reasoning_got_init", json!({ "content": CONTENT }));
        Ok(Self {
            floor,
            graph: graph_of(&made.await?)?,
            server,
        })
    }
}

fn graph_of(made: &Value) -> anyhow::Result<String> {
    let graph = made["graph_id"].as_str();
    ensure!(graph.is_some(), "no graph was made: {made}");
    Ok(graph.unwrap_or_default().to_owned())
}

async fn start(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let [mut floor_http, mut http, mut floor_pipes, mut pipes]: [Samples; 4] = Default::default();
    let starts = bench.times(STARTS);
    for _ in 0..starts {
        floor_http.push(first_http_answer(|| bench.spawn_http_floor()).await?);
        http.push(first_http_answer(|| bench.spawn_http_server(Place::Disk)).await?);
        floor_pipes.push(first_answer(|| bench.spawn_floor()).await?);
        pipes.push(first_answer(|| bench.spawn_server(Place::Disk)).await?);
    }
    for (over, floor, server) in [
        ("HTTP", &floor_http, &http),
        ("pipes", &floor_pipes, &pipes),
    ] {
        let what = format!("cold start to the first answer over {over}, p50 / p99 of {starts}");
        report.add(compared(what, floor, server, MOST_START_TIMES));
    }
    Ok(())
}

/// Spawn to the reply to `initialize`.
async fn first_http_answer(spawn: impl Fn() -> anyhow::Result<Server>) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let mut server = spawn()?;
    server.listening().await?;
    let mut caller = Caller::new(server.address(), Era::Legacy, 1);
    let params = json!({
        "protocolVersion": Era::Legacy.version(),
        "capabilities": {},
        "clientInfo": { "name": "bench", "version": "0" },
    });
    caller.request("initialize", params).await?;
    let time = begun.elapsed();
    server.kill().await?;
    Ok(time)
}

async fn over_http(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let pair = Pair::start(bench).await?;
    let mut measured = Vec::new();
    for era in Era::ALL {
        let mut subjects = vec![Subject::new(&pair.floor, era, echo())];
        for call in reads(&pair.graph) {
            subjects.push(Subject::new(&pair.server, era, call));
        }
        measured.push((era, subjects));
    }
    // In turns, so that a neighbour's load falls on all alike.
    for _ in 0..ROUNDS {
        for (_, subjects) in &mut measured {
            for subject in subjects {
                subject.take(bench.times(A_ROUND)).await?;
            }
        }
    }
    for (era, subjects) in &measured {
        let Some((floor, servers)) = subjects.split_first() else {
            continue;
        };
        for server in servers {
            let what = format!(
                "`{}` over HTTP ({}), p50 / p99",
                server.call.tool,
                era.version()
            );
            report.add(compared(what, &floor.times, &server.times, MOST_TIMES));
        }
    }
    Ok(())
}

/// One call on one connection, over and over.
struct Subject {
    caller: Caller,
    request: Vec<u8>,
    call: Call,
    times: Samples,
}

impl Subject {
    fn new(server: &Server, era: Era, call: Call) -> Self {
        let params = json!({ "name": call.tool, "arguments": call.arguments });
        Self {
            caller: Caller::new(server.address(), era, 1),
            request: era.request(server.address(), 1, "tools/call", params),
            call,
            times: Samples::default(),
        }
    }

    async fn take(&mut self, times: usize) -> anyhow::Result<()> {
        // The first after a pause pays for what the others left in the caches.
        self.caller.exchange(&self.request).await?;
        for _ in 0..times {
            let begun = Instant::now();
            let answer = self.caller.exchange(&self.request).await?;
            self.times.push(begun.elapsed());
            ensure!(
                answer.is_success(),
                "{}: {}",
                self.call.tool,
                answer.shown()
            );
        }
        Ok(())
    }
}

async fn over_pipes(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let mut floor = bench.floor().await?;
    let mut server = bench.server(bench.fastest()).await?;
    let made = server.call("reasoning_got_init", json!({ "content": CONTENT }));
    let calls = reads(&graph_of(succeeded(&made.await?)?)?);
    let mut floor_times = Samples::default();
    let mut times: [Samples; 3] = Default::default();
    for _ in 0..ROUNDS {
        take(&mut floor, &echo(), bench.times(A_ROUND), &mut floor_times).await?;
        for (call, times) in calls.iter().zip(&mut times) {
            take(&mut server, call, bench.times(A_ROUND), times).await?;
        }
    }
    for (call, times) in calls.iter().zip(&times) {
        let what = format!("`{}` over pipes, p50 / p99", call.tool);
        report.add(compared(what, &floor_times, times, MOST_TIMES));
    }
    Ok(())
}

async fn take(
    client: &mut Client,
    call: &Call,
    calls: usize,
    times: &mut Samples,
) -> anyhow::Result<()> {
    for _ in 0..=calls {
        let begun = Instant::now();
        let answer = client.call(call.tool, call.arguments.clone()).await?;
        times.push(begun.elapsed());
        ensure!(
            answer["result"].is_object() && answer["result"]["isError"] != true,
            "{}: {answer}",
            call.tool
        );
    }
    Ok(())
}

/// A row that is judged by the ratio of the medians.
fn compared(what: String, floor: &Samples, server: &Samples, most: f64) -> Row {
    let pair = |samples: &Samples| format!("{} / {}", Time(samples.median()), Time(samples.p99()));
    let times = ratio(server.median(), floor.median());
    Row {
        what,
        floor: pair(floor),
        server: pair(server),
        judged: format!("{times:.2}×"),
        bar: Some((format!("≤ {most}×"), times <= most)),
    }
}
