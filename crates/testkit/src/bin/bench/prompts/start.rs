//! Measures the time from process start to the first answers, with an empty workspace and with a
//! thousand prompts.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use deliberate_testkit::StdioClient;
use serde_json::json;

use super::{
    cpu, run_command,
    workspace::{BenchWorkspace, PROMPTS},
};
use crate::{
    report::{BenchReport, ReportRow},
    samples::{DisplayTime, Samples},
    setup::{BenchSetup, DatabaseLocation},
};

const MAX_ADDED: Duration = Duration::from_millis(50);

/// Times since the start of a process.
#[derive(Default)]
struct StartTimes {
    initialize: Samples,
    list: Samples,
    call: Samples,
    cpu: Samples,
    page: usize,
}

pub(super) async fn measure(
    setup: &BenchSetup,
    full: &BenchWorkspace,
    report: &mut BenchReport,
) -> anyhow::Result<()> {
    let empty = BenchWorkspace::empty(setup)?;
    let (mut without, mut with) = (StartTimes::default(), StartTimes::default());
    let starts = setup.scaled(30);
    for _ in 0..starts {
        without.start(setup, &empty, None).await?;
        with.start(setup, full, Some("%clean >>task_0500 topic:tea"))
            .await?;
    }
    let more = |a: &Samples, b: &Samples| b.median().saturating_sub(a.median());
    let initialize = more(&without.initialize, &with.initialize);
    report.add(ReportRow {
        label: format!("start to `initialize`, {PROMPTS} prompts on disk, median of {starts}"),
        baseline: format!(
            "{} (none on disk)",
            DisplayTime(without.initialize.median())
        ),
        server: with.initialize.percentiles(&[50]),
        result: format!("{} more", DisplayTime(initialize)),
        bar: Some(("< 50 ms more".to_owned(), initialize < MAX_ADDED)),
    });
    let list = more(&without.list, &with.list);
    report.add(ReportRow {
        label: format!(
            "… to the first page of `prompts/list` ({} prompts)",
            with.page
        ),
        baseline: format!(
            "{} ({} prompts)",
            DisplayTime(without.list.median()),
            without.page
        ),
        server: with.list.percentiles(&[50]),
        result: format!("{} more", DisplayTime(list)),
        bar: None,
    });
    report.add(ReportRow {
        label: "… to the first `%clean` call after it".to_owned(),
        server: with.call.percentiles(&[50]),
        ..ReportRow::default()
    });
    report.add(ReportRow {
        label: "… CPU time used by then, to a tick of 10 ms".to_owned(),
        baseline: without.cpu.percentiles(&[50]),
        server: with.cpu.percentiles(&[50]),
        ..ReportRow::default()
    });
    Ok(())
}

impl StartTimes {
    async fn start(
        &mut self,
        setup: &BenchSetup,
        workspace: &BenchWorkspace,
        call: Option<&str>,
    ) -> anyhow::Result<()> {
        let begun = Instant::now();
        let mut client = setup.spawn_server_in(DatabaseLocation::Disk, workspace.path())?;
        client.initialize().await?;
        self.initialize.push(begun.elapsed());
        self.page = first_page(&mut client).await?;
        self.list.push(begun.elapsed());
        if let Some(call) = call {
            run_command(&mut client, call).await?;
            self.call.push(begun.elapsed());
        }
        self.cpu.push(cpu::cpu_time(&client)?);
        client.kill().await?;
        Ok(())
    }
}

/// Returns the number of prompts on the first page.
async fn first_page(client: &mut StdioClient) -> anyhow::Result<usize> {
    let answer = client.request("prompts/list", json!({})).await?;
    let page = answer["result"]["prompts"].as_array();
    Ok(page.context("no prompts are listed")?.len())
}
