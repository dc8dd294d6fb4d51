//! Measures the modes: the cost of a very long session, the time to prune a large graph, and
//! sixty-four concurrent calls of each mode with a provider that takes 100 ms.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use deliberate_testkit::StdioClient;
use serde_json::{Value, json};

use super::memory::{CallWindow, make_session};
use crate::{
    pipelined::{CALLS, PROVIDER, call_concurrently},
    report::{BenchReport, ReportRow},
    samples::{DisplayTime, Samples, ratio},
    setup::{BenchSetup, CONTENT, check_success, think},
};

const LONG: usize = 10_000;
const EARLY: usize = 100;
const WINDOW: usize = 20;

/// The most bytes of earlier thoughts that a request carries with the server settings used here,
/// plus the rest of a request.
const PROMPT_BYTES: usize = 6_000 * 4 + 8_000;

const NODES: usize = 1_000;
const PRUNED: usize = 500;
const MAX_PRUNE_TIME: Duration = Duration::from_millis(50);
const MAX_TOTAL: Duration = Duration::from_millis(300);

pub(crate) async fn measure(bench: &BenchSetup, report: &mut BenchReport) -> anyhow::Result<()> {
    bench.provider.reset();
    long_session(bench, report).await?;
    bench.provider.reset();
    prune(bench, report).await?;
    bench.provider.reset();
    every_mode_at_once(bench, report).await
}

async fn call(server: &mut StdioClient, tool: &str, arguments: Value) -> anyhow::Result<Value> {
    let response = server.call(tool, arguments).await?;
    let answer = check_success(&response);
    answer
        .cloned()
        .with_context(|| format!("{tool}; stderr:\n{}", server.stderr()))
}

/// Measures the early and the late calls in turns, so that both see the same machine.
async fn long_session(setup: &BenchSetup, report: &mut BenchReport) -> anyhow::Result<()> {
    let mut server = setup.server(setup.fastest()).await?;
    let steps = setup.scaled(LONG).max(EARLY + WINDOW);
    let long = make_session(&mut server, steps - WINDOW).await?;
    let short = make_session(&mut server, EARLY - WINDOW).await?;
    let (mut early, mut late) = (CallWindow::default(), CallWindow::default());
    let (mut first, mut last) = (Samples::default(), Samples::default());
    for number in 0..WINDOW {
        early.measure(&mut server, &short, &setup.provider).await?;
        late.measure(&mut server, &long, &setup.provider).await?;
        for (session, times) in [(&short, &mut first), (&long, &mut last)] {
            let begun = Instant::now();
            let arguments = json!({ "session_id": session, "name": format!("place {number}") });
            call(&mut server, "reasoning_checkpoint_create", arguments).await?;
            times.push(begun.elapsed());
        }
    }
    for (what, early, late) in [
        ("a step", &early.times, &late.times),
        ("a checkpoint", &first, &last),
    ] {
        let growth = ratio(late.median(), early.median());
        report.add(ReportRow {
            label: format!("{what} around thought {EARLY} and thought {steps}, median of {WINDOW}"),
            baseline: format!("{} (the {EARLY}th)", DisplayTime(early.median())),
            server: late.percentiles(&[50]),
            result: format!("{growth:.2}×"),
            bar: Some(("≤ 1.3×".to_owned(), growth <= 1.3)),
        });
    }
    report.add(ReportRow {
        label: format!("bytes sent to the provider at thought {steps}"),
        baseline: format!("{PROMPT_BYTES} (the budget)"),
        server: late.bytes().to_string(),
        result: "within the budget".to_owned(),
        bar: Some(("≤ the budget".to_owned(), late.bytes() <= PROMPT_BYTES)),
    });
    Ok(())
}

/// Prunes half of a graph, restores it, and prunes again.
async fn prune(setup: &BenchSetup, report: &mut BenchReport) -> anyhow::Result<()> {
    let rounds = setup.scaled(50).min(5);
    for place in setup.locations() {
        let mut server = setup.server(place).await?;
        let (graph, session) = large_graph(&mut server).await?;
        let arguments = json!({ "session_id": session, "name": "before" });
        let place_id = call(&mut server, "reasoning_checkpoint_create", arguments).await?;
        let mut times = Samples::default();
        let mut pruned = 0;
        for _ in 0..rounds {
            let begun = Instant::now();
            // The mock provider scores every part with 85 of 100.
            let arguments = json!({ "graph_id": graph, "threshold": 0.9 });
            let answer = call(&mut server, "reasoning_got_prune", arguments).await?;
            times.push(begun.elapsed());
            pruned = answer["pruned_count"].as_u64().unwrap_or_default();
            let back = json!({ "checkpoint_id": place_id["checkpoint_id"] });
            call(&mut server, "reasoning_backtrack", back).await?;
        }
        report.add(ReportRow {
            label: format!(
                "pruning {pruned} of {NODES} nodes, {place:?}, median / worst of {rounds}"
            ),
            server: times.percentiles(&[50, 100]),
            result: "median".to_owned(),
            bar: Some(("< 50 ms".to_owned(), times.median() < MAX_PRUNE_TIME)),
            ..ReportRow::default()
        });
    }
    Ok(())
}

/// Creates a graph of a thousand nodes, half of them scored leaves.
async fn large_graph(server: &mut StdioClient) -> anyhow::Result<(Value, Value)> {
    let config = json!({ "max_nodes": NODES, "max_branches": 10, "max_depth": 50 });
    let init = json!({ "content": CONTENT, "config": config });
    let begun = call(server, "reasoning_got_init", init).await?;
    let graph = &begun["graph_id"];
    let mut open = vec![begun["root_node_id"].clone()];
    let mut leaves = Vec::new();
    let mut nodes = 1;
    while nodes < NODES {
        let source = open.remove(0);
        let k = (NODES - nodes).min(10);
        let arguments = json!({ "graph_id": graph, "node_id": source, "k": k });
        let grown = call(server, "reasoning_got_generate", arguments).await?;
        let new = grown["continuations"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        nodes += new.len();
        let ids = new.into_iter().map(|node| node["node_id"].clone());
        leaves = ids.clone().chain(leaves).collect();
        open.extend(ids);
    }
    let unopened: Vec<Value> = leaves.into_iter().filter(|id| open.contains(id)).collect();
    for node in unopened.iter().take(PRUNED) {
        let arguments = json!({ "graph_id": graph, "node_id": node });
        call(server, "reasoning_got_score", arguments).await?;
    }
    Ok((graph.clone(), begun["session_id"].clone()))
}

async fn every_mode_at_once(setup: &BenchSetup, report: &mut BenchReport) -> anyhow::Result<()> {
    let mut server = setup.server(setup.fastest()).await?;
    let rounds = setup.scaled(30).min(3);
    for tool in [
        "reasoning_linear",
        "reasoning_tree",
        "reasoning_divergent",
        "reasoning_reflection",
        "reasoning_reflection_evaluate",
        "reasoning_auto",
        "reasoning_backtrack",
        "reasoning_got_generate",
        "reasoning_got_score",
        "reasoning_got_aggregate",
        "reasoning_got_refine",
    ] {
        let mut times = Samples::default();
        for _ in 0..rounds {
            let calls = prepare_calls(&mut server, tool).await?;
            setup
                .provider
                .update_settings(|settings| settings.delay = PROVIDER);
            times.push(call_concurrently(&mut server, &calls).await?.0);
            setup
                .provider
                .update_settings(|settings| settings.delay = Duration::ZERO);
        }
        report.add(ReportRow {
            label: format!("{CALLS} pipelined `{tool}`, provider 100 ms, median of {rounds}"),
            baseline: DisplayTime(PROVIDER).to_string(),
            server: times.percentiles(&[50]),
            result: format!("{:.1}×", ratio(times.median(), PROVIDER)),
            bar: Some(("≤ 300 ms".to_owned(), times.median() <= MAX_TOTAL)),
        });
    }
    Ok(())
}

/// Prepares the concurrent calls of a tool, each on a session of its own.
async fn prepare_calls(server: &mut StdioClient, tool: &str) -> anyhow::Result<Vec<Value>> {
    let mut calls = Vec::new();
    for _ in 0..CALLS {
        let arguments = match tool {
            "reasoning_reflection_evaluate" => json!({ "session_id": think(server, None).await? }),
            "reasoning_backtrack" => backtrack(server).await?,
            graph if graph.starts_with("reasoning_got") => graph_arguments(server, graph).await?,
            _ => json!({ "content": CONTENT }),
        };
        calls.push(json!({ "name": tool, "arguments": arguments }));
    }
    Ok(calls)
}

async fn backtrack(server: &mut StdioClient) -> anyhow::Result<Value> {
    let session = think(server, None).await?;
    let arguments = json!({ "session_id": session, "name": "here" });
    let place = call(server, "reasoning_checkpoint_create", arguments).await?;
    Ok(json!({ "checkpoint_id": place["checkpoint_id"], "new_direction": CONTENT }))
}

async fn graph_arguments(server: &mut StdioClient, tool: &str) -> anyhow::Result<Value> {
    let begun = call(server, "reasoning_got_init", json!({ "content": CONTENT })).await?;
    let graph = &begun["graph_id"];
    let node = json!({ "graph_id": graph, "node_id": begun["root_node_id"] });
    if tool != "reasoning_got_aggregate" {
        return Ok(node);
    }
    let grown = call(server, "reasoning_got_generate", node).await?;
    let nodes = grown["continuations"].as_array().into_iter().flatten();
    let nodes: Vec<&Value> = nodes.map(|node| &node["node_id"]).collect();
    Ok(json!({ "graph_id": graph, "node_ids": nodes }))
}
