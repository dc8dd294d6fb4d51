//! Measures the prompt engine over pipes, with a thousand prompts on disk: start, calls, resuming a
//! long chain, detecting file changes, memory, and the size of its tool descriptions.

mod calls;
mod chain;
mod cpu;
mod footprint;
mod reload;
mod start;
mod workspace;

use anyhow::Context as _;
use deliberate_testkit::StdioClient;
use serde_json::{Value, json};

use crate::{report::BenchReport, setup::BenchSetup, setup::check_success};
use workspace::BenchWorkspace;

pub(crate) async fn measure(bench: &BenchSetup, report: &mut BenchReport) -> anyhow::Result<()> {
    let full = BenchWorkspace::full(bench)?;
    start::measure(bench, &full, report).await?;
    calls::measure(bench, &full, report).await?;
    chain::measure(bench, &full, report).await?;
    reload::measure(bench, &full, report).await?;
    footprint::measure(bench, &full, report).await
}

/// Calls the engine and returns its answer; fails if the call failed.
async fn call_engine(server: &mut StdioClient, arguments: Value) -> anyhow::Result<Value> {
    let response = server.call("prompt_engine", arguments).await?;
    let answer = check_success(&response).cloned();
    answer.with_context(|| format!("stderr:\n{}", server.stderr()))
}

/// Calls the engine with a command.
async fn run_command(server: &mut StdioClient, command: &str) -> anyhow::Result<Value> {
    call_engine(server, json!({ "command": command })).await
}
