//! Hostile callers: random prompt commands, templates, JSON schemas, gates and wrong arguments that
//! try to take all memory or time, against a server with 1 GB of address space and a call limit of
//! five seconds. Meanwhile the server is pinged. Every call must be answered, the process must live,
//! and SIGTERM must end it within the time limit of its shutdown.
//!
//! It prints the longest ping, and fails if something does not hold. A bound on the ping is an
//! argument, because the time depends on the machine.

mod case;
mod expressions;
mod random;
mod schemas;
mod traffic;

use std::{
    io::Write as _,
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use clap::Parser;
use tokio::{process::Command, runtime::Builder, task::JoinSet};

use deliberate_testkit::{bare_command, load::ServerProcess};
use traffic::HostileTraffic;

/// The number of concurrent callers.
const CALLERS: u64 = 8;
/// The address space of the server.
const MEMORY_KIB: u64 = 1_024 * 1_024;
/// The time limit of a call.
const CALL_TIME: Duration = Duration::from_secs(5);
/// The time limit of the shutdown.
const SHUTDOWN_TIME: Duration = Duration::from_secs(5);

/// How long the end of a process may take after its time limit, on a busy machine.
const EXIT_GRACE: Duration = Duration::from_secs(5);

/// Sends hostile calls to `deliberate serve --http`.
#[derive(Debug, Parser)]
struct HostileArgs {
    /// The number of hostile calls.
    #[arg(long, default_value_t = 10_000)]
    calls: u64,
    /// The seed of the generator; the same seed makes the same calls.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The longest ping that is accepted, in milliseconds; no bound by default.
    #[arg(long)]
    max_ping_ms: Option<u64>,
    /// The directory for the database and the prompts.
    #[arg(long, default_value = "target/hostile")]
    scratch: PathBuf,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = HostileArgs::parse();
    drop(std::fs::remove_dir_all(&arguments.scratch));
    std::fs::create_dir_all(&arguments.scratch)?;
    let mut server = ServerProcess::start(&mut server_command(&arguments)?).await?;
    let traffic = Arc::new(HostileTraffic::new(&server, &arguments));
    let begun = Instant::now();
    let pinging = tokio::task::spawn_blocking(ping_on_this_thread(traffic.clone())?);
    let mut callers = JoinSet::new();
    for number in 0..CALLERS {
        callers.spawn(traffic::send_calls(traffic.clone(), number));
    }
    let mut all_ended = Ok(());
    while let Some(ended) = callers.join_next().await {
        all_ended = all_ended.and(ended);
    }
    let took = begun.elapsed();
    // Before an error is returned, because the end of the runtime waits for the pings.
    traffic.is_over.store(true, Ordering::Relaxed);
    pinging.await?;
    all_ended?;
    let peak = server.peak_kib();
    let stopping = Instant::now();
    let ended = server.terminate().await;
    let ended_after = stopping.elapsed();
    let mut stdout = std::io::stdout();
    write!(stdout, "{traffic}")?;
    writeln!(
        stdout,
        "{} calls in {:.1} s; peak memory {} MiB; ended {:.1} s after SIGTERM.",
        arguments.calls,
        took.as_secs_f64(),
        peak.as_ref().map_or(0, |kib| kib / 1024),
        ended_after.as_secs_f64(),
    )?;
    match &ended {
        Ok(status) if status.success() => {}
        Ok(status) => traffic.record_violation(format!("SIGTERM ended the server with {status}")),
        Err(error) => traffic.record_violation(format!("SIGTERM: {error:#}")),
    }
    if ended_after > SHUTDOWN_TIME + EXIT_GRACE {
        traffic.record_violation("SIGTERM ended the server after its time limit".to_owned());
    }
    if let Some(most) = arguments.max_ping_ms
        && traffic.longest_ping() > Duration::from_millis(most)
    {
        traffic.record_violation(format!("a ping took longer than {most} ms"));
    }
    let violations = traffic.violations();
    for violation in &violations {
        writeln!(stdout, "VIOLATION: {violation}")?;
    }
    if violations.is_empty() {
        writeln!(stdout, "No violation.")?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(stdout, "The server wrote:\n{}", server.output())?;
    Ok(ExitCode::FAILURE)
}

/// Returns the pinging, which has a thread and a runtime of its own: the callers make large requests, and
/// the time that a ping waits for them here is not the server's.
fn ping_on_this_thread(traffic: Arc<HostileTraffic>) -> anyhow::Result<impl FnOnce() + Send> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    Ok(move || runtime.block_on(traffic::ping(traffic)))
}

/// Returns the command of the server. A shell sets the limit of the address space.
fn server_command(arguments: &HostileArgs) -> anyhow::Result<Command> {
    let program = std::env::current_exe()?.with_file_name("deliberate");
    let program = program
        .canonicalize()
        .with_context(|| format!("{} does not exist; build it first", program.display()))?;
    let scratch = arguments.scratch.canonicalize()?;
    let limit = format!("ulimit -v {MEMORY_KIB} && exec \"$0\" \"$@\"");
    let time_limit = |key: &str, time: Duration| format!("limits.{key}={}", time.as_millis());
    let mut command = bare_command("/bin/sh");
    command
        .args(["-c", &limit])
        .arg(program)
        .arg("serve")
        .args(["--provider", "client"])
        .args(["--set", &time_limit("call_timeout_ms", CALL_TIME)])
        .args(["--set", &time_limit("shutdown_ms", SHUTDOWN_TIME)])
        .env("HOME", &scratch)
        .env("DATABASE_PATH", scratch.join("hostile.db"))
        .env("LOG_LEVEL", "warn");
    Ok(command)
}
