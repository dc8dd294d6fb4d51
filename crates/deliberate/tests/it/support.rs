//! A home for every test, the program started in it, and helpers for answers.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

pub(crate) use deliberate_testkit::wait_until;
use deliberate_testkit::{MockProvider, StdioClient, bare_command};
use serde_json::{Value, json};
use sqlx::{ConnectOptions as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;
use tokio::{io::AsyncWriteExt as _, process::Command, time::timeout};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_deliberate");

/// Longer than anything takes on a busy machine; only a hang exceeds it.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// A user's home with a working directory, deleted when the test ends.
pub(crate) struct TestHome(TempDir);

impl TestHome {
    pub(crate) fn new() -> Self {
        let test_home = Self(tempfile::tempdir().unwrap());
        for folder in ["home", "data", "config", "work"] {
            std::fs::create_dir(test_home.path(folder)).unwrap();
        }
        test_home
    }

    /// Returns a path in it; `home`, `data`, `config` and `work` exist.
    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.0.path().join(inside)
    }

    /// Writes a file that only its owner can read.
    pub(crate) fn write_private(&self, inside: &str, text: &str) {
        let path = self.path(inside);
        std::fs::write(&path, text).unwrap();
        #[cfg(unix)]
        set_mode(&path, 0o600);
    }

    /// Returns the default path of the database.
    pub(crate) fn database(&self) -> PathBuf {
        self.path("data/deliberate/deliberate.db")
    }

    /// Returns the program without a provider.
    pub(crate) fn command(&self) -> Command {
        let mut command = bare_command(PROGRAM);
        command
            .env("HOME", self.path("home"))
            .env("XDG_DATA_HOME", self.path("data"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("RETRY_DELAY_MS", "1")
            .current_dir(self.path("work"));
        command
    }

    /// Returns the program with the mock provider as Langbase.
    pub(crate) fn command_with_provider(&self, standin: &MockProvider) -> Command {
        let mut command = self.command();
        ProviderFormat::Langbase.configure(&mut command, standin);
        command
    }

    /// Runs the program with these arguments and no provider.
    pub(crate) async fn run(&self, arguments: &[&str]) -> CliOutput {
        run_command(self.command().args(arguments)).await
    }

    /// Returns the JSON that a command prints.
    pub(crate) async fn run_json(&self, arguments: &[&str]) -> Value {
        let output = self.run(arguments).await;
        assert_eq!(output.code, Some(0), "{output:?}");
        serde_json::from_str(&output.stdout).unwrap()
    }

    /// Returns the number of sessions and of their thoughts, as counted by `sessions list`.
    pub(crate) async fn stored_counts(&self) -> (usize, u64) {
        let list = self
            .run_json(&["sessions", "list", "--limit", "1000", "--json"])
            .await;
        let list = list.as_array().unwrap();
        let steps = list.iter().map(|entry| entry["thoughts"].as_u64().unwrap());
        (list.len(), steps.sum())
    }

    pub(crate) async fn open_database(&self) -> SqliteConnection {
        open_sqlite(&self.database()).await
    }
}

/// Returns another program in the place of this command, with its folder and environment alone.
pub(crate) fn run_through(program: &str, command: &Command) -> Command {
    let command = command.as_std();
    let mut other = Command::new(program);
    other
        .env_clear()
        .current_dir(command.get_current_dir().unwrap());
    let variables = command.get_envs();
    other.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    other
}

#[cfg(unix)]
pub(crate) fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;

    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// Opens an `SQLite` file and creates it if it is missing.
pub(crate) async fn open_sqlite(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true);
    options.connect().await.unwrap()
}

/// The protocols of providers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ProviderFormat {
    Langbase,
    OpenAi,
    Anthropic,
}

impl ProviderFormat {
    pub(crate) const ALL: [Self; 3] = [Self::Langbase, Self::OpenAi, Self::Anthropic];

    /// Configures the program to use the mock provider with this protocol.
    pub(crate) fn configure(self, command: &mut Command, standin: &MockProvider) {
        self.configure_with_key(command, standin, &standin.key());
    }

    pub(crate) fn configure_with_key(
        self,
        command: &mut Command,
        standin: &MockProvider,
        key: &str,
    ) {
        let (key_name, url_name, url) = match self {
            Self::Langbase => ("LANGBASE_API_KEY", "LANGBASE_BASE_URL", standin.url()),
            Self::OpenAi => ("OPENAI_API_KEY", "OPENAI_BASE_URL", standin.openai_url()),
            Self::Anthropic => ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", standin.url()),
        };
        command.env(key_name, key).env(url_name, url);
        if self == Self::OpenAi {
            command.env("DELIBERATE_MODEL", "stand-in");
        }
    }

    /// Returns the error code for a provider that cannot be reached.
    pub(crate) fn unavailable_code(self) -> &'static str {
        match self {
            Self::Langbase => "LangbaseUnavailable",
            Self::OpenAi | Self::Anthropic => "ProviderUnavailable",
        }
    }
}

/// Result of a command.
#[derive(Debug)]
pub(crate) struct CliOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a command to its end, without standard input.
pub(crate) async fn run_command(command: &mut Command) -> CliOutput {
    run_with_input(command, "").await
}

/// Runs a command to its end with this standard input.
pub(crate) async fn run_with_input(command: &mut Command, input: &str) -> CliOutput {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let ended = async {
        // A command that reads nothing may have closed it.
        drop(stdin.write_all(input.as_bytes()).await);
        drop(stdin);
        child.wait_with_output().await.unwrap()
    };
    let output = timeout(TEST_TIMEOUT, ended)
        .await
        .expect("the command hangs");
    CliOutput {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Starts a server and performs the handshake.
pub(crate) async fn serve(command: &mut Command) -> StdioClient {
    let mut client = StdioClient::spawn(command).unwrap();
    client.initialize().await.unwrap();
    client
}

/// Stops a server by closing its input. It must exit successfully and follow the protocol; returns
/// the messages that no test waited for.
pub(crate) async fn shut_down(mut client: StdioClient) -> Vec<Value> {
    client.close_stdin();
    assert!(
        client.wait_exit().await.unwrap().success(),
        "{}",
        client.stderr()
    );
    check_protocol(&mut client)
}

/// Checks that standard output contained only JSON-RPC, and returns the messages that no test
/// waited for.
pub(crate) fn check_protocol(client: &mut StdioClient) -> Vec<Value> {
    assert_eq!(client.non_json_lines(), [] as [&str; 0]);
    let rest = client.take_buffered();
    assert!(
        rest.iter().all(|message| message["jsonrpc"] == "2.0"),
        "{rest:?}"
    );
    rest
}

pub(crate) async fn think(client: &mut StdioClient, content: &str) -> Value {
    client
        .call("reasoning_linear", json!({ "content": content }))
        .await
        .unwrap()
}

pub(crate) async fn think_in_session(
    client: &mut StdioClient,
    session: &str,
    content: &str,
) -> Value {
    let arguments = json!({ "content": content, "session_id": session });
    client.call("reasoning_linear", arguments).await.unwrap()
}

/// Returns the output of a successful call.
pub(crate) fn output(response: &Value) -> &Value {
    let result = &response["result"];
    assert!(
        result.is_object() && result["isError"] != true,
        "{response}"
    );
    &result["structuredContent"]
}

/// Returns a text field of the output of a successful call.
pub(crate) fn text<'a>(response: &'a Value, field: &str) -> &'a str {
    output(response)[field].as_str().unwrap()
}

/// Returns the error of a failed call, as the client's model reads it.
pub(crate) fn tool_failure(response: &Value) -> ToolFailure<'_> {
    let result = &response["result"];
    assert_eq!(result["isError"], true, "{response}");
    let error = &result["structuredContent"]["error"];
    ToolFailure {
        code: error["code"].as_str().unwrap(),
        hint: error["hint"].as_str(),
        text: result["content"][0]["text"].as_str().unwrap(),
    }
}

#[derive(Debug, PartialEq)]
pub(crate) struct ToolFailure<'a> {
    pub(crate) code: &'a str,
    pub(crate) hint: Option<&'a str>,
    pub(crate) text: &'a str,
}

pub(crate) fn error_code(response: &Value) -> i64 {
    response["error"]["code"]
        .as_i64()
        .unwrap_or_else(|| panic!("no error: {response}"))
}

pub(crate) async fn terminate(pid: u32) {
    let kill = format!("kill -TERM {pid}");
    let sent = Command::new("sh")
        .args(["-c", &kill])
        .status()
        .await
        .unwrap();
    assert!(sent.success());
}
