//! A raw client of an MCP server over pipes. It enforces no protocol: any bytes can be sent, every
//! message is stored, and nothing waits longer than a minute.

use std::{
    collections::VecDeque,
    ffi::OsStr,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// The time-out, longer than anything a test waits for on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The newest revision with a handshake.
const HANDSHAKE_REVISION: &str = "2025-11-25";

/// Returns a command with a clean environment: only `PATH` is inherited, so that no key or setting
/// of the user who runs the tests affects them, and no local model is searched for.
pub fn bare_command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    let path = std::env::vars_os().find(|(name, _)| name == "PATH");
    command
        .env_clear()
        .envs(path)
        .env("DELIBERATE_DISCOVER", "off");
    command
}

/// A server process and its pipes. The process is killed when this is dropped.
#[derive(Debug)]
pub struct StdioClient {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    partial: Vec<u8>,
    stderr: Arc<Mutex<Vec<u8>>>,
    buffered: VecDeque<Value>,
    non_json_lines: Vec<String>,
    next_id: u64,
}

impl StdioClient {
    /// Starts the command with pipes for all three streams.
    pub fn spawn(command: &mut Command) -> anyhow::Result<Self> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().context("the server does not start")?;
        let stdout = child.stdout.take().context("no stdout")?;
        let stderr = Arc::default();
        tokio::spawn(collect(
            child.stderr.take().context("no stderr")?,
            Arc::clone(&stderr),
        ));
        Ok(Self {
            stdin: child.stdin.take(),
            child,
            stdout: BufReader::with_capacity(64 * 1024, stdout),
            partial: Vec::new(),
            stderr,
            buffered: VecDeque::new(),
            non_json_lines: Vec::new(),
            next_id: 1,
        })
    }

    /// Returns the process id while the process runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Returns what the process wrote to stderr so far.
    pub fn stderr(&self) -> String {
        let bytes = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the lines on stdout that were not JSON. A server that follows the protocol has none.
    pub fn non_json_lines(&self) -> &[String] {
        &self.non_json_lines
    }

    /// Takes the messages that arrived while another was awaited, oldest first.
    pub fn take_buffered(&mut self) -> Vec<Value> {
        self.buffered.drain(..).collect()
    }

    /// Sends bytes as they are. Reads meanwhile, so that neither side blocks on a full pipe.
    pub async fn send_bytes(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let mut stdin = self.stdin.take().context("stdin is closed")?;
        let sent = timeout(TIMEOUT, async {
            let write = async {
                stdin.write_all(bytes).await?;
                stdin.flush().await
            };
            tokio::pin!(write);
            let mut open = true;
            loop {
                tokio::select! {
                    biased;
                    written = &mut write => break written.context("the server stopped reading"),
                    read = self.read_message(), if open => match read? {
                        Some(message) => self.buffered.push_back(message),
                        None => open = false,
                    },
                }
            }
        })
        .await;
        self.stdin = Some(stdin);
        sent.context("the server does not read")?
    }

    /// Sends a line; the line end is added.
    pub async fn send_line(&mut self, line: &str) -> anyhow::Result<()> {
        self.send_bytes(format!("{line}\n").as_bytes()).await
    }

    /// Sends a message.
    pub async fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        self.send_line(&message.to_string()).await
    }

    /// Sends a notification.
    pub async fn notify(&mut self, method: &str, params: Value) -> anyhow::Result<()> {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.send(&message).await
    }

    /// Answers a request of the server.
    pub async fn reply(&mut self, id: &Value, result: Value) -> anyhow::Result<()> {
        let message = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        self.send(&message).await
    }

    /// Sends a request and returns its id without waiting.
    pub async fn send_request(&mut self, method: &str, params: Value) -> anyhow::Result<u64> {
        let (id, message) = self.make_request(method, &params);
        self.send(&message).await?;
        Ok(id)
    }

    /// Builds a request with the next id, without sending it.
    pub fn make_request(&mut self, method: &str, params: &Value) -> (u64, Value) {
        let id = self.next_id;
        self.next_id += 1;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        (id, message)
    }

    /// Waits for the response with this id and returns the whole message, with `result` or `error`.
    pub async fn response(&mut self, id: impl Into<Value>) -> anyhow::Result<Value> {
        let id = id.into();
        let is_it = |message: &Value| message.get("method").is_none() && message["id"] == id;
        if let Some(index) = self.buffered.iter().position(is_it) {
            return self
                .buffered
                .remove(index)
                .context("the message was found before");
        }
        let awaited = async {
            loop {
                match self.read_message().await? {
                    Some(message) if is_it(&message) => return Ok(message),
                    Some(message) => self.buffered.push_back(message),
                    None => bail!("the server ended without answering {id}"),
                }
            }
        };
        match timeout(TIMEOUT, awaited).await {
            Ok(response) => response,
            Err(_) => bail!(
                "no answer to {id} in {TIMEOUT:?}; stderr:\n{}",
                self.stderr()
            ),
        }
    }

    /// Sends a request and waits for its response.
    pub async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = self.send_request(method, params).await?;
        self.response(id).await
    }

    /// Makes the handshake and returns the server's part of it.
    pub async fn initialize(&mut self) -> anyhow::Result<Value> {
        self.initialize_with(json!({})).await
    }

    /// Makes the handshake of a client with these capabilities.
    pub async fn initialize_with(&mut self, capabilities: Value) -> anyhow::Result<Value> {
        let params = json!({
            "protocolVersion": HANDSHAKE_REVISION,
            "capabilities": capabilities,
            "clientInfo": { "name": "testkit", "version": "0" },
        });
        let response = self.request("initialize", params).await?;
        self.notify("notifications/initialized", json!({})).await?;
        Ok(response)
    }

    /// Calls a tool and returns the whole response.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Value> {
        let params = json!({ "name": tool, "arguments": arguments });
        self.request("tools/call", params).await
    }

    /// Returns the next message: a stored one, else one that arrives within a minute; `None` at the
    /// end.
    pub async fn next_message(&mut self) -> anyhow::Result<Option<Value>> {
        if let Some(message) = self.buffered.pop_front() {
            return Ok(Some(message));
        }
        timeout(TIMEOUT, self.read_message())
            .await
            .context("no message in time")?
    }

    /// Returns the next message that arrives within this time; `None` if there is none, also at the
    /// end.
    pub async fn next_message_within(&mut self, time: Duration) -> anyhow::Result<Option<Value>> {
        if let Some(message) = self.buffered.pop_front() {
            return Ok(Some(message));
        }
        match timeout(time, self.read_message()).await {
            Ok(message) => message,
            Err(_) => Ok(None),
        }
    }

    /// Closes the server's stdin: there will be no more requests.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Reads to the end and waits for the process; the messages are stored.
    pub async fn wait_exit(&mut self) -> anyhow::Result<ExitStatus> {
        let ended = async {
            while let Some(message) = self.read_message().await? {
                self.buffered.push_back(message);
            }
            anyhow::Ok(self.child.wait().await?)
        };
        timeout(TIMEOUT, ended)
            .await
            .context("the server does not end")?
    }

    /// Kills the process (signal 9) and waits until it has ended.
    pub async fn kill(&mut self) -> anyhow::Result<ExitStatus> {
        self.child.start_kill()?;
        Ok(timeout(TIMEOUT, self.child.wait()).await??)
    }

    /// Returns the resident memory of the process, in KiB (Linux only).
    pub fn resident_kib(&self) -> anyhow::Result<u64> {
        let pid = self.pid().context("the process has ended")?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        Ok(number.context("no VmRSS")?.parse()?)
    }

    /// Returns the next JSON line; other lines are stored as noise. Cancel-safe.
    async fn read_message(&mut self) -> anyhow::Result<Option<Value>> {
        loop {
            let length = self.stdout.read_until(b'\n', &mut self.partial).await?;
            if length == 0 && self.partial.is_empty() {
                return Ok(None);
            }
            let line = std::mem::take(&mut self.partial);
            match serde_json::from_slice(&line) {
                Ok(message) => return Ok(Some(message)),
                Err(_) => self
                    .non_json_lines
                    .push(String::from_utf8_lossy(&line).into_owned()),
            }
        }
    }
}

async fn collect(mut stderr: ChildStderr, into: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = stderr.read(&mut buffer).await {
        let new = buffer.get(..length).unwrap_or_default();
        into.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn talks_to_a_process_and_outlives_a_full_pipe() {
        let mut client = StdioClient::spawn(&mut bare_command("cat")).unwrap();
        // Far more than a pipe holds, echoed back at once.
        let long = "x".repeat(1 << 20);
        client
            .send(&json!({ "id": 1, "result": long }))
            .await
            .unwrap();
        client.send_line("no JSON").await.unwrap();
        client
            .send(&json!({ "id": "b", "result": 2 }))
            .await
            .unwrap();
        assert_eq!(client.response("b").await.unwrap()["result"], 2);
        assert_eq!(client.response(1).await.unwrap()["result"], long);
        assert_eq!(client.non_json_lines(), ["no JSON\n"]);
        assert!(client.resident_kib().unwrap() > 0);
        client.close_stdin();
        assert!(client.wait_exit().await.unwrap().success());
    }

    #[tokio::test]
    async fn collects_stderr_and_kills() {
        let mut command = bare_command("sh");
        command.args(["-c", "echo oops >&2; exec sleep 100"]);
        let mut client = StdioClient::spawn(&mut command).unwrap();
        while client.stderr().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(client.stderr(), "oops\n");
        assert!(!client.kill().await.unwrap().success());
        assert_eq!(client.next_message().await.unwrap(), None);
    }
}
