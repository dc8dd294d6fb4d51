//! From a change of a file to its being seen, less the time that files must be at rest.

use std::time::{Duration, Instant};

use anyhow::ensure;
use deliberate_testkit::Client;
use serde_json::json;

use super::workspace::{PROMPTS, Workspace};
use crate::{
    report::{Report, Row},
    samples::{Samples, Time},
    setup::{Bench, Place},
};

/// How long the server waits for files to come to rest.
const REST: Duration = Duration::from_millis(100);

const MOST: Duration = Duration::from_millis(100);
const LOOK_EVERY: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(20);

/// What is changed.
#[derive(Debug, Clone, Copy)]
enum What {
    Message,
    Yaml,
    New,
}

pub(super) async fn measure(
    bench: &Bench,
    full: &Workspace,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut server = bench.server_in(Place::Disk, full.path()).await?;
    // Files are watched once the library was read; the first answer waits for that, and the
    // watching of a thousand folders comes right after.
    seen(&mut server, 0, "Keep to").await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let rounds = bench.times(20);
    for what in [What::Message, What::Yaml, What::New] {
        let mut times = Samples::default();
        for round in 0..rounds {
            // Not in step with the server's own looking.
            let pause = Duration::from_millis(150 + 7 * u64::try_from(round)?);
            tokio::time::sleep(pause).await;
            times.push(one(full, &mut server, what, round).await?);
        }
        let name = match what {
            What::Message => "`user-message.md` changed",
            What::Yaml => "`prompt.yaml` changed",
            What::New => "a new prompt",
        };
        let after = |time: Duration| Time(time.saturating_sub(REST));
        report.add(Row {
            what: format!("{name} → visible, min / median / worst of {rounds}"),
            floor: format!("{} (at rest)", Time(REST)),
            server: format!(
                "{} / {} / {}",
                Time(times.min()),
                Time(times.median()),
                Time(times.max())
            ),
            judged: format!("{} after the rest", after(times.median())),
            bar: Some((
                "< 100 ms after the rest".to_owned(),
                times.median().saturating_sub(REST) < MOST,
            )),
        });
    }
    Ok(())
}

/// Changes a file and looks until the change shows.
async fn one(
    full: &Workspace,
    server: &mut Client,
    what: What,
    round: usize,
) -> anyhow::Result<Duration> {
    let mark = format!("mark-{what:?}-{round}");
    let number = match what {
        What::New => PROMPTS + round,
        What::Message | What::Yaml => 300 + round,
    };
    match what {
        What::Message => full.write_message(number, &mark)?,
        What::Yaml => full.write_yaml(number, &mark)?,
        What::New => {
            full.write_yaml(number, "anyone")?;
            full.write_message(number, &mark)?;
        }
    }
    let begun = Instant::now();
    while !seen(server, number, &mark).await? {
        ensure!(begun.elapsed() < PATIENCE, "{mark} is not seen");
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(begun.elapsed())
}

/// Whether a prompt is there and says that.
async fn seen(server: &mut Client, number: usize, mark: &str) -> anyhow::Result<bool> {
    let command = format!("%clean >>{} topic:tea", Workspace::id(number));
    let answer = server
        .call("prompt_engine", json!({ "command": command }))
        .await?;
    let said = answer["result"]["structuredContent"]["said"].as_str();
    Ok(said.is_some_and(|said| said.contains(mark)))
}
