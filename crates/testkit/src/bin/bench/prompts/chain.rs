//! Measures resuming a long chain: every step is answered in turn, and each answer is one resume.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use deliberate_testkit::StdioClient;
use serde_json::{Value, json};

use super::{
    call_engine,
    cpu::CpuCost,
    run_command,
    workspace::{BenchWorkspace, STEPS},
};
use crate::{
    report::{BenchReport, ReportRow},
    samples::DisplayTime,
    setup::{BenchSetup, CONTENT},
};

const MAX_STEP_TIME: Duration = Duration::from_millis(2);

pub(super) async fn measure(
    setup: &BenchSetup,
    full: &BenchWorkspace,
    report: &mut BenchReport,
) -> anyhow::Result<()> {
    for place in setup.locations() {
        let mut server = setup.server_in(place, full.path()).await?;
        let (mut all, mut late) = (CpuCost::default(), CpuCost::default());
        let runs = setup.scaled(10);
        for _ in 0..runs {
            let run = start_run(&mut server).await?;
            all.begin(&server)?;
            for step in 1..STEPS {
                if step == STEPS - 20 {
                    late.begin(&server)?;
                }
                let begun = Instant::now();
                continue_run(&mut server, &run, step).await?;
                all.add_call(begun);
                if step >= STEPS - 20 {
                    late.add_call(begun);
                }
            }
            all.end(&server)?;
            late.end(&server)?;
        }
        for (cost, which) in [(&all, "all"), (&late, "the last 20")] {
            let each = cost.per_call();
            report.add(ReportRow {
                label: format!(
                    "a resume in a chain of {STEPS} ({which}), {place:?}, CPU; wait p50 / p99 of {}",
                    cost.calls()
                ),
                server: cost.to_string(),
                result: format!("{} of CPU", DisplayTime(each)),
                bar: Some(("< 2 ms".to_owned(), each < MAX_STEP_TIME)),
                ..ReportRow::default()
            });
        }
    }
    Ok(())
}

async fn start_run(server: &mut StdioClient) -> anyhow::Result<String> {
    let first = run_command(server, r#">>long topic:"the two caches""#).await?;
    let run = first["chain_id"].as_str();
    Ok(run.context("a chain has no run")?.to_owned())
}

async fn continue_run(server: &mut StdioClient, run: &str, step: usize) -> anyhow::Result<()> {
    let answer = format!("Step {step}. {CONTENT} {CONTENT}");
    let arguments = json!({ "chain_id": run, "step": step, "user_response": answer });
    let next = call_engine(server, arguments).await?;
    let shown: &Value = &next["steps"];
    anyhow::ensure!(*shown == json!([step + 1]), "{next}");
    Ok(())
}
