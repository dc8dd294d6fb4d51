//! Client side of the demo: starts a server process and communicates over its standard input and
//! output, as an MCP client does.

use std::{ffi::OsString, path::Path, process::Stdio, time::Duration};

use anyhow::{Context as _, anyhow, bail};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// The newest revision that begins with a handshake.
const PROTOCOL_VERSION: &str = "2025-11-25";

/// Far longer than any answer takes; only a hanging server exceeds it.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Time to exit after its input is closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// A server process and its pipes. Dropping it kills the process.
pub(super) struct DemoServer {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    last_id: u64,
}

impl DemoServer {
    /// Starts the server. Its log goes to standard error, like ours.
    pub(super) fn start(program: &Path, arguments: &[OsString]) -> anyhow::Result<Self> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} cannot be started as a server", program.display()))?;
        let input = child.stdin.take().context("the server has no input")?;
        let output = child.stdout.take().context("the server has no output")?;
        Ok(Self {
            child,
            input,
            output: BufReader::new(output).lines(),
            last_id: 0,
        })
    }

    /// Performs the handshake and returns the server's result.
    pub(super) async fn initialize(&mut self) -> anyhow::Result<Value> {
        let params = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": {},
            "clientInfo": { "name": "deliberate-demo", "version": env!("CARGO_PKG_VERSION") },
        });
        let greeting = self.request("initialize", params).await?;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await?;
        Ok(greeting)
    }

    pub(super) async fn list_tools(&mut self) -> anyhow::Result<Vec<String>> {
        let listed = self.request("tools/list", json!({})).await?;
        let tools = listed.get("tools").and_then(Value::as_array);
        let tools = tools.context("the server lists no tools")?.iter();
        let names = tools.filter_map(|tool| tool.get("name")?.as_str());
        Ok(names.map(str::to_owned).collect())
    }

    /// Calls a tool and returns its answer.
    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Value> {
        let params = json!({ "name": tool, "arguments": arguments });
        let mut result = self.request("tools/call", params).await?;
        if result.get("isError") == Some(&Value::Bool(true)) {
            let said = result.pointer("/content/0/text").and_then(Value::as_str);
            let said = said.unwrap_or("it gives no reason");
            bail!("{tool} failed: {}", said.trim_start_matches("Error: "));
        }
        let answer = result.get_mut("structuredContent").map(Value::take);
        answer.with_context(|| format!("{tool} returned nothing"))
    }

    /// Sends a request and waits for its result.
    async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let answered = timeout(RESPONSE_TIMEOUT, async {
            self.send(&message).await?;
            self.read_response(id).await
        });
        let Ok(response) = answered.await else {
            let seconds = RESPONSE_TIMEOUT.as_secs();
            bail!("the server did not answer {method} within {seconds} seconds; try again");
        };
        let mut response = response?;
        if let Some(error) = response.get("error") {
            let said = error.get("message").and_then(Value::as_str);
            bail!(
                "the server rejected {method}: {}",
                said.unwrap_or("no reason given")
            );
        }
        let result = response.get_mut("result").map(Value::take);
        result.with_context(|| format!("the server answered {method} without a result"))
    }

    // Errors of these pipes become messages: a broken pipe of standard output is no failure, but
    // here it is one.
    async fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        let line = format!("{message}\n");
        let sent = async {
            self.input.write_all(line.as_bytes()).await?;
            self.input.flush().await
        };
        sent.await
            .map_err(|error| server_exited(&error.to_string()))
    }

    async fn read_response(&mut self, id: u64) -> anyhow::Result<Value> {
        loop {
            let line = self.output.next_line().await;
            let line = line.map_err(|error| server_exited(&error.to_string()))?;
            let line = line.ok_or_else(|| server_exited("it exited"))?;
            let message: Value =
                serde_json::from_str(&line).context("the server wrote a line that is not JSON")?;
            // A message with a method, such as a log message, is not a response.
            if message.get("method").is_none() && message.get("id") == Some(&json!(id)) {
                return Ok(message);
            }
        }
    }

    /// Closes the server's input, which ends it, and waits for the process.
    pub(super) async fn shut_down(mut self) {
        drop(self.input);
        if timeout(EXIT_TIMEOUT, self.child.wait()).await.is_err() {
            // Killed and awaited; a process that cannot be killed is dropped.
            drop(self.child.kill().await);
        }
    }
}

fn server_exited(why: &str) -> anyhow::Error {
    anyhow!("the server stopped ({why}); `deliberate doctor` looks for the reason")
}
