//! Finds and starts the mock MCP server. It is a program of this crate; tests of other crates find
//! it here, and it is built if needed.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    time::SystemTime,
};

use anyhow::Context as _;

const NAME: &str = "mock_mcp_server";

/// Returns the path of the program `mock_mcp_server`, rebuilt if its source is newer.
pub fn mock_mcp_server_program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let program = program_directory();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        if modified_time(&program)
            .is_some_and(|built| newest_change(&sources).is_some_and(|source| source < built))
        {
            return program;
        }
        // The folder of a profile has its name, except for this one.
        let profile = match program.parent().and_then(Path::file_name) {
            Some(folder) if folder != "debug" => folder.to_string_lossy().into_owned(),
            _ => "dev".to_owned(),
        };
        let target = program.ancestors().nth(2).unwrap_or(Path::new("target"));
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", env!("CARGO_PKG_NAME")])
            .args(["--bin", NAME, "--profile", &profile])
            .arg("--target-dir")
            .arg(target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(
            built.is_ok_and(|status| status.success()) && program.is_file(),
            "the program {NAME} can't be built"
        );
        program
    })
}

/// The mock MCP server on the network. It is killed when dropped.
#[derive(Debug)]
pub struct MockServerProcess {
    child: Child,
    address: String,
}

impl MockServerProcess {
    /// Starts it at an address (`127.0.0.1:0` for any free port); `kind` is `--http` or `--ws`.
    pub fn spawn(kind: &str, address: &str, arguments: &[&str]) -> anyhow::Result<Self> {
        let mut child = Command::new(mock_mcp_server_program())
            .args([kind, address])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let stderr = child.stderr.take().context("no standard error")?;
        BufReader::new(stderr).read_line(&mut line)?;
        let address = line.trim().rsplit(' ').next().unwrap_or_default();
        Ok(Self {
            child,
            address: address.to_owned(),
        })
    }

    /// Returns the host and the port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Kills it and waits for its end.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for MockServerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the folder of the programs, which is above that of the tests.
fn program_directory() -> PathBuf {
    let tests = std::env::current_exe().unwrap_or_default();
    let folder = tests.parent().unwrap_or(Path::new("."));
    let folder = if folder.ends_with("deps") {
        folder.parent().unwrap_or(folder)
    } else {
        folder
    };
    folder.join(format!("{NAME}{}", std::env::consts::EXE_SUFFIX))
}

fn modified_time(file: &Path) -> Option<SystemTime> {
    file.metadata().and_then(|data| data.modified()).ok()
}

/// Returns the time of the newest change below a folder.
fn newest_change(folder: &Path) -> Option<SystemTime> {
    let entries = std::fs::read_dir(folder).ok()?;
    entries
        .flatten()
        .filter_map(|entry| {
            let path = entry.path();
            if path.is_dir() {
                newest_change(&path)
            } else {
                modified_time(&path)
            }
        })
        .max()
}
