//! What the measurements share: the programs, the instant provider, fresh databases.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use anyhow::{Context as _, bail, ensure};
use deliberate_testkit::{
    Client, Standin, bare_command,
    load::Server,
    standin::{KEY, Settings},
};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::Arguments;

pub(crate) struct Bench {
    pub(crate) standin: Standin,
    server: PathBuf,
    floor: PathBuf,
    disk: Scratch,
    ram: Option<Scratch>,
    quick: bool,
    server_args: Vec<String>,
    databases: AtomicUsize,
}

/// Where a database lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Disk,
    Ram,
}

impl Bench {
    pub(crate) async fn new(arguments: Arguments) -> anyhow::Result<Self> {
        let here = std::env::current_exe()?;
        let beside = |name: &str| here.with_file_name(name);
        let server = arguments.server.unwrap_or_else(|| beside("deliberate"));
        let floor = arguments.floor.unwrap_or_else(|| beside("echo_floor"));
        for program in [&server, &floor] {
            ensure!(
                program.is_file(),
                "{} is not there; build it first",
                program.display()
            );
        }
        let settings = Settings {
            keep_bodies: false,
            ..Settings::default()
        };
        Ok(Self {
            standin: Standin::start_with(settings, 0).await?,
            server: server.canonicalize()?,
            floor: floor.canonicalize()?,
            disk: Scratch::new(&arguments.disk)?,
            ram: Scratch::new(&arguments.ram).ok(),
            quick: arguments.quick,
            server_args: arguments.server_args,
            databases: AtomicUsize::new(0),
        })
    }

    /// How often to do something: a tenth of it in a quick run, but not less than twice.
    pub(crate) fn times(&self, usual: usize) -> usize {
        if self.quick {
            (usual / 10).max(2)
        } else {
            usual
        }
    }

    /// The places there are, the RAM disk last.
    pub(crate) fn places(&self) -> Vec<Place> {
        let ram = self.ram.as_ref().map(|_| Place::Ram);
        [Some(Place::Disk), ram].into_iter().flatten().collect()
    }

    /// The RAM disk, or the disk where there is none.
    pub(crate) fn fastest(&self) -> Place {
        if self.ram.is_some() {
            Place::Ram
        } else {
            Place::Disk
        }
    }

    pub(crate) fn directory(&self, place: Place) -> &Path {
        match (place, &self.ram) {
            (Place::Ram, Some(ram)) => &ram.0,
            _ => &self.disk.0,
        }
    }

    /// `deliberate serve` with a new database.
    fn server_command(&self, place: Place) -> anyhow::Result<Command> {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let home = self.directory(place).join(format!("home-{number}"));
        fs::create_dir(&home)?;
        let mut command = bare_command(&self.server);
        command
            .arg("serve")
            .env("HOME", &home)
            .env("DELIBERATE_PROVIDER", "langbase")
            .env("LANGBASE_API_KEY", KEY)
            .env("LANGBASE_BASE_URL", self.standin.url())
            .env("DATABASE_PATH", home.join("bench.db"))
            .env("LOG_LEVEL", "warn");
        Ok(command)
    }

    /// A server with a new database, started and not yet spoken to.
    pub(crate) fn spawn_server(&self, place: Place) -> anyhow::Result<Client> {
        Client::spawn(&mut self.server_command(place)?)
    }

    /// Likewise, with prompts of its own.
    pub(crate) fn spawn_server_in(&self, place: Place, workspace: &Path) -> anyhow::Result<Client> {
        let mut command = self.server_command(place)?;
        Client::spawn(command.arg("--workspace").arg(workspace))
    }

    /// A server that has this one's tools too, ready for calls.
    pub(crate) async fn server_with_upstream(&self, upstream: &Path) -> anyhow::Result<Client> {
        let mut command = self.server_command(self.fastest())?;
        let settings = self.directory(self.fastest()).join("gateway.toml");
        let program = upstream.display().to_string();
        let text = format!("[servers.up]\ncommand = {program:?}\nexpose = \"all\"\n");
        fs::write(&settings, text)?;
        let mut client = Client::spawn(command.env("DELIBERATE_CONFIG", &settings))?;
        client.initialize().await?;
        Ok(client)
    }

    /// The same over HTTP, without the limits that keep one client from being so many.
    pub(crate) fn spawn_http_server(&self, place: Place) -> anyhow::Result<Server> {
        Server::spawn(self.server_command(place)?.args(&self.server_args))
    }

    /// The echo server over HTTP; with plain answers, the cheaper of its two kinds.
    pub(crate) fn spawn_http_floor(&self) -> anyhow::Result<Server> {
        Server::spawn(bare_command(&self.floor).arg("--json"))
    }

    /// The echo server, started and not yet spoken to.
    pub(crate) fn spawn_floor(&self) -> anyhow::Result<Client> {
        Client::spawn(&mut bare_command(&self.floor))
    }

    /// A server ready for calls.
    pub(crate) async fn server(&self, place: Place) -> anyhow::Result<Client> {
        let mut client = self.spawn_server(place)?;
        client.initialize().await?;
        Ok(client)
    }

    /// A server with prompts of its own, ready for calls.
    pub(crate) async fn server_in(&self, place: Place, workspace: &Path) -> anyhow::Result<Client> {
        let mut client = self.spawn_server_in(place, workspace)?;
        client.initialize().await?;
        Ok(client)
    }

    /// The echo server, ready for calls.
    pub(crate) async fn floor(&self) -> anyhow::Result<Client> {
        let mut client = self.spawn_floor()?;
        client.initialize().await?;
        Ok(client)
    }
}

/// What is asked, about as long as a thought.
pub(crate) const CONTENT: &str = "Which of the two caches should be dropped first when memory runs \
     short, and what would tell us afterwards that the choice was wrong?";

/// Arguments of a call that opens a new session, or goes on with one.
pub(crate) fn arguments(session: Option<&str>) -> Value {
    match session {
        Some(session) => json!({ "content": CONTENT, "session_id": session }),
        None => json!({ "content": CONTENT }),
    }
}

/// Makes one thought and returns its session's id.
pub(crate) async fn think(client: &mut Client, session: Option<&str>) -> anyhow::Result<String> {
    let response = client.call("reasoning_linear", arguments(session)).await?;
    session_of(&response).with_context(|| format!("stderr:\n{}", client.stderr()))
}

/// The session's id in a response; an error if the call failed.
pub(crate) fn session_of(response: &Value) -> anyhow::Result<String> {
    match succeeded(response)?["session_id"].as_str() {
        Some(id) => Ok(id.to_owned()),
        None => bail!("the answer names no session: {response}"),
    }
}

/// What a call answered; an error if it failed.
pub(crate) fn succeeded(response: &Value) -> anyhow::Result<&Value> {
    let result = &response["result"];
    ensure!(
        result["structuredContent"].is_object() && result["isError"] != true,
        "the call failed: {response}"
    );
    Ok(&result["structuredContent"])
}

/// A directory of this run, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(parent: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(parent)?;
        let parent = parent.canonicalize()?;
        let directory = parent.join(format!("deliberate-bench-{}", std::process::id()));
        fs::create_dir(&directory)?;
        Ok(Self(directory))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Left-overs in a scratch directory are no reason to fail.
        let _ = fs::remove_dir_all(&self.0);
    }
}
