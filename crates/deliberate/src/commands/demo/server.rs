//! The client's side of a server: started as a process, spoken to over its standard input and
//! output, just as an MCP client does it.

use std::{ffi::OsString, path::Path, process::Stdio, time::Duration};

use anyhow::{Context as _, anyhow, bail};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// The newest revision that opens with a handshake.
const PROTOCOL_VERSION: &str = "2025-11-25";

/// Far longer than any answer takes; only a server that hangs exceeds it.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Time to end by itself once its input is closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// A server and the pipes to it. The process is killed when this is dropped.
pub(super) struct DemoServer {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    last_id: u64,
}

impl DemoServer {
    /// Starts it. What it has to say to people goes to standard error, as ours does.
    pub(super) fn start(program: &Path, arguments: &[OsString]) -> anyhow::Result<Self> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} can't be started as a server", program.display()))?;
        let input = child.stdin.take().context("the server has no input")?;
        let output = child.stdout.take().context("the server has no output")?;
        Ok(Self {
            child,
            input,
            output: BufReader::new(output).lines(),
            last_id: 0,
        })
    }

    /// Opens with the handshake and returns the server's part of it.
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

    /// The names of its tools.
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
            let said = said.unwrap_or("it does not say why");
            bail!("{tool} failed: {}", said.trim_start_matches("Error: "));
        }
        let answer = result.get_mut("structuredContent").map(Value::take);
        answer.with_context(|| format!("{tool} answered nothing"))
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
                "the server refused {method}: {}",
                said.unwrap_or("no reason given")
            );
        }
        let result = response.get_mut("result").map(Value::take);
        result.with_context(|| format!("the server answered {method} with no result"))
    }

    // An error of these pipes is told in words and not passed on: a broken pipe is no failure
    // where standard output is meant, and it is one here.
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
            let line = line.ok_or_else(|| server_exited("it ended"))?;
            let message: Value =
                serde_json::from_str(&line).context("the server wrote a line that is no JSON")?;
            // What has a method is the server's own business, such as a log message.
            if message.get("method").is_none() && message.get("id") == Some(&json!(id)) {
                return Ok(message);
            }
        }
    }

    /// Closes its input, which ends it, and waits until it is gone.
    pub(super) async fn shut_down(mut self) {
        drop(self.input);
        if timeout(EXIT_TIMEOUT, self.child.wait()).await.is_err() {
            // Killed and waited for; what can't be killed is dropped with the process.
            drop(self.child.kill().await);
        }
    }
}

fn server_exited(why: &str) -> anyhow::Error {
    anyhow!("the server went away ({why}); `deliberate doctor` looks for the reason")
}
