//! The prompt engine, over pipes, with a thousand prompts on disk: starting, calling, going on in a
//! long chain, seeing files change, memory, and what its tools cost a client to know.

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

/// Calls the engine and returns its answer; an error if the call failed.
async fn engine(server: &mut StdioClient, arguments: Value) -> anyhow::Result<Value> {
    let response = server.call("prompt_engine", arguments).await?;
    let answer = check_success(&response).cloned();
    answer.with_context(|| format!("stderr:\n{}", server.stderr()))
}

/// Likewise for a command.
async fn command(server: &mut StdioClient, command: &str) -> anyhow::Result<Value> {
    engine(server, json!({ "command": command })).await
}
