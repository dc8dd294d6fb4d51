//! Tests of the program as a service for several tokens: fair shares, a provider that limits the
//! rate, who is named in logs, and reloading.

use std::{net::SocketAddr, time::Duration};

use deliberate_testkit::{
    MockFault, MockProvider,
    load::ServerProcess,
    raw_http::{RawHttp, RawResponse},
};
use serde_json::{Value, json};
use sqlx::Row as _;
use tokio::time::{sleep, timeout};

use crate::support::TestHome;

const ALICE: &str = "dlb_alice-0123456789abcdef";
const BOB: &str = "dlb_bob-0123456789abcdef";
const CAROL: &str = "dlb_carol-0123456789abcdef";

/// Longer than an answer takes on a busy machine, and shorter than any wait that is tested.
const PROMPTLY: Duration = Duration::from_secs(40);

struct Service {
    home: TestHome,
    standin: MockProvider,
    server: ServerProcess,
}

impl Service {
    /// Starts the server with the tokens of Alice and Bob.
    async fn start(settings: &str) -> Self {
        let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
        let tokens = format!("[alice]\ntoken = \"{ALICE}\"\n\n[bob]\ntoken = \"{BOB}\"\n");
        std::fs::write(home.path("work/tokens.toml"), tokens).unwrap();
        std::fs::write(home.path("work/config.toml"), settings).unwrap();
        let mut command = home.command_with_provider(&standin);
        command
            .args(["serve", "--config", "config.toml"])
            .args(["--set", "http.tokens_file=tokens.toml"])
            .env("LOG_LEVEL", "debug");
        let server = ServerProcess::start(&mut command).await.unwrap();
        Self {
            home,
            standin,
            server,
        }
    }

    async fn call(&self, token: &str, tool: &str, arguments: Value) -> Value {
        let called = call(self.server.address(), token, tool, arguments);
        let answer = timeout(PROMPTLY, called).await.expect("a prompt answer");
        answer["result"].clone()
    }

    async fn health(&self, token: &str) -> Value {
        let mut http = RawHttp::connect(self.server.address()).await.unwrap();
        http.get("/health", token).await.unwrap().json().unwrap()
    }

    async fn status(&self, token: &str) -> u16 {
        let mut http = RawHttp::connect(self.server.address()).await.unwrap();
        http.get("/metrics", token).await.unwrap().status
    }

    /// Waits until the log contains the text.
    async fn wait_for_log(&self, text: &str) {
        let logged = async {
            while !self.server.output().contains(text) {
                sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = timeout(PROMPTLY, logged).await;
        waited.unwrap_or_else(|_| panic!("{text:?} is not in\n{}", self.server.output()));
    }
}

async fn call(host: SocketAddr, token: &str, tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let mut http = RawHttp::connect(host).await.unwrap();
    let body = body.to_string();
    let answer = http.request("POST", "/mcp", &headers, &body).await;
    parse_answer(&answer.unwrap())
}

/// Reads the response, which may be an event stream.
fn parse_answer(response: &RawResponse) -> Value {
    let text = response.text();
    let mut events = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let last = events.rfind(|it| it.contains("\"id\""));
    serde_json::from_str(last.unwrap_or(&text)).unwrap_or_default()
}

fn think(text: &str) -> Value {
    json!({ "content": text })
}

#[tokio::test]
async fn hanging_calls_of_one_token_keep_nobody_else_waiting() {
    let service = Service::start("").await;
    service.standin.set_default_fault(MockFault::Hang);
    let host = service.server.address();
    let hanging: Vec<_> = (0..300)
        .map(|number| {
            let content = think(&format!("thought {number}"));
            tokio::spawn(call(host, ALICE, "reasoning_linear", content))
        })
        .collect();
    let all_there = async {
        loop {
            let calls = service.health(BOB).await["calls"].clone();
            let count = |key: &str| calls[key].as_u64().unwrap_or(0);
            if count("running") + count("waiting") >= 300 {
                return count("running");
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    let running = timeout(PROMPTLY, all_there).await.unwrap();
    service.standin.set_default_fault(MockFault::Delay(0));
    let read = service
        .call(BOB, "reasoning_search", json!({ "query": "anything" }))
        .await;
    assert_ne!(read["isError"], true, "{read}");
    let thought = service.call(BOB, "reasoning_linear", think("quick")).await;
    assert!(thought["structuredContent"].is_object(), "{thought}");
    assert!(running < 256, "{running} of 256 permits are taken");
    for call in hanging {
        call.abort();
    }
}

#[tokio::test]
async fn a_long_rate_limit_fails_at_once_and_is_shown() {
    let service = Service::start("").await;
    let limited = MockFault::status_with(429, "retry-after", "150");
    service.standin.set_default_fault(limited);
    for attempt in 0..3 {
        let answer = service.call(BOB, "reasoning_linear", think("hello")).await;
        let text = answer.to_string();
        assert!(text.contains("RateLimited"), "{text}");
        assert!(text.contains("Retry in 1"), "{text}");
        assert_eq!(service.standin.model_requests().len(), 1, "{attempt}");
    }
    let provider = service.health(BOB).await["provider"].clone();
    assert_eq!(provider["state"], "limited", "{provider}");
    let left = provider["retry_after_seconds"].as_u64().unwrap();
    assert!((1..=150).contains(&left), "{provider}");
}

#[tokio::test]
async fn records_and_logs_name_the_token_that_called() {
    let mut service = Service::start("").await;
    let missing = json!({ "session_id": "missing" });
    service.call(ALICE, "reasoning_get", missing).await;
    service.call(BOB, "reasoning_linear", think("hello")).await;
    assert!(service.server.terminate().await.unwrap().success());
    let mut database = service.home.open_database().await;
    let rows = sqlx::query("SELECT tool_name, principal FROM invocations ORDER BY tool_name")
        .fetch_all(&mut database)
        .await
        .unwrap();
    let rows: Vec<(String, Option<String>)> =
        rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let named = |tool: &str, name: &str| (tool.to_owned(), Some(name.to_owned()));
    assert_eq!(
        rows,
        [
            named("reasoning_get", "alice"),
            named("reasoning_linear", "bob")
        ]
    );
    let log = service.server.output();
    let line = |what: &str, who: &str| {
        let mut lines = log.lines();
        lines.any(|line| line.contains(what) && line.contains(who))
    };
    assert!(line("a call failed", "alice"), "{log}");
    assert!(line("a call ended", "bob"), "{log}");
    assert!(!log.contains(ALICE) && !log.contains(BOB));
}

#[cfg(unix)]
#[tokio::test]
async fn a_hangup_reloads_tokens_and_ends_no_call() {
    let service = Service::start("[limits]\nconcurrent_calls = 100\n").await;
    assert_eq!(
        (service.status(ALICE).await, service.status(BOB).await),
        (200, 200)
    );
    service.standin.set_default_fault(MockFault::Delay(2_000));
    let host = service.server.address();
    let running = tokio::spawn(call(host, ALICE, "reasoning_linear", think("slow")));
    let asked = async {
        while service.standin.in_flight() == 0 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PROMPTLY, asked).await.unwrap();
    let tokens = format!(
        "[bob]\ntoken = \"{BOB}\"\nexpires = 2020-01-01\n\n[carol]\ntoken = \"{CAROL}\"\nexpires = \"2999-01-01\"\n"
    );
    std::fs::write(service.home.path("work/tokens.toml"), tokens).unwrap();
    let settings = "[limits]\nconcurrent_calls = 200\n[log]\nlevel = \"info\"\n";
    std::fs::write(service.home.path("work/config.toml"), settings).unwrap();
    service.server.signal("HUP").await.unwrap();
    service.wait_for_log("no longer accepted: alice").await;
    service
        .wait_for_log("need a restart: limits.concurrent_calls")
        .await;
    assert_eq!(service.status(ALICE).await, 401, "removed");
    assert_eq!(service.status(BOB).await, 401, "expired");
    assert_eq!(service.status(CAROL).await, 200, "added");
    let answer = timeout(PROMPTLY, running).await.unwrap().unwrap();
    assert!(
        answer["result"]["structuredContent"].is_object(),
        "{answer}"
    );
    // A file with a mistake changes nothing.
    std::fs::write(service.home.path("work/tokens.toml"), "[carol]\n").unwrap();
    service.server.signal("HUP").await.unwrap();
    service.wait_for_log("not reloaded").await;
    assert_eq!(service.status(CAROL).await, 200);
    // An empty one ends every token.
    std::fs::write(service.home.path("work/tokens.toml"), "").unwrap();
    service.server.signal("HUP").await.unwrap();
    service.wait_for_log("no longer accepted: bob, carol").await;
    assert_eq!(service.status(CAROL).await, 401);
}
