//! Going on in a long chain: every step is answered in turn, and each answer is one resume.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use deliberate_testkit::Client;
use serde_json::{Value, json};

use super::{
    command,
    cpu::Cost,
    engine,
    workspace::{STEPS, Workspace},
};
use crate::{
    report::{Report, Row},
    samples::Time,
    setup::{Bench, CONTENT},
};

const MOST: Duration = Duration::from_millis(2);

pub(super) async fn measure(
    bench: &Bench,
    full: &Workspace,
    report: &mut Report,
) -> anyhow::Result<()> {
    for place in bench.places() {
        let mut server = bench.server_in(place, full.path()).await?;
        let (mut all, mut late) = (Cost::default(), Cost::default());
        let runs = bench.times(10);
        for _ in 0..runs {
            let run = begin(&mut server).await?;
            all.begin(&server)?;
            for step in 1..STEPS {
                if step == STEPS - 20 {
                    late.begin(&server)?;
                }
                let begun = Instant::now();
                go_on(&mut server, &run, step).await?;
                all.waited(begun);
                if step >= STEPS - 20 {
                    late.waited(begun);
                }
            }
            all.end(&server)?;
            late.end(&server)?;
        }
        for (cost, which) in [(&all, "all"), (&late, "the last 20")] {
            let each = cost.each();
            report.add(Row {
                what: format!(
                    "a resume in a chain of {STEPS} ({which}), {place:?}, CPU; wait p50 / p99 of {}",
                    cost.calls()
                ),
                server: cost.to_string(),
                judged: format!("{} of CPU", Time(each)),
                bar: Some(("< 2 ms".to_owned(), each < MOST)),
                ..Row::default()
            });
        }
    }
    Ok(())
}

async fn begin(server: &mut Client) -> anyhow::Result<String> {
    let first = command(server, r#">>long topic:"the two caches""#).await?;
    let run = first["chain_id"].as_str();
    Ok(run.context("a chain has no run")?.to_owned())
}

async fn go_on(server: &mut Client, run: &str, step: usize) -> anyhow::Result<()> {
    let answer = format!("Step {step}. {CONTENT} {CONTENT}");
    let arguments = json!({ "chain_id": run, "step": step, "user_response": answer });
    let next = engine(server, arguments).await?;
    let shown: &Value = &next["steps"];
    anyhow::ensure!(*shown == json!([step + 1]), "{next}");
    Ok(())
}
