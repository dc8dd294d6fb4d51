//! Measures the time from a file change until it is visible, minus the debounce time.

use std::time::{Duration, Instant};

use anyhow::ensure;
use deliberate_testkit::StdioClient;
use serde_json::json;

use super::workspace::{BenchWorkspace, PROMPTS};
use crate::{
    report::{BenchReport, ReportRow},
    samples::{DisplayTime, Samples},
    setup::{BenchSetup, DatabaseLocation},
};

/// The debounce time of the server's file watcher.
const DEBOUNCE: Duration = Duration::from_millis(100);

const MAX_RELOAD: Duration = Duration::from_millis(100);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
const TIMEOUT: Duration = Duration::from_secs(20);

/// The kind of change.
#[derive(Debug, Clone, Copy)]
enum ReloadChange {
    Message,
    Yaml,
    New,
}

pub(super) async fn measure(
    setup: &BenchSetup,
    full: &BenchWorkspace,
    report: &mut BenchReport,
) -> anyhow::Result<()> {
    let mut server = setup.server_in(DatabaseLocation::Disk, full.path()).await?;
    // Files are watched once the library was read. The first answer waits for the reading; watching
    // a thousand folders begins right after.
    is_visible(&mut server, 0, "Keep to").await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let rounds = setup.scaled(20);
    for what in [ReloadChange::Message, ReloadChange::Yaml, ReloadChange::New] {
        let mut times = Samples::default();
        for round in 0..rounds {
            // The pause varies, so that it is not in step with the server's own polling.
            let pause = Duration::from_millis(150 + 7 * u64::try_from(round)?);
            tokio::time::sleep(pause).await;
            times.push(measure_reload(full, &mut server, what, round).await?);
        }
        let name = match what {
            ReloadChange::Message => "`user-message.md` changed",
            ReloadChange::Yaml => "`prompt.yaml` changed",
            ReloadChange::New => "a new prompt",
        };
        let after = |time: Duration| DisplayTime(time.saturating_sub(DEBOUNCE));
        report.add(ReportRow {
            label: format!("{name} → visible, min / median / worst of {rounds}"),
            baseline: format!("{} (at rest)", DisplayTime(DEBOUNCE)),
            server: times.percentiles(&[0, 50, 100]),
            result: format!("{} after the debounce", after(times.median())),
            bar: Some((
                "< 100 ms after the debounce".to_owned(),
                times.median().saturating_sub(DEBOUNCE) < MAX_RELOAD,
            )),
        });
    }
    Ok(())
}

/// Changes a file and polls until the change is visible.
async fn measure_reload(
    full: &BenchWorkspace,
    server: &mut StdioClient,
    change: ReloadChange,
    round: usize,
) -> anyhow::Result<Duration> {
    let mark = format!("mark-{change:?}-{round}");
    let number = match change {
        ReloadChange::New => PROMPTS + round,
        ReloadChange::Message | ReloadChange::Yaml => 300 + round,
    };
    match change {
        ReloadChange::Message => full.write_message(number, &mark)?,
        ReloadChange::Yaml => full.write_yaml(number, &mark)?,
        ReloadChange::New => {
            full.write_yaml(number, "anyone")?;
            full.write_message(number, &mark)?;
        }
    }
    let begun = Instant::now();
    while !is_visible(server, number, &mark).await? {
        ensure!(begun.elapsed() < TIMEOUT, "{mark} is not visible");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(begun.elapsed())
}

/// Returns whether a prompt exists and contains the text.
async fn is_visible(server: &mut StdioClient, number: usize, mark: &str) -> anyhow::Result<bool> {
    let command = format!("%clean >>{} topic:tea", BenchWorkspace::id(number));
    let answer = server
        .call("prompt_engine", json!({ "command": command }))
        .await?;
    let said = answer["result"]["structuredContent"]["said"].as_str();
    Ok(said.is_some_and(|said| said.contains(mark)))
}
