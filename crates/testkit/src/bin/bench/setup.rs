//! The shared setup of the measurements: the programs, the instant provider, fresh databases.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use anyhow::{Context as _, bail, ensure};
use deliberate_testkit::{
    MockProvider, StdioClient, bare_command,
    load::ServerProcess,
    mock_provider::{KEY, MockSettings},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::BenchArgs;

/// The directory for databases on a RAM disk.
const RAM_DISK: &str = "/dev/shm";

pub(crate) struct BenchSetup {
    pub(crate) provider: MockProvider,
    server: PathBuf,
    baseline: PathBuf,
    disk: TempDir,
    ram: Option<TempDir>,
    quick: bool,
    server_args: Vec<String>,
    databases: AtomicUsize,
}

/// The location of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DatabaseLocation {
    Disk,
    Ram,
}

impl BenchSetup {
    pub(crate) async fn new(arguments: BenchArgs) -> anyhow::Result<Self> {
        let here = std::env::current_exe()?;
        let beside = |name: &str| here.with_file_name(name);
        let server = arguments.server.unwrap_or_else(|| beside("deliberate"));
        let floor = beside("echo_baseline");
        for program in [&server, &floor] {
            ensure!(
                program.is_file(),
                "{} does not exist; build it first",
                program.display()
            );
        }
        let settings = MockSettings {
            keep_bodies: false,
            ..MockSettings::default()
        };
        Ok(Self {
            provider: MockProvider::start_with(settings, 0).await?,
            server: server.canonicalize()?,
            baseline: floor.canonicalize()?,
            disk: scratch_directory(&arguments.disk)?,
            ram: scratch_directory(Path::new(RAM_DISK)).ok(),
            quick: arguments.quick,
            server_args: arguments.server_args,
            databases: AtomicUsize::new(0),
        })
    }

    /// Returns the number of repetitions: a tenth in a quick run, but at least two.
    pub(crate) fn scaled(&self, usual: usize) -> usize {
        if self.quick {
            (usual / 10).max(2)
        } else {
            usual
        }
    }

    /// Returns the available locations, the RAM disk last.
    pub(crate) fn locations(&self) -> Vec<DatabaseLocation> {
        let ram = self.ram.as_ref().map(|_| DatabaseLocation::Ram);
        [Some(DatabaseLocation::Disk), ram]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Returns the RAM disk, or the disk if there is none.
    pub(crate) fn fastest(&self) -> DatabaseLocation {
        if self.ram.is_some() {
            DatabaseLocation::Ram
        } else {
            DatabaseLocation::Disk
        }
    }

    pub(crate) fn directory(&self, place: DatabaseLocation) -> &Path {
        match (place, &self.ram) {
            (DatabaseLocation::Ram, Some(ram)) => ram.path(),
            _ => self.disk.path(),
        }
    }

    /// Returns the command `deliberate serve` with a new database.
    fn server_command(&self, location: DatabaseLocation) -> anyhow::Result<Command> {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let home = self.directory(location).join(format!("home-{number}"));
        fs::create_dir(&home)?;
        let mut command = bare_command(&self.server);
        command
            .arg("serve")
            .env("HOME", &home)
            .env("DELIBERATE_PROVIDER", "langbase")
            .env("LANGBASE_API_KEY", KEY)
            .env("LANGBASE_BASE_URL", self.provider.url())
            .env("DATABASE_PATH", home.join("bench.db"))
            .env("LOG_LEVEL", "warn");
        Ok(command)
    }

    /// Starts a server with a new database, without the handshake.
    pub(crate) fn spawn_server(&self, place: DatabaseLocation) -> anyhow::Result<StdioClient> {
        StdioClient::spawn(&mut self.server_command(place)?)
    }

    /// Starts a server with a workspace of prompts, without the handshake.
    pub(crate) fn spawn_server_in(
        &self,
        location: DatabaseLocation,
        workspace: &Path,
    ) -> anyhow::Result<StdioClient> {
        let mut command = self.server_command(location)?;
        StdioClient::spawn(command.arg("--workspace").arg(workspace))
    }

    /// Starts a server that also has the tools of the mock MCP server, ready for calls.
    pub(crate) async fn server_with_mock_mcp(
        &self,
        upstream: &Path,
    ) -> anyhow::Result<StdioClient> {
        let mut command = self.server_command(self.fastest())?;
        let settings = self.directory(self.fastest()).join("gateway.toml");
        let program = upstream.display().to_string();
        let text = format!("[servers.up]\ncommand = {program:?}\nexpose = \"all\"\n");
        fs::write(&settings, text)?;
        let mut client = StdioClient::spawn(command.env("DELIBERATE_CONFIG", &settings))?;
        client.initialize().await?;
        Ok(client)
    }

    /// Starts a server over HTTP, without the limits that keep one client from opening so many
    /// connections.
    pub(crate) fn spawn_http_server(
        &self,
        location: DatabaseLocation,
    ) -> anyhow::Result<ServerProcess> {
        ServerProcess::spawn(self.server_command(location)?.args(&self.server_args))
    }

    /// Starts the echo server over HTTP with plain JSON answers, the cheaper of its two kinds.
    pub(crate) fn spawn_http_baseline(&self) -> anyhow::Result<ServerProcess> {
        ServerProcess::spawn(bare_command(&self.baseline).arg("--json"))
    }

    /// Starts the echo server, without the handshake.
    pub(crate) fn spawn_baseline(&self) -> anyhow::Result<StdioClient> {
        StdioClient::spawn(&mut bare_command(&self.baseline))
    }

    /// Starts a server that is ready for calls.
    pub(crate) async fn server(&self, place: DatabaseLocation) -> anyhow::Result<StdioClient> {
        let mut client = self.spawn_server(place)?;
        client.initialize().await?;
        Ok(client)
    }

    /// Starts a server with a workspace of prompts, ready for calls.
    pub(crate) async fn server_in(
        &self,
        location: DatabaseLocation,
        workspace: &Path,
    ) -> anyhow::Result<StdioClient> {
        let mut client = self.spawn_server_in(location, workspace)?;
        client.initialize().await?;
        Ok(client)
    }

    /// Starts the echo server, ready for calls.
    pub(crate) async fn baseline(&self) -> anyhow::Result<StdioClient> {
        let mut client = self.spawn_baseline()?;
        client.initialize().await?;
        Ok(client)
    }
}

/// The text of a call, about as long as a thought.
pub(crate) const CONTENT: &str = "Which of the two caches should be dropped first when memory runs \
     short, and what would tell us afterwards that the choice was wrong?";

/// Returns the arguments of a call that opens a new session or continues one.
pub(crate) fn think_arguments(session: Option<&str>) -> Value {
    match session {
        Some(session) => json!({ "content": CONTENT, "session_id": session }),
        None => json!({ "content": CONTENT }),
    }
}

/// Adds one thought and returns the id of its session.
pub(crate) async fn think(
    client: &mut StdioClient,
    session: Option<&str>,
) -> anyhow::Result<String> {
    let response = client
        .call("reasoning_linear", think_arguments(session))
        .await?;
    session_id(&response).with_context(|| format!("stderr:\n{}", client.stderr()))
}

/// Returns the session id in a response; fails if the call failed.
pub(crate) fn session_id(response: &Value) -> anyhow::Result<String> {
    match check_success(response)?["session_id"].as_str() {
        Some(id) => Ok(id.to_owned()),
        None => bail!("the answer names no session: {response}"),
    }
}

/// Returns the result of a call; fails if the call failed.
pub(crate) fn check_success(response: &Value) -> anyhow::Result<&Value> {
    let result = &response["result"];
    ensure!(
        result["structuredContent"].is_object() && result["isError"] != true,
        "the call failed: {response}"
    );
    Ok(&result["structuredContent"])
}

/// Creates a directory of this run, which is removed at its end.
fn scratch_directory(parent: &Path) -> anyhow::Result<TempDir> {
    fs::create_dir_all(parent)?;
    let parent = parent.canonicalize()?;
    Ok(TempDir::with_prefix_in("deliberate-bench-", parent)?)
}
