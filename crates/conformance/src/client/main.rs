//! The adapter under the official conformance suite: `conformance-client URL` does with the server
//! at that address what the scenario in `MCP_CONFORMANCE_SCENARIO` wants to see. For tests only.
//!
//! Everything that is checked is done by the adapter; what a person, a model or a browser would do
//! is done here.

mod auto_accept;
mod headless_browser;
mod scenario;

use anyhow::Context as _;
use clap::Parser;

/// The client under the official conformance suite.
#[derive(Parser)]
struct ConformanceClientOptions {
    /// What the suite wants to see.
    #[arg(long, env = "MCP_CONFORMANCE_SCENARIO", default_value = "")]
    scenario: String,
    /// What it tells beside, as JSON.
    #[arg(long, env = "MCP_CONFORMANCE_CONTEXT", default_value = "{}")]
    context: String,
    /// The address of the server.
    url: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = ConformanceClientOptions::parse();
    let context = serde_json::from_str(&options.context);
    let context = context.context("MCP_CONFORMANCE_CONTEXT can't be read")?;
    scenario::run(&options.scenario, &options.url, context).await
}
