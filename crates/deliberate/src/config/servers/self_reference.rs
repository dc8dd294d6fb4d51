//! Detects server entries that are this program itself. Such a server would start itself again
//! without end; clients that use this program list it among their servers.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use deliberate_http_client::is_loopback;
use serde_json::{Map, Value};
use url::{Host, Url};

use crate::config::environment::Environment;

/// Error for such an entry where it was written for this program.
pub(crate) const SELF_REFERENCE_ERROR: &str = "starts this program, which would start itself again \
     without end; remove it, or give it its own `--config`";

const PROGRAM_NAME: &str = "deliberate";

/// Default port of this program's HTTP server.
const DEFAULT_PORT: u16 = 8484;

/// Programs that start the program in their arguments.
const RUNNERS: &[&str] = &[
    "npx", "npm", "pnpm", "yarn", "bunx", "bun", "uvx", "uv", "pipx", "cargo", "env", "cmd", "sh",
    "bash", "zsh", "nice", "sudo", "docker", "podman",
];

/// Words of runners before the program that they start.
const RUNNER_SUBCOMMANDS: &[&str] = &["run", "exec", "dlx", "tool", "x", "/c", "/C"];

/// Returns whether the entry's command is this program, directly or through a runner such as `npx`.
pub(crate) fn starts_this_program(fields: &Map<String, Value>, environment: &Environment) -> bool {
    let Some(command) = fields.get("command").and_then(Value::as_str) else {
        return false;
    };
    if is_program_name(command) || is_program_file(command, environment) {
        return true;
    }
    let Some(runner) = stem(command).filter(|it| RUNNERS.contains(&it.as_str())) else {
        return false;
    };
    let args = fields.get("args").and_then(Value::as_array);
    let texts = args.into_iter().flatten().filter_map(Value::as_str);
    // A shell gets the whole line as one argument.
    let mut named = texts
        .flat_map(str::split_whitespace)
        .filter(|word| !word.starts_with('-') && (is_program_name(word) || !word.contains('=')))
        .filter(|word| !RUNNER_SUBCOMMANDS.contains(word));
    if matches!(runner.as_str(), "docker" | "podman") {
        return named.any(is_program_name);
    }
    let first = named.next();
    first.is_some_and(|word| {
        is_program_name(word)
            || (RUNNERS.contains(&word) && named.next().is_some_and(is_program_name))
    })
}

/// Returns whether the entry's URL is that of this program's HTTP server.
pub(crate) fn connects_to_this_program(
    fields: &Map<String, Value>,
    listen: Option<SocketAddr>,
) -> bool {
    let url = ["url", "serverUrl", "httpUrl"].iter().find_map(|name| {
        let text = fields.get(*name)?.as_str()?;
        Url::parse(text).ok()
    });
    let Some(url) = url else {
        return false;
    };
    let address = match url.host() {
        Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        Some(Host::Domain(_)) | None => None,
    };
    let is_listen_address = address.is_some() && address == listen.map(|listen| listen.ip());
    let here = is_loopback(&url) || is_listen_address;
    let port = listen.map_or(DEFAULT_PORT, |listen| listen.port());
    here && url.port_or_known_default() == Some(port)
}

/// Returns whether the entry has its own settings file, in which other servers may be listed.
pub(crate) fn has_own_settings(fields: &Map<String, Value>) -> bool {
    let args = fields.get("args").and_then(Value::as_array);
    let by_flag = args.into_iter().flatten().any(|arg| {
        let arg = arg.as_str().unwrap_or_default();
        arg == "--config" || arg.starts_with("--config=")
    });
    let env = fields.get("env").and_then(Value::as_object);
    by_flag || env.is_some_and(|env| env.contains_key("DELIBERATE_CONFIG"))
}

/// Recognizes `deliberate`, `/usr/bin/deliberate`, `deliberate.exe`, `deliberate@1.2`,
/// `@who/deliberate`, `deliberate==1.2`, `ghcr.io/who/deliberate:latest`.
fn is_program_name(word: &str) -> bool {
    let last = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let name = last.split(['@', ':', '=', '>', '<', '~', '[']).next();
    let name = name.unwrap_or(last).to_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    name == PROGRAM_NAME
}

fn stem(command: &str) -> Option<String> {
    let last = command.rsplit(['/', '\\']).next()?;
    let stem = Path::new(last).file_stem()?.to_str()?;
    Some(stem.to_lowercase())
}

/// Returns whether the command is the running executable, under any name.
fn is_program_file(command: &str, environment: &Environment) -> bool {
    let Some(ours) = std::env::current_exe()
        .and_then(|it| it.canonicalize())
        .ok()
    else {
        return false;
    };
    let is_it = |path: PathBuf| path.canonicalize().is_ok_and(|real| real == ours);
    if command.contains(['/', '\\']) {
        return is_it(PathBuf::from(command));
    }
    let search = environment.get("PATH").unwrap_or_default();
    std::env::split_paths(search).any(|folder| is_it(folder.join(command)))
}
