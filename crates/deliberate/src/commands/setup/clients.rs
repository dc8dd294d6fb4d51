//! The MCP clients that can be configured: one entry each in [`CLIENTS`]. Paths and formats are
//! those in the clients' own documentation.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::{json_edit, server_entry::ServerEntry, toml_edit};
use crate::config::Environment;

/// A program that starts MCP servers.
pub(crate) struct ClientApp {
    /// Name on the command line.
    pub(crate) name: &'static str,
    /// Name as its makers write it.
    pub(crate) title: &'static str,
    /// Returns the user's settings file.
    pub(super) file: fn(&Dirs) -> PathBuf,
    /// Returns a path that exists if the client is installed.
    marker: fn(&Dirs) -> PathBuf,
    pub(super) format: ClientConfigFormat,
    /// What the user must do after the file is written.
    pub(super) next_step: &'static str,
}

/// How a client's file lists servers.
pub(super) enum ClientConfigFormat {
    /// `{ KEY: { NAME: { "command": …, "args": …, "env": … } } }`
    Json {
        key: &'static str,
        /// Whether an entry has `"type": "stdio"`.
        typed: bool,
    },
    /// `[TABLE.NAME]` with `command`, `args` and `env`.
    Toml { table: &'static str },
}

/// All clients, in the order in which they are listed.
#[rustfmt::skip]
pub(crate) static CLIENTS: &[ClientApp] = &[
    ClientApp {
        name: "claude-desktop",
        title: "Claude Desktop",
        file: |dirs| dirs.config.join("Claude").join("claude_desktop_config.json"),
        marker: |dirs| dirs.config.join("Claude"),
        format: ClientConfigFormat::Json { key: "mcpServers", typed: false },
        next_step: "Quit and reopen Claude Desktop.",
    },
    ClientApp {
        name: "claude-code",
        title: "Claude Code",
        // The top level is Claude Code's user scope: it applies to every project.
        file: |dirs| dirs.claude_home.as_ref().unwrap_or(&dirs.home).join(".claude.json"),
        marker: |dirs| dirs.claude_home.clone().unwrap_or_else(|| dirs.home.join(".claude")),
        format: ClientConfigFormat::Json { key: "mcpServers", typed: true },
        next_step: "Start a new Claude Code session; /mcp lists the server.",
    },
    ClientApp {
        name: "cursor",
        title: "Cursor",
        file: |dirs| dirs.home.join(".cursor").join("mcp.json"),
        marker: |dirs| dirs.home.join(".cursor"),
        format: ClientConfigFormat::Json { key: "mcpServers", typed: false },
        next_step: "Restart Cursor.",
    },
    ClientApp {
        name: "vscode",
        title: "VS Code",
        file: |dirs| dirs.config.join("Code").join("User").join("mcp.json"),
        marker: |dirs| dirs.config.join("Code"),
        format: ClientConfigFormat::Json { key: "servers", typed: true },
        next_step: "Run `MCP: List Servers` in VS Code to start it.",
    },
    ClientApp {
        name: "windsurf",
        title: "Windsurf",
        file: |dirs| dirs.home.join(".codeium").join("windsurf").join("mcp_config.json"),
        marker: |dirs| dirs.home.join(".codeium").join("windsurf"),
        format: ClientConfigFormat::Json { key: "mcpServers", typed: false },
        next_step: "Refresh the MCP servers in Windsurf's settings.",
    },
    ClientApp {
        name: "zed",
        title: "Zed",
        file: |dirs| zed_config_path(dirs).join("settings.json"),
        marker: zed_config_path,
        format: ClientConfigFormat::Json { key: "context_servers", typed: false },
        next_step: "Zed loads it by itself.",
    },
    ClientApp {
        name: "codex",
        title: "Codex",
        file: |dirs| codex_config_path(dirs).join("config.toml"),
        marker: codex_config_path,
        format: ClientConfigFormat::Toml { table: "mcp_servers" },
        next_step: "Start a new Codex session; /mcp lists the server.",
    },
    ClientApp {
        name: "gemini-cli",
        title: "Gemini CLI",
        file: |dirs| dirs.home.join(".gemini").join("settings.json"),
        marker: |dirs| dirs.home.join(".gemini"),
        format: ClientConfigFormat::Json { key: "mcpServers", typed: false },
        next_step: "Restart Gemini CLI; /mcp lists the server.",
    },
];

fn zed_config_path(dirs: &Dirs) -> PathBuf {
    match dirs.os {
        Os::Windows => dirs.config.join("Zed"),
        // Zed uses the Unix location on macOS too.
        Os::Apple => dirs.home.join(".config").join("zed"),
        Os::Unix => dirs.config.join("zed"),
    }
}

fn codex_config_path(dirs: &Dirs) -> PathBuf {
    let usual = || dirs.home.join(".codex");
    dirs.codex_home.clone().unwrap_or_else(usual)
}

/// Operating system, as far as it determines paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Os {
    /// Linux and similar systems.
    Unix,
    Apple,
    Windows,
}

/// Directories of this machine.
#[derive(Debug, Clone)]
pub(crate) struct Dirs {
    pub(crate) os: Os,
    pub(crate) home: PathBuf,
    /// Directory of the applications' settings.
    pub(crate) config: PathBuf,
    /// `CODEX_HOME`, if set.
    pub(crate) codex_home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`, if set.
    pub(crate) claude_home: Option<PathBuf>,
    /// Path of this program, as a client should start it.
    pub(crate) program: PathBuf,
}

impl Dirs {
    /// Returns the directories of this process.
    pub(crate) fn detect(environment: &Environment) -> anyhow::Result<Self> {
        let home = environment.home.clone();
        let config = environment.config_dir.clone();
        Ok(Self {
            os: if cfg!(windows) {
                Os::Windows
            } else if cfg!(target_os = "macos") {
                Os::Apple
            } else {
                Os::Unix
            },
            home: home.context("this user has no home directory")?,
            config: config.context("this user has no configuration directory")?,
            codex_home: environment.get("CODEX_HOME").map(PathBuf::from),
            claude_home: environment.get("CLAUDE_CONFIG_DIR").map(PathBuf::from),
            program: find_program(environment)?,
        })
    }
}

/// Returns the path under which this program is found in `PATH`, if there is one: a package
/// manager's link stays the same when the version behind it changes.
fn find_program(environment: &Environment) -> anyhow::Result<PathBuf> {
    let running =
        std::env::current_exe().context("the path of this program cannot be determined")?;
    let (Ok(real), Some(name)) = (running.canonicalize(), running.file_name()) else {
        return Ok(running);
    };
    let search = environment.get("PATH").unwrap_or_default();
    let linked = std::env::split_paths(search)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|candidate| candidate.canonicalize().is_ok_and(|path| path == real));
    Ok(linked.unwrap_or(running))
}

pub(super) fn find_client(name: &str) -> Option<&'static ClientApp> {
    CLIENTS.iter().find(|client| client.name == name)
}

/// Returns the file in which a client lists servers, if its format is JSON.
pub(crate) fn json_config_path(name: &str, dirs: &Dirs) -> Option<PathBuf> {
    let client = find_client(name)?;
    matches!(client.format, ClientConfigFormat::Json { .. }).then(|| (client.file)(dirs))
}

impl ClientApp {
    /// Returns the block to paste.
    pub(super) fn render_block(&self, entry: &ServerEntry) -> String {
        match self.format {
            ClientConfigFormat::Json { key, typed } => json_edit::render_block(key, typed, entry),
            ClientConfigFormat::Toml { table } => toml_edit::render_block(table, entry),
        }
    }
}

/// A client and the state of its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DetectedClient {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// Its settings file.
    pub(crate) path: PathBuf,
    /// Whether the client seems to be installed.
    pub(crate) exists: bool,
    /// Whether its settings contain this program.
    pub(crate) configured: bool,
}

/// Returns all clients, for `doctor`.
pub(crate) fn detect_clients(dirs: &Dirs) -> Vec<DetectedClient> {
    let found = CLIENTS.iter().map(|client| {
        let path = (client.file)(dirs);
        DetectedClient {
            name: client.name,
            title: client.title,
            exists: path.exists() || (client.marker)(dirs).exists(),
            configured: is_configured(client, &path),
            path,
        }
    });
    found.collect()
}

fn is_configured(client: &ClientApp, path: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(path) else {
        return false;
    };
    let commands = match client.format {
        ClientConfigFormat::Json { key, .. } => json_edit::server_commands(&text, key),
        ClientConfigFormat::Toml { table } => toml_edit::server_commands(&text, table),
    };
    match commands {
        Some(commands) => commands.iter().any(|command| {
            let stem = Path::new(command).file_stem();
            stem.is_some_and(|stem| stem.eq_ignore_ascii_case("deliberate"))
        }),
        // The file cannot be parsed; searching for the name is a good guess.
        None => text.contains("\"deliberate\""),
    }
}
