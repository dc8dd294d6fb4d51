//! Benchmarks of the call path, of HTTP, of the modes, of the prompt engine and of the gateway; and
//! on request of what the reasoning modes are worth.
//! They drive the release server and, in the same run, the baseline: a bare echo server on the same
//! SDK, the provider asked directly, one fsync. They print a Markdown table of figures and targets,
//! and whether each target is met; a slow result is not a failure.

#![expect(
    clippy::indexing_slicing,
    reason = "indexing a JSON value returns null for a missing field"
)]

mod calls;
mod gateway;
mod http;
mod http_throughput;
mod memory;
mod modes;
mod pipelined;
mod prompts;
mod reasoning;
mod report;
mod samples;
mod setup;
mod start;

use std::{io::Write, path::PathBuf};

use clap::Parser;
use reasoning::ReasoningArgs;
use report::BenchReport;
use setup::BenchSetup;

/// Measures the call path of `deliberate serve` against its baseline.
#[derive(Debug, Parser)]
struct BenchArgs {
    /// The part to measure; by default all parts but `reasoning`.
    what: Option<BenchPart>,
    /// The server; next to this program by default.
    #[arg(long)]
    server: Option<PathBuf>,
    /// The directory for databases on disk.
    #[arg(long, default_value = "target/bench")]
    disk: PathBuf,
    /// Make a tenth of the calls, as a smoke test.
    #[arg(long)]
    quick: bool,
    /// A Python with langchain-mcp-adapters, to compare with.
    #[arg(long)]
    python: Option<PathBuf>,
    /// An extra argument of the HTTP server, or of the server of `reasoning`, such as one that lifts a limit (repeatable).
    #[arg(long = "server-arg", allow_hyphen_values = true)]
    server_args: Vec<String>,
    #[command(flatten)]
    reasoning: ReasoningArgs,
}

/// A part that can be measured alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum BenchPart {
    /// The call path.
    Frame,
    /// Calls that ask no model, over HTTP and over pipes.
    Http,
    /// The reasoning modes.
    Modes,
    /// The prompt engine.
    Prompts,
    /// Tools of upstream servers.
    Gateway,
    /// Right answers of the reasoning modes, with a real model.
    Reasoning,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = BenchArgs::parse();
    if arguments.what == Some(BenchPart::Reasoning) {
        let BenchArgs {
            reasoning,
            server,
            server_args,
            disk,
            ..
        } = arguments;
        return reasoning::measure(&reasoning, server, &server_args, &disk).await;
    }
    let wanted = |part| arguments.what.is_none_or(|what| what == part);
    let [frame, http, modes, prompts, gateway] = [
        BenchPart::Frame,
        BenchPart::Http,
        BenchPart::Modes,
        BenchPart::Prompts,
        BenchPart::Gateway,
    ]
    .map(wanted);
    let python = arguments.python.clone();
    let bench = BenchSetup::new(arguments).await?;
    let mut report = BenchReport::new();
    if frame {
        start::measure(&bench, &mut report).await?;
        calls::measure(&bench, &mut report).await?;
        pipelined::measure(&bench, &mut report).await?;
        memory::measure(&bench, &mut report).await?;
    }
    if http {
        http::measure(&bench, &mut report).await?;
        http_throughput::measure(&bench, &mut report).await?;
    }
    if modes {
        modes::measure(&bench, &mut report).await?;
    }
    if prompts {
        prompts::measure(&bench, &mut report).await?;
    }
    if gateway {
        gateway::measure(&bench, python.as_deref(), &mut report).await?;
    }
    write!(std::io::stdout(), "{report}")?;
    Ok(())
}
