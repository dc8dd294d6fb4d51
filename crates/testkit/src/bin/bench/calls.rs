//! Measures sequential calls with an instant provider. The server's overhead is its time minus the
//! time of the echo server and of the provider; on disk one fsync is allowed on top.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use deliberate_testkit::{MockProvider, StdioClient, mock_provider::KEY, raw_http::RawHttp};
use serde_json::json;

use crate::{
    report::{BenchReport, ReportRow},
    samples::{DisplayTime, Samples},
    setup::{BenchSetup, CONTENT, DatabaseLocation, think},
};

const ROUNDS: usize = 10;
const WARM_UP: usize = 10;
const PAGE_BYTES: usize = 4096;
const MILLISECOND: Duration = Duration::from_millis(1);

pub(crate) async fn measure(bench: &BenchSetup, report: &mut BenchReport) -> anyhow::Result<()> {
    let mut floor = bench.baseline().await?;
    let mut servers = Vec::new();
    for place in bench.locations() {
        let mut server = bench.server(place).await?;
        for _ in 0..WARM_UP {
            think(&mut server, None).await?;
        }
        servers.push((place, server, Samples::default()));
    }
    let (_, any, _) = servers.first_mut().context("the disk is always there")?;
    let mut provider = DirectProvider::new(&bench.provider, any).await?;
    let page_file = bench.directory(DatabaseLocation::Disk).join("page");
    let mut page_file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(page_file)?;

    let mut echo = Samples::default();
    let mut provider_times = Samples::default();
    let mut fsync = Samples::default();
    // The subjects take turns, so that other load on the machine affects all alike.
    for _ in 0..ROUNDS {
        for _ in 0..bench.scaled(30) {
            let begun = Instant::now();
            floor.call("echo", json!({ "text": CONTENT })).await?;
            echo.push(begun.elapsed());
        }
        for _ in 0..bench.scaled(30) {
            provider_times.push(provider.ask().await?);
        }
        for (_, server, times) in &mut servers {
            for _ in 0..bench.scaled(30) {
                let begun = Instant::now();
                think(server, None).await?;
                times.push(begun.elapsed());
            }
        }
        for _ in 0..bench.scaled(20) {
            fsync.push(one_fsync(&mut page_file)?);
        }
    }

    let plain = |what: &str, floor: String| ReportRow {
        label: what.to_owned(),
        baseline: floor,
        ..ReportRow::default()
    };
    report.add(plain("echo call, p50 / p99", echo.percentiles(&[50, 99])));
    report.add(plain(
        "the provider asked directly, p50 / p99",
        provider_times.percentiles(&[50, 99]),
    ));
    report.add(plain(
        "write and fsync of one page on disk, p50 / p99",
        fsync.percentiles(&[50, 99]),
    ));
    let floor = echo.median() + provider_times.median();
    for (place, _, times) in &servers {
        let (name, bar, allowed) = match place {
            DatabaseLocation::Disk => (
                "on disk",
                "≤ 1 ms and one fsync",
                MILLISECOND + fsync.median(),
            ),
            DatabaseLocation::Ram => ("on a RAM disk", "≤ 1 ms", MILLISECOND),
        };
        let over = times.median().saturating_sub(floor);
        report.add(ReportRow {
            label: format!("`reasoning_linear`, new session each, {name}, p50 / p99"),
            baseline: format!("{} (echo and provider)", DisplayTime(floor)),
            server: times.percentiles(&[50, 99]),
            result: format!("{} over", DisplayTime(over)),
            bar: Some((bar.to_owned(), over <= allowed)),
        });
    }
    Ok(())
}

/// Asks the provider the way the server does, without the server.
struct DirectProvider {
    http: RawHttp,
    path: String,
    body: String,
}

impl DirectProvider {
    async fn new(standin: &MockProvider, server: &mut StdioClient) -> anyhow::Result<Self> {
        standin.update_settings(|settings| settings.keep_bodies = true);
        think(server, None).await?;
        standin.update_settings(|settings| settings.keep_bodies = false);
        let ask = standin
            .model_requests()
            .pop()
            .context("the server sent no request")?;
        standin.reset();
        Ok(Self {
            http: RawHttp::connect(standin.address()).await?,
            path: ask.path,
            body: ask.body.to_string(),
        })
    }

    async fn ask(&mut self) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        let response = self.http.post(&self.path, KEY, &self.body).await?;
        anyhow::ensure!(
            response.status == 200,
            "the provider answered {}",
            response.status
        );
        Ok(begun.elapsed())
    }
}

fn one_fsync(file: &mut File) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    file.write_all(&[0; PAGE_BYTES])?;
    file.sync_all()?;
    Ok(begun.elapsed())
}
