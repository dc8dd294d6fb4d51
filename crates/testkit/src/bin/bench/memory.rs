//! Measures the effect of two thousand calls: on memory, with a session each; and, in one session,
//! on the time of a call and the size of the provider's requests.

use std::time::Instant;

use anyhow::Context as _;
use deliberate_testkit::{MockProvider, StdioClient};

use crate::{
    report::{BenchReport, ReportRow},
    samples::{DisplayTime, Samples, display_mib, ratio},
    setup::{BenchSetup, think},
};

const CALLS: usize = 2_000;
const EARLY: usize = 100;
const WINDOW: usize = 20;
const MAX_KIB: u64 = 25 * 1024;

pub(crate) async fn measure(bench: &BenchSetup, report: &mut BenchReport) -> anyhow::Result<()> {
    bench.provider.reset();
    memory(bench, report).await?;
    bench.provider.reset();
    one_session(bench, report).await
}

async fn memory(setup: &BenchSetup, report: &mut BenchReport) -> anyhow::Result<()> {
    let mut floor = setup.baseline().await?;
    floor.call("echo", serde_json::json!({})).await?;
    let floor = floor.resident_kib()?;
    let mut server = setup.server(setup.fastest()).await?;
    let start = server.resident_kib()?;
    let calls = setup.scaled(CALLS);
    let mut early = start;
    for call in 1..=calls {
        think(&mut server, None).await?;
        if call == calls / 10 {
            early = server.resident_kib()?;
        }
    }
    let end = server.resident_kib()?;
    let growth = end as f64 / early as f64;
    report.add(ReportRow {
        label: format!(
            "memory at start / after {} / after {calls} calls",
            calls / 10
        ),
        baseline: display_mib(floor),
        server: format!(
            "{} / {} / {}",
            display_mib(start),
            display_mib(early),
            display_mib(end)
        ),
        result: format!("{growth:.2}× from {} to {calls}", calls / 10),
        bar: Some((
            "≤ 25 MB, and flat (≤ 1.1×)".to_owned(),
            end <= MAX_KIB && growth <= 1.1,
        )),
    });
    Ok(())
}

/// Measures the early and the late calls in turns, so that both see the same machine.
async fn one_session(setup: &BenchSetup, report: &mut BenchReport) -> anyhow::Result<()> {
    let standin = &setup.provider;
    let mut server = setup.server(setup.fastest()).await?;
    let calls = setup.scaled(CALLS).max(EARLY + WINDOW);
    let long = make_session(&mut server, calls - WINDOW).await?;
    let short = make_session(&mut server, EARLY - WINDOW / 2).await?;
    let (mut early, mut late) = (CallWindow::default(), CallWindow::default());
    for _ in 0..WINDOW {
        early.measure(&mut server, &short, standin).await?;
        late.measure(&mut server, &long, standin).await?;
    }
    let (time, size) = (
        ratio(late.times.median(), early.times.median()),
        late.bytes() as f64 / early.bytes().max(1) as f64,
    );
    report.add(ReportRow {
        label: format!(
            "one session: a call around the {EARLY}th against the {calls}th, median of {WINDOW}"
        ),
        baseline: format!("{} (the {EARLY}th)", DisplayTime(early.times.median())),
        server: late.times.percentiles(&[50]),
        result: format!("{time:.2}×"),
        bar: Some(("≤ 1.2×".to_owned(), time <= 1.2)),
    });
    report.add(ReportRow {
        label: "… and the bytes sent to the provider".to_owned(),
        baseline: format!("{} (the {EARLY}th)", early.bytes()),
        server: late.bytes().to_string(),
        result: format!("{size:.2}×"),
        bar: Some(("≤ 1.2×".to_owned(), size <= 1.2)),
    });
    Ok(())
}

/// Creates a session with this many thoughts.
pub(crate) async fn make_session(server: &mut StdioClient, calls: usize) -> anyhow::Result<String> {
    let session = think(server, None).await?;
    for _ in 1..calls {
        think(server, Some(&session)).await?;
    }
    Ok(session)
}

#[derive(Default)]
pub(crate) struct CallWindow {
    pub(crate) times: Samples,
    bytes: Vec<usize>,
}

impl CallWindow {
    pub(crate) async fn measure(
        &mut self,
        server: &mut StdioClient,
        session: &str,
        standin: &MockProvider,
    ) -> anyhow::Result<()> {
        let begun = Instant::now();
        think(server, Some(session)).await?;
        self.times.push(begun.elapsed());
        self.bytes
            .push(standin.last_ask_bytes().context("no request was sent")?);
        Ok(())
    }

    pub(crate) fn bytes(&self) -> usize {
        let mut sorted = self.bytes.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    }
}
