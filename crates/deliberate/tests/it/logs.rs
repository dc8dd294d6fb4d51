//! Tests of the log: it contains events, but neither content nor keys, and nobody has to read it.

use std::{collections::BTreeMap, process::Stdio, time::Duration};

use deliberate_testkit::{MockFault, MockProvider, StdioClient, mock_provider::MockSettings};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout},
    time::timeout,
};

use crate::support::{ProviderFormat, TestHome, output, run_command, serve, think};

/// Only a hang lasts longer.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

const KEY: &str = "sk-canary-key-2c1f";
const CLIENT_TEXT: &str = "canary-said-7be0";
const MODEL_TEXT: &str = "canary-answered-93d1";

/// Makes calls of every kind that carry text of the client or the model.
async fn exercise_calls(client: &mut StdioClient, standin: &MockProvider) {
    output(&think(client, CLIENT_TEXT).await);
    let answer = |body: String| MockFault::Status {
        code: 200,
        headers: BTreeMap::new(),
        body,
    };
    standin.set_default_fault(answer(format!("{{\"{MODEL_TEXT}\": \"{MODEL_TEXT}\"}}")));
    think(client, CLIENT_TEXT).await;
    for code in [400, 500] {
        standin.set_default_fault(MockFault::Status {
            code,
            headers: BTreeMap::from([("x-echo".to_owned(), MODEL_TEXT.to_owned())]),
            body: format!("{{\"error\":{{\"message\":\"{KEY} {MODEL_TEXT}\"}}}}"),
        });
        think(client, CLIENT_TEXT).await;
    }
    let wrong =
        json!({ "content": CLIENT_TEXT, "confidence": CLIENT_TEXT, CLIENT_TEXT: CLIENT_TEXT });
    client.call("reasoning_linear", wrong).await.unwrap();
    client
        .call(CLIENT_TEXT, json!({ "x": CLIENT_TEXT }))
        .await
        .unwrap();
    for odd in [
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": { "requestId": CLIENT_TEXT, "reason": CLIENT_TEXT } }),
        json!({ "jsonrpc": "2.0", "method": CLIENT_TEXT, "params": CLIENT_TEXT }),
        json!({ "jsonrpc": "2.0", "id": 9, "result": CLIENT_TEXT }),
    ] {
        client.send(&odd).await.unwrap();
    }
    client
        .request("resources/read", json!({ "uri": CLIENT_TEXT }))
        .await
        .unwrap();
}

#[tokio::test]
async fn neither_contents_nor_keys_are_logged_at_any_level() {
    for wire in ProviderFormat::ALL {
        for (level, format) in [("debug", "pretty"), ("trace", "pretty"), ("trace", "json")] {
            let home = TestHome::new();
            let settings = MockSettings {
                key: Some(KEY.to_owned()),
                ..MockSettings::default()
            };
            let standin = MockProvider::start_with(settings, 0).await.unwrap();
            let mut command = home.command();
            wire.configure(&mut command, &standin);
            command
                .env("LOG_LEVEL", level)
                .env("LOG_FORMAT", format)
                .env("MAX_RETRIES", "1");
            let mut client = serve(&mut command).await;
            exercise_calls(&mut client, &standin).await;
            client.close_stdin();
            client.wait_exit().await.unwrap();
            let log = client.stderr();
            assert!(log.contains("a call failed"), "it logs: {log}");
            for canary in [KEY, CLIENT_TEXT, MODEL_TEXT] {
                assert!(!log.contains(canary), "{wire:?} {level} {canary}: {log}");
            }
        }
    }
}

/// A client that reads the answers of its server, but never the log.
struct ClientWithoutLog {
    /// Keeps the pipe of standard error open.
    child: Child,
    stdin: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl ClientWithoutLog {
    fn start(home: &TestHome) -> Self {
        let mut child = home
            .command()
            .args(["serve", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            stdin,
            answers,
        }
    }

    async fn request(&mut self, id: u64, method: &str, params: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let line = format!("{message}\n");
        let answered = async {
            self.stdin.write_all(line.as_bytes()).await.unwrap();
            loop {
                let line = self.answers.next_line().await.unwrap();
                let answer: Value = serde_json::from_str(&line.expect("an answer")).unwrap();
                if answer["id"] == id {
                    return answer;
                }
            }
        };
        timeout(TEST_TIMEOUT, answered)
            .await
            .expect("the server hangs")
    }
}

#[tokio::test]
async fn a_client_that_never_reads_the_log_is_answered() {
    let home = TestHome::new();
    let mut client = ClientWithoutLog::start(&home);
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "t", "version": "0" },
    });
    client.request(0, "initialize", hello).await;
    client
        .stdin
        .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")
        .await
        .unwrap();
    // Their log lines are longer than the pipe.
    for id in 1..=1_000 {
        let missing = json!({ "session_id": "missing" });
        let call = json!({ "name": "reasoning_get", "arguments": missing });
        let answer = client.request(id, "tools/call", call).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    }
    let answer = client.request(1_001, "ping", json!({})).await;
    assert!(answer["result"].is_object(), "{answer}");
    let ClientWithoutLog {
        mut child,
        stdin,
        answers: _answers,
    } = client;
    // It stops too.
    drop(stdin);
    let ended = timeout(TEST_TIMEOUT, child.wait()).await;
    assert!(ended.expect("the server hangs").unwrap().success());
}

#[tokio::test]
async fn the_last_lines_before_the_end_are_logged() {
    let home = TestHome::new();
    let ended = run_command(home.command().args(["serve", "--stdio"])).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let mut lines = ended.stderr.lines();
    let is_logged = lines.any(|line| line.ends_with("stopped"));
    assert!(is_logged, "{}", ended.stderr);
    // The line of an error comes after the log.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let failed = run_command(home.command().args(["serve", "--http", &address])).await;
    assert_eq!(failed.code, Some(2), "{}", failed.stderr);
    let (log, error) = failed.stderr.split_once("\nerror: ").unwrap();
    assert!(log.contains("HTTP is not served"), "{log}");
    assert!(error.contains("nothing is served"), "{error}");
}
