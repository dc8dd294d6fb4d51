//! Measures calls of an upstream server's tool: through the adapter compared with the Python
//! adapter with a live session, and through the gateway compared with a direct call. All use the
//! same echo server.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use deliberate_testkit::{StdioClient, bare_command};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    report::{BenchReport, ReportRow},
    samples::{DisplayTime, Samples, median_rate},
    setup::BenchSetup,
};

const ROUNDS: usize = 5;
const MAX_ADDED: Duration = Duration::from_micros(300);

/// The measurements of one adapter.
#[derive(Deserialize)]
struct AdapterMeasurement {
    times_us: Vec<f64>,
    rate: f64,
}

#[derive(Default)]
struct AdapterBench {
    times: Samples,
    rates: Vec<f64>,
}

pub(crate) async fn measure(
    setup: &BenchSetup,
    python: Option<&Path>,
    report: &mut BenchReport,
) -> anyhow::Result<()> {
    let here = std::env::current_exe()?;
    let upstream = here.with_file_name("mock_mcp_server");
    ensure!(upstream.is_file(), "{} does not exist", upstream.display());
    let ours = here.with_file_name("examples").join("measure");
    let theirs =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients/bench_langchain.py");

    let mut direct = StdioClient::spawn(&mut bare_command(&upstream))?;
    direct.initialize().await?;
    let mut gateway = setup.server_with_mock_mcp(&upstream).await?;
    wait_for_tool(&mut gateway, "up__echo").await?;

    let (mut rust, mut other) = (AdapterBench::default(), AdapterBench::default());
    let (mut floor, mut through) = (Samples::default(), Samples::default());
    // The subjects take turns, so that other load on the machine affects all alike.
    for _ in 0..ROUNDS {
        echo(&mut direct, "echo", setup.scaled(400), &mut floor).await?;
        echo(&mut gateway, "up__echo", setup.scaled(400), &mut through).await?;
        rust.run(&ours, &[], setup.scaled(1_000), &upstream).await?;
        if let Some(python) = python {
            let script = [theirs.clone()];
            other
                .run(python, &script, setup.scaled(500), &upstream)
                .await?;
        }
    }
    let floor_time = floor.median();
    report.add(ReportRow {
        label: "echo of an upstream server, p50: direct, through the gateway".to_owned(),
        baseline: DisplayTime(floor_time).to_string(),
        server: through.percentiles(&[50]),
        result: format!(
            "+{}",
            DisplayTime(through.median().saturating_sub(floor_time))
        ),
        bar: Some((
            format!("< +{}", DisplayTime(MAX_ADDED)),
            through.median().saturating_sub(floor_time) < MAX_ADDED,
        )),
    });
    if python.is_some() {
        compare_adapters(&rust, &other, floor_time, report);
    }
    Ok(())
}

fn compare_adapters(
    rust: &AdapterBench,
    other: &AdapterBench,
    floor: Duration,
    report: &mut BenchReport,
) {
    let over = |adapter: &AdapterBench| adapter.times.median().saturating_sub(floor);
    let shown = |adapter: &AdapterBench| {
        format!(
            "{} (+{})",
            DisplayTime(adapter.times.median()),
            DisplayTime(over(adapter))
        )
    };
    let share = over(rust).as_secs_f64() / over(other).as_secs_f64().max(f64::EPSILON);
    report.add(ReportRow {
        label: "one call, p50 (over a bare pipe): langchain-mcp-adapters, ours".to_owned(),
        baseline: shown(other),
        server: shown(rust),
        result: format!("{share:.3}×"),
        bar: Some(("≤ 0.25×".to_owned(), share <= 0.25)),
    });
    let times = rust.rate() / other.rate().max(f64::EPSILON);
    report.add(ReportRow {
        label: "64 concurrent calls, calls/s: langchain-mcp-adapters, ours".to_owned(),
        baseline: format!("{:.0}", other.rate()),
        server: format!("{:.0}", rust.rate()),
        result: format!("{times:.1}×"),
        bar: Some(("≥ 5×".to_owned(), times >= 5.0)),
    });
}

impl AdapterBench {
    async fn run(
        &mut self,
        program: &Path,
        before: &[PathBuf],
        calls: usize,
        upstream: &Path,
    ) -> anyhow::Result<()> {
        let mut command = bare_command(program);
        command.args(before).arg(calls.to_string()).arg(upstream);
        let output = command
            .output()
            .await
            .context("the adapter does not start")?;
        ensure!(
            output.status.success(),
            "{}: {}",
            program.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        let measured: AdapterMeasurement = serde_json::from_slice(&output.stdout)?;
        let times = measured.times_us.into_iter();
        self.times
            .extend(times.map(|us| Duration::from_secs_f64(us / 1e6)));
        self.rates.push(measured.rate);
        Ok(())
    }

    /// Returns the median of the rounds.
    fn rate(&self) -> f64 {
        median_rate(&self.rates)
    }
}

async fn echo(
    client: &mut StdioClient,
    tool: &str,
    times: usize,
    samples: &mut Samples,
) -> anyhow::Result<()> {
    for at in 0..times + 20 {
        let begun = Instant::now();
        let answer = client.call(tool, json!({ "text": "hello" })).await?;
        let took = begun.elapsed();
        ensure!(
            answer["result"]["isError"] != true,
            "the call failed: {answer}"
        );
        ensure!(
            answer["result"]["content"].is_array(),
            "no result: {answer}"
        );
        if at >= 20 {
            samples.push(took);
        }
    }
    Ok(())
}

/// Waits for a tool of an upstream server, which appears a moment after the start.
async fn wait_for_tool(client: &mut StdioClient, name: &str) -> anyhow::Result<()> {
    for _ in 0..600 {
        let answer = client.request("tools/list", json!({})).await?;
        let tools = answer["result"]["tools"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        if tools.iter().any(|tool: &Value| tool["name"] == name) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    anyhow::bail!(
        "the tool {name} did not appear; stderr:\n{}",
        client.stderr()
    )
}
