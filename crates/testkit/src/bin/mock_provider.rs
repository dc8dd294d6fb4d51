//! The mock provider as a process, for tests in other languages. It prints one line, `listening
//! 127.0.0.1:PORT`, and serves until its stdin closes.

use std::{
    io::{self, Read, Write},
    time::Duration,
};

use clap::Parser;
use deliberate_testkit::mock_provider::{KEY, MockProvider, MockSettings};

/// Mocks Langbase, OpenAI-compatible endpoints and Anthropic on one loopback port.
#[derive(Debug, Parser)]
struct MockProviderArgs {
    /// The port; 0 picks a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The duration of each model request, in milliseconds.
    #[arg(long, default_value_t = 0)]
    delay_ms: u64,
    /// Answer 404 for pipes that were never created.
    #[arg(long)]
    strict_pipes: bool,
    /// Answer 404 for threads that were never issued.
    #[arg(long)]
    strict_threads: bool,
    /// Requests per second before 429.
    #[arg(long)]
    rate: Option<u32>,
    /// The key to accept; an empty one accepts any.
    #[arg(long, default_value = KEY)]
    key: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = MockProviderArgs::parse();
    let settings = MockSettings {
        key: Some(arguments.key).filter(|key| !key.is_empty()),
        delay: Duration::from_millis(arguments.delay_ms),
        strict_pipes: arguments.strict_pipes,
        strict_threads: arguments.strict_threads,
        rate: arguments.rate,
        ..MockSettings::default()
    };
    let standin = MockProvider::start_with(settings, arguments.port).await?;
    let mut stdout = io::stdout();
    writeln!(stdout, "listening {}", standin.address())?;
    stdout.flush()?;
    tokio::task::spawn_blocking(|| io::stdin().read_to_end(&mut Vec::new())).await??;
    Ok(())
}
