//! The benchmarks of the call path, of HTTP, of the modes, of the prompt engine and of the gateway. They drive the
//! release server and, beside it in the same run, the floor: a bare echo server on the same SDK,
//! the provider asked directly, one fsync. They print a Markdown table of figures, bars, and
//! whether each is met; being slow is no failure.

#![expect(
    clippy::indexing_slicing,
    reason = "reading a field of a JSON value gives null where there is none"
)]

mod calls;
mod gateway;
mod http;
mod http_throughput;
mod memory;
mod modes;
mod pipelined;
mod prompts;
mod report;
mod samples;
mod setup;
mod start;

use std::{io::Write, path::PathBuf};

use clap::Parser;
use report::BenchReport;
use setup::BenchSetup;

/// Measures the call path of `deliberate serve` against its floor.
#[derive(Debug, Parser)]
struct BenchArgs {
    /// What is measured; everything unless given.
    what: Option<BenchPart>,
    /// The server; beside this program unless given.
    #[arg(long)]
    server: Option<PathBuf>,
    /// The echo server; beside this program unless given.
    #[arg(long)]
    floor: Option<PathBuf>,
    /// Where databases on disk go.
    #[arg(long, default_value = "target/bench")]
    disk: PathBuf,
    /// Where databases on a RAM disk go.
    #[arg(long, default_value = "/dev/shm")]
    ram: PathBuf,
    /// A tenth of the calls, to see that it runs.
    #[arg(long)]
    quick: bool,
    /// A Python that has langchain-mcp-adapters, to compare with.
    #[arg(long)]
    python: Option<PathBuf>,
    /// A further argument of the server over HTTP, such as one that lifts a limit (repeatable).
    #[arg(long = "server-arg", allow_hyphen_values = true)]
    server_args: Vec<String>,
}

/// A part that can be measured alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum BenchPart {
    /// The call path.
    Frame,
    /// The calls that ask no model, over HTTP and over pipes.
    Http,
    /// The reasoning modes.
    Modes,
    /// The prompt engine.
    Prompts,
    /// Other servers' tools.
    Gateway,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = BenchArgs::parse();
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
