//! Tests of the program as a service for several tokens: fair shares, a provider that limits the
//! rate, who is named in logs, and reloading.

use std::{net::SocketAddr, time::Duration};

use deliberate_testkit::{
    MockFault, MockProvider,
    load::ServerProcess,
    raw_http::{RawHttp, RawResponse},
    wait_for, wait_until, wait_until_async,
};
use serde_json::{Value, json};
use sqlx::Row as _;
use tokio::time::timeout;

use crate::support::TestHome;
#[cfg(unix)]
use crate::support::{run_command, set_mode};

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
        home.write_private("work/tokens.toml", &tokens);
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

    /// Waits until the server knows exactly these upstream servers.
    async fn wait_for_servers(&self, wanted: &[&str]) {
        wait_until_async(async || {
            let known = self.health(ALICE).await;
            let servers = known["servers"].as_array().cloned().unwrap_or_default();
            let names: Vec<_> = servers.iter().map(|it| it["name"].clone()).collect();
            names == wanted
        })
        .await;
    }

    async fn status(&self, token: &str) -> u16 {
        let mut http = RawHttp::connect(self.server.address()).await.unwrap();
        http.get("/metrics", token).await.unwrap().status
    }

    /// Waits until the log contains the text.
    async fn wait_for_log(&self, text: &str) {
        wait_until(|| self.server.output().contains(text)).await;
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
    let all_there = wait_for(async || {
        let calls = service.health(BOB).await["calls"].clone();
        let count = |key: &str| calls[key].as_u64().unwrap_or(0);
        (count("running") + count("waiting") >= 300).then(|| count("running"))
    });
    let running = all_there.await;
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
    wait_until(|| service.standin.in_flight() > 0).await;
    let tokens = format!(
        "[bob]\ntoken = \"{BOB}\"\nexpires = 2020-01-01\n\n[carol]\ntoken = \"{CAROL}\"\nexpires = \"2999-01-01\"\n"
    );
    std::fs::write(service.home.path("work/tokens.toml"), tokens).unwrap();
    let settings = "[limits]\nconcurrent_calls = 200\n[log]\nlevel = \"info\"\n\
                    [retention]\ndays = 7\n[http]\nallowed_origins = [\"https://app.example.org\"]\n";
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

#[cfg(unix)]
#[tokio::test]
async fn a_mistake_in_the_tokens_file_leaves_the_settings_as_they_were_too() {
    let applied = "hosts, origins and limits";
    let service = Service::start("").await;
    service.wait_for_log("serving MCP over HTTP").await;
    let settings = "[http]\nrequests_per_minute = 2\n";
    std::fs::write(service.home.path("work/config.toml"), settings).unwrap();
    std::fs::write(service.home.path("work/tokens.toml"), "[carol]\n").unwrap();
    service.server.signal("HUP").await.unwrap();
    service.wait_for_log("not reloaded").await;
    for _ in 0..5 {
        assert_eq!(service.status(ALICE).await, 200);
    }
    let tokens = format!("[alice]\ntoken = \"{ALICE}\"\n");
    std::fs::write(service.home.path("work/tokens.toml"), tokens).unwrap();
    // Settings that need a restart are logged after all others.
    let settings = format!("{settings}[limits]\nconcurrent_calls = 7\n");
    std::fs::write(service.home.path("work/config.toml"), settings).unwrap();
    service.server.signal("HUP").await.unwrap();
    service.wait_for_log("need a restart: limits").await;
    let log = service.server.output();
    assert_eq!(log.matches(applied).count(), 1, "{log}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_tokens_file_that_others_can_read_is_refused_at_the_start_and_at_a_reload() {
    let service = Service::start("").await;
    let file = service.home.path("work/tokens.toml");
    std::fs::write(&file, format!("[carol]\ntoken = \"{CAROL}\"\n")).unwrap();
    set_mode(&file, 0o644);
    service.server.signal("HUP").await.unwrap();
    service.wait_for_log("chmod 600").await;
    assert_eq!(
        (service.status(ALICE).await, service.status(CAROL).await),
        (200, 401)
    );
    let again = service.home.run(&[
        "serve",
        "--http",
        "127.0.0.1:0",
        "--set",
        "http.tokens_file=tokens.toml",
    ]);
    let again = again.await;
    assert_ne!(again.code, Some(0));
    assert!(again.stderr.contains("chmod 600"), "{}", again.stderr);
}

#[cfg(unix)]
#[tokio::test]
async fn a_token_in_a_readable_settings_file_stops_http_and_not_stdio() {
    let home = TestHome::new();
    home.write_private(
        "work/config.toml",
        &format!("[http]\ntoken = \"{ALICE}\"\n"),
    );
    let serve = ["serve", "--config", "config.toml", "--http", "127.0.0.1:0"];
    set_mode(&home.path("work/config.toml"), 0o644);
    let refused = home.run(&serve).await;
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains("chmod 600"), "{}", refused.stderr);
    assert!(!refused.stderr.contains(ALICE));
    let both = run_command(home.command().args(serve).arg("--stdio")).await;
    assert_eq!(both.code, Some(0), "{}", both.stderr);
    assert!(both.stderr.contains("chmod 600"), "{}", both.stderr);
    set_mode(&home.path("work/config.toml"), 0o600);
    let mut command = home.command();
    command.args(["serve", "--config", "config.toml"]);
    let mut server = ServerProcess::start(&mut command).await.unwrap();
    assert!(server.terminate().await.unwrap().success());
}

#[cfg(unix)]
#[tokio::test]
async fn the_first_server_needs_no_restart_and_settings_of_a_reload_last() {
    let service = Service::start("").await;
    service.wait_for_servers(&[]).await;
    let search = json!({ "query": "" });
    let found = service.call(ALICE, "gateway_search", search.clone()).await;
    assert_eq!(found["structuredContent"]["servers"], json!([]), "{found}");
    let settings = "[servers.late]\ncommand = \"/bin/false\"\n";
    std::fs::write(service.home.path("work/config.toml"), settings).unwrap();
    service.server.signal("HUP").await.unwrap();
    service.wait_for_servers(&["late"]).await;
    // The change of another file does not bring the earlier settings back.
    let file = service.home.path("config/deliberate/servers.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let servers = json!({ "mcpServers": { "more": { "command": "/bin/false" } } });
    std::fs::write(&file, servers.to_string()).unwrap();
    service.wait_for_servers(&["late", "more"]).await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_hangup_changes_the_rate_limit() {
    let service = Service::start("").await;
    for _ in 0..5 {
        assert_eq!(service.status(ALICE).await, 200);
    }
    let settings = "[http]\nrequests_per_minute = 2\n";
    std::fs::write(service.home.path("work/config.toml"), settings).unwrap();
    service.server.signal("HUP").await.unwrap();
    service.wait_for_log("hosts, origins and limits").await;
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(service.status(BOB).await);
    }
    assert_eq!(statuses, [200, 200, 429]);
}
