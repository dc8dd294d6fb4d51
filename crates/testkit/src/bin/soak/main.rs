//! The soak test: a server over HTTP, a mock provider, and many clients for a minute, most of them
//! well-behaved and some misbehaving. Well-behaved clients must see no error and no data of others,
//! invalid input must not succeed, and the server's memory must stay flat. After that, a flood of
//! handshakes must not make it grow, and SIGTERM must end it cleanly.
//!
//! It prints a table and fails if one of these does not hold. It makes no assertions about time.

#![expect(
    clippy::indexing_slicing,
    reason = "indexing a JSON value returns null for a missing field"
)]

mod client_tag;
mod counters;
mod handshake_flood;
mod invalid_input;
mod memory;
mod misbehaving;
mod resources;
mod scenarios;
mod sse;
mod well_behaved;

use std::{
    io::Write,
    net::SocketAddr,
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use clap::Parser;
use tempfile::TempDir;
use tokio::task::JoinSet;

use counters::SoakCounters;
use deliberate_testkit::{
    MockProvider, bare_command,
    load::ServerProcess,
    mock_provider::{KEY, MockSettings},
};
use memory::MemorySamples;
use well_behaved::ServerFeatures;

/// The response time of the mock provider.
const PROVIDER: Duration = Duration::from_millis(20);

/// The number of handshakes in the flood.
const FLOOD: usize = 20_000;

/// The duration, in seconds, of a run that is long enough for every expected time-out.
const FULL_RUN_SECS: u64 = 60;

/// Loads `deliberate serve --http` with well-behaved and misbehaving clients.
#[derive(Debug, Parser)]
struct SoakArgs {
    /// The duration of the client load, in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The number of concurrent clients, of all kinds.
    #[arg(long, default_value_t = 200)]
    clients: usize,
    /// An extra argument of the server, such as one that lifts a limit (repeatable).
    #[arg(long = "server-arg", allow_hyphen_values = true)]
    server_args: Vec<String>,
    /// The directory for the database.
    #[arg(long, default_value = "target/soak")]
    scratch: PathBuf,
}

/// The server address, the end time and the counters that all clients share.
#[derive(Clone)]
struct SoakContext {
    host: SocketAddr,
    until: Instant,
    counters: Arc<SoakCounters>,
}

impl SoakContext {
    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = SoakArgs::parse();
    std::fs::create_dir_all(&arguments.scratch)?;
    let scratch = TempDir::new_in(arguments.scratch.canonicalize()?)?;
    let settings = MockSettings {
        keep_bodies: false,
        delay: PROVIDER,
        ..MockSettings::default()
    };
    let standin = MockProvider::start_with(settings, 0).await?;
    let mut server = start(&arguments, &standin, &scratch).await?;
    let tally = Arc::new(SoakCounters::default());
    let mut memory = MemorySamples::default();

    let soaked = soak(&arguments, &server, &tally, &mut memory).await;
    let flooded = match soaked {
        Ok(()) => handshake_flood::run(&server, FLOOD, &tally, &mut memory).await,
        failed => failed,
    };
    if let Err(error) = flooded {
        let written = server.output();
        return Err(error.context(format!("the server wrote:\n{written}")));
    }
    let files = server.open_files()?;
    let ended = server.terminate().await?;
    if !ended.success() {
        tally.record_violation(format!("SIGTERM ended the server with {ended}"));
    }
    let mut stdout = std::io::stdout();
    write!(stdout, "{tally}{memory}")?;
    writeln!(stdout, "Open files and sockets at the end: {files}.")?;
    let violations = tally.violations();
    for violation in &violations {
        writeln!(stdout, "VIOLATION: {violation}")?;
    }
    Ok(if violations.is_empty() {
        writeln!(stdout, "No violation.")?;
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn start(
    arguments: &SoakArgs,
    standin: &MockProvider,
    scratch: &TempDir,
) -> anyhow::Result<ServerProcess> {
    let program = std::env::current_exe()?.with_file_name("deliberate");
    let program = program
        .canonicalize()
        .with_context(|| format!("{} does not exist; build it first", program.display()))?;
    let mut command = bare_command(program);
    command
        .arg("serve")
        .args(&arguments.server_args)
        .env("HOME", scratch.path())
        .env("DELIBERATE_PROVIDER", "langbase")
        .env("LANGBASE_API_KEY", KEY)
        .env("LANGBASE_BASE_URL", standin.url())
        .env("DATABASE_PATH", scratch.path().join("soak.db"))
        .env("LOG_LEVEL", "warn");
    ServerProcess::start(&mut command).await
}

async fn soak(
    arguments: &SoakArgs,
    server: &ServerProcess,
    tally: &Arc<SoakCounters>,
    memory: &mut MemorySamples,
) -> anyhow::Result<()> {
    let host = server.address();
    let offer = Arc::new(ServerFeatures::detect(host).await?);
    let until = Instant::now() + Duration::from_secs(arguments.seconds);
    let scene = SoakContext {
        host,
        until,
        counters: Arc::clone(tally),
    };
    let mut crowd = JoinSet::new();
    for number in 0..arguments.clients {
        // Of twenty clients, twelve are plain, two use the old transport, and six misbehave.
        let (scene, offer) = (scene.clone(), Arc::clone(&offer));
        match number % 20 {
            12 | 13 if offer.sse => drop(crowd.spawn(sse::run(scene, number))),
            14 => drop(crowd.spawn(misbehaving::disconnect(scene, number))),
            15 => drop(crowd.spawn(misbehaving::read_slowly(scene))),
            16 => drop(crowd.spawn(misbehaving::write_slowly(
                scene,
                misbehaving::RequestPart::Head,
            ))),
            17 => drop(crowd.spawn(misbehaving::write_slowly(
                scene,
                misbehaving::RequestPart::Body,
            ))),
            18 | 19 => drop(crowd.spawn(invalid_input::run(scene, number))),
            _ => drop(crowd.spawn(well_behaved::run(scene, offer, number))),
        }
    }
    memory.watch(server, until, arguments.seconds).await?;
    while let Some(ended) = crowd.join_next().await {
        ended?;
    }
    memory.check(tally);
    if arguments.seconds >= FULL_RUN_SECS {
        for what in misbehaving::CUT_OFF_LABELS {
            tally.expect(what);
        }
    }
    Ok(())
}
