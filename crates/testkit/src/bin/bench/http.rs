//! Measures sequential calls that ask no model, over HTTP and over pipes, and the time from process
//! start to the first answer over each.

use std::time::{Duration, Instant};

use anyhow::ensure;
use deliberate_testkit::{
    StdioClient,
    load::{ClientProtocol, LoadClient, ServerProcess},
};
use serde_json::{Value, json};

use crate::{
    report::{BenchReport, ReportRow},
    samples::{Samples, ratio},
    setup::{BenchSetup, CONTENT, DatabaseLocation, check_success},
    start::first_answer,
};

const ROUNDS: usize = 10;
const CALLS_PER_ROUND: usize = 100;
const STARTS: usize = 20;
const MAX_RATIO: f64 = 1.5;
const MAX_START_RATIO: f64 = 3.0;

pub(crate) async fn measure(bench: &BenchSetup, report: &mut BenchReport) -> anyhow::Result<()> {
    start(bench, report).await?;
    measure_http(bench, report).await?;
    measure_stdio(bench, report).await
}

/// A tool and its arguments.
pub(crate) struct BenchCall {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
}

/// Returns the call of the baseline server.
pub(crate) fn echo_call() -> BenchCall {
    BenchCall {
        tool: "echo",
        arguments: json!({ "text": CONTENT }),
    }
}

/// Returns calls of tools that only read: a list, a graph's statistics, and the graph itself.
pub(crate) fn read_calls(graph: &str) -> [BenchCall; 3] {
    let call = |tool, arguments| BenchCall { tool, arguments };
    [
        call("reasoning_sessions", json!({ "limit": 5 })),
        call("reasoning_got_state", json!({ "graph_id": graph })),
        call("reasoning_get", json!({ "id": graph })),
    ]
}

/// The baseline and the server over HTTP, with a graph to read.
pub(crate) struct ServerPair {
    pub(crate) baseline: ServerProcess,
    pub(crate) server: ServerProcess,
    pub(crate) graph: String,
}

impl ServerPair {
    pub(crate) async fn start(bench: &BenchSetup) -> anyhow::Result<Self> {
        let mut floor = bench.spawn_http_baseline()?;
        floor.wait_listening().await?;
        let mut server = bench.spawn_http_server(bench.fastest())?;
        server.wait_listening().await?;
        let mut caller = LoadClient::new(server.address(), ClientProtocol::Legacy, 1);
        let made = caller.call("reasoning_got_init", json!({ "content": CONTENT }));
        Ok(Self {
            baseline: floor,
            graph: graph_id(&made.await?)?,
            server,
        })
    }
}

fn graph_id(made: &Value) -> anyhow::Result<String> {
    let graph = made["graph_id"].as_str();
    ensure!(graph.is_some(), "no graph was made: {made}");
    Ok(graph.unwrap_or_default().to_owned())
}

async fn start(setup: &BenchSetup, report: &mut BenchReport) -> anyhow::Result<()> {
    let [mut floor_http, mut http, mut floor_pipes, mut pipes]: [Samples; 4] = Default::default();
    let starts = setup.scaled(STARTS);
    for _ in 0..starts {
        floor_http.push(first_http_answer(|| setup.spawn_http_baseline()).await?);
        http.push(first_http_answer(|| setup.spawn_http_server(DatabaseLocation::Disk)).await?);
        floor_pipes.push(first_answer(|| setup.spawn_baseline()).await?);
        pipes.push(first_answer(|| setup.spawn_server(DatabaseLocation::Disk)).await?);
    }
    for (over, floor, server) in [
        ("HTTP", &floor_http, &http),
        ("pipes", &floor_pipes, &pipes),
    ] {
        let what = format!("cold start to the first answer over {over}, p50 / p99 of {starts}");
        report.add(comparison_row(what, floor, server, MAX_START_RATIO));
    }
    Ok(())
}

/// Returns the time from spawn to the reply to `initialize`.
async fn first_http_answer(
    spawn: impl Fn() -> anyhow::Result<ServerProcess>,
) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let mut server = spawn()?;
    server.wait_listening().await?;
    let mut caller = LoadClient::new(server.address(), ClientProtocol::Legacy, 1);
    let params = json!({
        "protocolVersion": ClientProtocol::Legacy.version(),
        "capabilities": {},
        "clientInfo": { "name": "bench", "version": "0" },
    });
    caller.request("initialize", params).await?;
    let time = begun.elapsed();
    server.kill().await?;
    Ok(time)
}

async fn measure_http(setup: &BenchSetup, report: &mut BenchReport) -> anyhow::Result<()> {
    let pair = ServerPair::start(setup).await?;
    let mut measured = Vec::new();
    for era in ClientProtocol::ALL {
        let mut subjects = vec![BenchSubject::new(&pair.baseline, era, echo_call())];
        for call in read_calls(&pair.graph) {
            subjects.push(BenchSubject::new(&pair.server, era, call));
        }
        measured.push((era, subjects));
    }
    // The subjects take turns, so that other load on the machine affects all alike.
    for _ in 0..ROUNDS {
        for (_, subjects) in &mut measured {
            for subject in subjects {
                subject.measure(setup.scaled(CALLS_PER_ROUND)).await?;
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
            report.add(comparison_row(what, &floor.times, &server.times, MAX_RATIO));
        }
    }
    Ok(())
}

/// One call, repeated on one connection.
struct BenchSubject {
    caller: LoadClient,
    request: Vec<u8>,
    call: BenchCall,
    times: Samples,
}

impl BenchSubject {
    fn new(server: &ServerProcess, era: ClientProtocol, call: BenchCall) -> Self {
        let params = json!({ "name": call.tool, "arguments": call.arguments });
        Self {
            caller: LoadClient::new(server.address(), era, 1),
            request: era.request(server.address(), 1, "tools/call", params),
            call,
            times: Samples::default(),
        }
    }

    async fn measure(&mut self, times: usize) -> anyhow::Result<()> {
        // The first call after a pause runs with cold caches and is not counted.
        self.caller.exchange(&self.request).await?;
        for _ in 0..times {
            let begun = Instant::now();
            let answer = self.caller.exchange(&self.request).await?;
            self.times.push(begun.elapsed());
            ensure!(
                answer.is_success(),
                "{}: {}",
                self.call.tool,
                answer.summary()
            );
        }
        Ok(())
    }
}

async fn measure_stdio(setup: &BenchSetup, report: &mut BenchReport) -> anyhow::Result<()> {
    let mut floor = setup.baseline().await?;
    let mut server = setup.server(setup.fastest()).await?;
    let made = server.call("reasoning_got_init", json!({ "content": CONTENT }));
    let calls = read_calls(&graph_id(check_success(&made.await?)?)?);
    let mut floor_times = Samples::default();
    let mut times: [Samples; 3] = Default::default();
    for _ in 0..ROUNDS {
        measure_call(
            &mut floor,
            &echo_call(),
            setup.scaled(CALLS_PER_ROUND),
            &mut floor_times,
        )
        .await?;
        for (call, times) in calls.iter().zip(&mut times) {
            measure_call(&mut server, call, setup.scaled(CALLS_PER_ROUND), times).await?;
        }
    }
    for (call, times) in calls.iter().zip(&times) {
        let what = format!("`{}` over pipes, p50 / p99", call.tool);
        report.add(comparison_row(what, &floor_times, times, MAX_RATIO));
    }
    Ok(())
}

async fn measure_call(
    client: &mut StdioClient,
    call: &BenchCall,
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

/// Builds a row that is judged by the ratio of the medians.
fn comparison_row(what: String, floor: &Samples, server: &Samples, most: f64) -> ReportRow {
    let times = ratio(server.median(), floor.median());
    ReportRow {
        label: what,
        baseline: floor.percentiles(&[50, 99]),
        server: server.percentiles(&[50, 99]),
        result: format!("{times:.2}×"),
        bar: Some((format!("≤ {most}×"), times <= most)),
    }
}
