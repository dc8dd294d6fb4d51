//! From the start of the process to its first answers, with nothing in the workspace and with a
//! thousand prompts there.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use deliberate_testkit::Client;
use serde_json::json;

use super::{
    command, cpu,
    workspace::{PROMPTS, Workspace},
};
use crate::{
    report::{Report, Row},
    samples::{Samples, Time},
    setup::{Bench, Place},
};

const MOST_MORE: Duration = Duration::from_millis(50);

/// Times from the start of a process.
#[derive(Default)]
struct Times {
    initialize: Samples,
    list: Samples,
    call: Samples,
    cpu: Samples,
    page: usize,
}

pub(super) async fn measure(
    bench: &Bench,
    full: &Workspace,
    report: &mut Report,
) -> anyhow::Result<()> {
    let empty = Workspace::empty(bench)?;
    let (mut without, mut with) = (Times::default(), Times::default());
    let starts = bench.times(30);
    for _ in 0..starts {
        without.start(bench, &empty, None).await?;
        with.start(bench, full, Some("%clean >>task_0500 topic:tea"))
            .await?;
    }
    let more = |a: &Samples, b: &Samples| b.median().saturating_sub(a.median());
    let initialize = more(&without.initialize, &with.initialize);
    report.add(Row {
        what: format!("start to `initialize`, {PROMPTS} prompts on disk, median of {starts}"),
        floor: format!("{} (none on disk)", Time(without.initialize.median())),
        server: Time(with.initialize.median()).to_string(),
        judged: format!("{} more", Time(initialize)),
        bar: Some(("< 50 ms more".to_owned(), initialize < MOST_MORE)),
    });
    let list = more(&without.list, &with.list);
    report.add(Row {
        what: format!(
            "… to the first page of `prompts/list` ({} prompts)",
            with.page
        ),
        floor: format!("{} ({} prompts)", Time(without.list.median()), without.page),
        server: Time(with.list.median()).to_string(),
        judged: format!("{} more", Time(list)),
        bar: None,
    });
    report.add(Row {
        what: "… to the first `%clean` call after it".to_owned(),
        server: Time(with.call.median()).to_string(),
        ..Row::default()
    });
    report.add(Row {
        what: "… processor time used by then, to a tick of 10 ms".to_owned(),
        floor: Time(without.cpu.median()).to_string(),
        server: Time(with.cpu.median()).to_string(),
        ..Row::default()
    });
    Ok(())
}

impl Times {
    async fn start(
        &mut self,
        bench: &Bench,
        workspace: &Workspace,
        call: Option<&str>,
    ) -> anyhow::Result<()> {
        let begun = Instant::now();
        let mut client = bench.spawn_server_in(Place::Disk, workspace.path())?;
        client.initialize().await?;
        self.initialize.push(begun.elapsed());
        self.page = first_page(&mut client).await?;
        self.list.push(begun.elapsed());
        if let Some(call) = call {
            command(&mut client, call).await?;
            self.call.push(begun.elapsed());
        }
        self.cpu.push(cpu::used(&client)?);
        client.kill().await?;
        Ok(())
    }
}

/// How many prompts the first page lists.
async fn first_page(client: &mut Client) -> anyhow::Result<usize> {
    let answer = client.request("prompts/list", json!({})).await?;
    let page = answer["result"]["prompts"].as_array();
    Ok(page.context("no prompts are listed")?.len())
}
