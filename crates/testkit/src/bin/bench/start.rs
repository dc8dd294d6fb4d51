//! Measures the time from process start to the first answer, and the list of tools.

use std::time::{Duration, Instant};

use deliberate_testkit::StdioClient;
use serde_json::json;

use crate::{
    report::{BenchReport, ReportRow},
    samples::{Samples, ratio},
    setup::{BenchSetup, DatabaseLocation},
};

pub(crate) async fn measure(bench: &BenchSetup, report: &mut BenchReport) -> anyhow::Result<()> {
    let (mut floor, mut server) = (Samples::default(), Samples::default());
    let starts = bench.scaled(20);
    for _ in 0..starts {
        floor.push(first_answer(|| bench.spawn_baseline()).await?);
        server.push(first_answer(|| bench.spawn_server(DatabaseLocation::Disk)).await?);
    }
    let times = ratio(server.median(), floor.median());
    report.add(ReportRow {
        label: format!("cold start to the first answer, min / median of {starts}"),
        baseline: floor.percentiles(&[0, 50]),
        server: server.percentiles(&[0, 50]),
        result: format!("{times:.1}×"),
        bar: Some(("≤ 3×".to_owned(), times <= 3.0)),
    });
    list(bench, report).await
}

/// Returns the time from spawn to the reply to `initialize`.
pub(crate) async fn first_answer(
    spawn: impl Fn() -> anyhow::Result<StdioClient>,
) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let mut client = spawn()?;
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "bench", "version": "0" },
    });
    client.request("initialize", params).await?;
    let time = begun.elapsed();
    client.kill().await?;
    Ok(time)
}

async fn list(setup: &BenchSetup, report: &mut BenchReport) -> anyhow::Result<()> {
    let mut floor = setup.baseline().await?;
    let mut server = setup.server(DatabaseLocation::Disk).await?;
    let (mut floor_times, mut server_times) = (Samples::default(), Samples::default());
    let mut bytes = 0;
    for _ in 0..setup.scaled(200) {
        for (client, times) in [
            (&mut floor, &mut floor_times),
            (&mut server, &mut server_times),
        ] {
            let begun = Instant::now();
            let answer = client.request("tools/list", json!({})).await?;
            times.push(begun.elapsed());
            bytes = answer.to_string().len();
        }
    }
    report.add(ReportRow {
        label: "`tools/list`, p50 / p99".to_owned(),
        baseline: floor_times.percentiles(&[50, 99]),
        server: server_times.percentiles(&[50, 99]),
        result: format!("{bytes} bytes"),
        bar: None,
    });
    Ok(())
}
