//! The MCP client under the official conformance suite: `conformance-client URL` runs the scenario
//! in `MCP_CONFORMANCE_SCENARIO` against the server at that URL. For tests only.
//!
//! The client library does everything that is tested; this program plays the user, the model and
//! the browser.

mod auto_accept;
mod headless_browser;
mod scenario;

use anyhow::Context as _;
use clap::Parser;

/// Runs a scenario of the official MCP conformance suite as a client.
#[derive(Parser)]
struct ConformanceClientOptions {
    /// The scenario to run.
    #[arg(long, env = "MCP_CONFORMANCE_SCENARIO", default_value = "")]
    scenario: String,
    /// The context of the scenario, as JSON.
    #[arg(long, env = "MCP_CONFORMANCE_CONTEXT", default_value = "{}")]
    context: String,
    /// The URL of the server.
    url: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = ConformanceClientOptions::parse();
    let context = serde_json::from_str(&options.context);
    let context = context.context("MCP_CONFORMANCE_CONTEXT is not valid JSON")?;
    scenario::run(&options.scenario, &options.url, context).await
}
