//! Tests of the client limits.

use std::{num::NonZeroU32, time::Duration};

use deliberate_server::http::{
    auth::{Access, Tokens},
    guard::GuardOptions,
    limits::LimitOptions,
    listener::ListenerOptions,
};
use deliberate_testkit::wait_until;

use super::support::GuardTestServer;

const ALICE: &str = "Authorization: Bearer alice-and-her-token";
const BOB: &str = "Authorization: Bearer bob-and-his-own-token";

fn two_token_access() -> Access {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let text =
        "[alice]\ntoken = \"alice-and-her-token\"\n[bob]\ntoken = \"bob-and-his-own-token\"\n";
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    Access::open().with_tokens(Tokens::from_file(file.path()).unwrap())
}

async fn start_limited(limits: LimitOptions) -> GuardTestServer {
    let options = GuardOptions {
        limits,
        ..GuardOptions::default()
    };
    GuardTestServer::start(&options, ListenerOptions::default(), two_token_access()).await
}

#[tokio::test]
async fn who_asks_too_often_waits_while_others_are_served() {
    let server = start_limited(LimitOptions {
        per_minute: NonZeroU32::new(1),
        burst: NonZeroU32::new(3),
        max_concurrent: None,
    })
    .await;
    for _ in 0..3 {
        server.assert_status(&[ALICE], 200).await;
    }
    let answer = server.request("GET /mcp HTTP/1.1", &[ALICE]).await;
    answer.assert_rejected(429, "rate_limited");
    let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    server.assert_status(&[BOB], 200).await;
    assert_eq!(server.guard.limits().rejected_count(), 1);
}

#[tokio::test]
async fn who_guesses_tokens_is_slowed_and_holders_are_not() {
    let server = start_limited(LimitOptions {
        per_minute: NonZeroU32::new(1),
        burst: NonZeroU32::new(2),
        max_concurrent: None,
    })
    .await;
    let guess = ["Authorization: Bearer guess-guess-guess"];
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(server.request("GET /mcp HTTP/1.1", &guess).await.status);
    }
    assert_eq!(statuses, [401, 401, 429]);
    server.assert_status(&[ALICE], 200).await;
}

#[tokio::test]
async fn requests_at_the_same_time_are_counted_until_they_end() {
    let server = start_limited(LimitOptions {
        per_minute: None,
        burst: None,
        max_concurrent: Some(1),
    })
    .await;
    let host = format!("Host: {}", server.address);
    let mut slow = server.connect().await;
    slow.send("GET /slow HTTP/1.1", &[&host, ALICE], "").await;
    server.arrived.notified().await;
    let answer = server.request("GET /mcp HTTP/1.1", &[ALICE]).await;
    answer.assert_rejected(429, "too_many_at_once");
    server.assert_status(&[BOB], 200).await;
    server.release.add_permits(1);
    assert_eq!(slow.read_response().await.unwrap().text(), "at last");
    wait_until_idle(&server).await;
    server.assert_status(&[ALICE], 200).await;
}

#[tokio::test]
async fn an_open_stream_is_a_running_request_until_it_is_left() {
    let server = start_limited(LimitOptions {
        per_minute: None,
        burst: None,
        max_concurrent: Some(1),
    })
    .await;
    let host = format!("Host: {}", server.address);
    let mut stream = server.connect().await;
    stream.send("GET /sse HTTP/1.1", &[&host, ALICE], "").await;
    stream.read_until(b"event: endpoint").await;
    server.assert_status(&[ALICE], 429).await;
    drop(stream);
    wait_until_idle(&server).await;
    server.assert_status(&[ALICE], 200).await;
}

async fn wait_until_idle(server: &GuardTestServer) {
    wait_until(|| server.guard.limits().active_clients() == 0).await;
}

async fn start_with_body_limits(
    body_bytes: usize,
    body_time: Duration,
    memory_bytes: usize,
) -> GuardTestServer {
    let options = GuardOptions {
        body_bytes,
        body_time,
        memory_bytes,
        ..GuardOptions::default()
    };
    GuardTestServer::start(&options, ListenerOptions::default(), Access::open()).await
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let minute = Duration::from_mins(1);
    let server = start_with_body_limits(100, minute, 1000).await;
    let fitting = server.post("/mcp", &[], &"1".repeat(100)).await;
    assert_eq!(
        (fitting.status, fitting.json()["bytes"] == 100),
        (200, true)
    );
    let answer = server.post("/mcp", &[], &"1".repeat(101)).await;
    answer.assert_rejected(413, "body_too_large");
    // Chunked, without a content length.
    let host = format!("Host: {}", server.address);
    let lines = [
        host.as_str(),
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
    ];
    let piece = format!("3c\r\n{}\r\n", "1".repeat(60));
    let fitting = format!("{piece}0\r\n\r\n");
    let answer = server
        .send_raw("POST /mcp HTTP/1.1", &lines, &fitting)
        .await;
    assert_eq!(answer.json()["bytes"], 60);
    let large = format!("{piece}{piece}0\r\n\r\n");
    let answer = server.send_raw("POST /mcp HTTP/1.1", &lines, &large).await;
    assert_eq!(answer.status, 413);
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_given_up() {
    let server = start_with_body_limits(1000, Duration::from_millis(100), 1000).await;
    let host = format!("Host: {}", server.address);
    let lines = [
        host.as_str(),
        "Content-Type: application/json",
        "Content-Length: 50",
    ];
    let mut line = server.connect().await;
    line.send("POST /mcp HTTP/1.1", &lines, "{\"half").await;
    let answer = line.read_response().await.unwrap();
    answer.assert_rejected(408, "body_too_slow");
    assert_eq!(answer.json()["error"]["code"], -32600);
    line.wait_closed().await;
}

#[tokio::test]
async fn bodies_together_hold_no_more_than_their_share() {
    let server = start_with_body_limits(1000, Duration::from_mins(1), 1000).await;
    let host = format!("Host: {}", server.address);
    let json = "Content-Type: application/json";
    let mut slow = server.connect().await;
    let lines = [host.as_str(), json, "Content-Length: 600"];
    slow.send("POST /slow HTTP/1.1", &lines, &"1".repeat(600))
        .await;
    server.arrived.notified().await;
    let answer = server.post("/mcp", &[], &"1".repeat(600)).await;
    answer.assert_rejected(503, "server_busy");
    assert_eq!(server.post("/mcp", &[], "{}").await.status, 200);
    server.release.add_permits(1);
    assert_eq!(slow.read_response().await.unwrap().status, 200);
    wait_until_idle(&server).await;
    assert_eq!(server.post("/mcp", &[], &"1".repeat(600)).await.status, 200);
}

/// Sends a body sixteen times at once, whose bytes alone fit in the memory. Returns how many are
/// admitted; the others are refused.
async fn count_admitted(server: &GuardTestServer, body: &str) -> usize {
    let host = format!("Host: {}", server.address);
    let length = format!("Content-Length: {}", body.len());
    let lines = [
        host.as_str(),
        length.as_str(),
        "Content-Type: application/json",
    ];
    let mut admitted = Vec::new();
    for _ in 0..16 {
        let mut line = server.connect().await;
        line.send("POST /slow HTTP/1.1", &lines, body).await;
        tokio::select! {
            () = server.arrived.notified() => {}
            answer = line.read_response() => {
                let answer = answer.unwrap();
                answer.assert_rejected(503, "server_busy");
                continue;
            }
        }
        admitted.push(line);
    }
    server.release.add_permits(admitted.len());
    for line in &mut admitted {
        assert_eq!(line.read_response().await.unwrap().status, 200);
    }
    wait_until_idle(server).await;
    admitted.len()
}

#[tokio::test]
async fn bodies_of_many_values_count_with_the_memory_of_the_values() {
    let bytes = 4096;
    let server = start_with_body_limits(bytes, Duration::from_mins(1), 16 * bytes).await;
    let text = "1".repeat(bytes);
    assert_eq!(count_admitted(&server, &text).await, 16);
    let sentence = "A sentence of ordinary length has a comma now and then, no more. ";
    let prose = sentence.repeat(bytes / sentence.len());
    let admitted = count_admitted(&server, &prose).await;
    assert!((8..16).contains(&admitted), "{admitted}");
    // Its values would need more than the whole memory.
    let values = "1,".repeat(bytes / 2);
    assert_eq!(count_admitted(&server, &values).await, 2);
    // A body is admitted beside a small one, which may run for long.
    let host = format!("Host: {}", server.address);
    let lines = [
        host.as_str(),
        "Content-Type: application/json",
        "Content-Length: 2",
    ];
    let mut small = server.connect().await;
    small.send("POST /slow HTTP/1.1", &lines, "{}").await;
    server.arrived.notified().await;
    assert_eq!(server.post("/mcp", &[], &values).await.status, 200);
    server.release.add_permits(1);
    assert_eq!(small.read_response().await.unwrap().status, 200);
}

#[tokio::test]
async fn without_a_token_a_request_that_a_proxy_forwarded_is_refused() {
    let options = GuardOptions::default();
    let server = GuardTestServer::start(&options, ListenerOptions::default(), Access::open()).await;
    assert_eq!(server.request("GET /mcp HTTP/1.1", &[]).await.status, 200);
    for header in [
        "Forwarded: for=203.0.113.7;proto=https",
        "Via: 1.1 proxy.example.org",
        "X-Forwarded-For: 203.0.113.7",
        "X-Forwarded-Host: think.example.org",
        "X-Forwarded-Proto: https",
        "X-Real-IP: 203.0.113.7",
    ] {
        let answer = server.request("GET /mcp HTTP/1.1", &[header]).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (403, "forwarded_without_token"),
            "{header}"
        );
    }
}

#[tokio::test]
async fn refusals_of_forwarded_requests_count() {
    let limits = LimitOptions {
        per_minute: NonZeroU32::new(1),
        burst: NonZeroU32::new(2),
        max_concurrent: None,
    };
    let options = GuardOptions {
        limits,
        ..GuardOptions::default()
    };
    let server = GuardTestServer::start(&options, ListenerOptions::default(), Access::open()).await;
    let mut codes = Vec::new();
    for _ in 0..3 {
        let forwarded = ["X-Forwarded-For: 203.0.113.7"];
        let answer = server.request("GET /mcp HTTP/1.1", &forwarded).await;
        codes.push(answer.code());
    }
    assert_eq!(
        codes,
        [
            "forwarded_without_token",
            "forwarded_without_token",
            "rate_limited"
        ]
    );
}

#[tokio::test]
async fn hosts_origins_and_limits_can_change_while_the_server_runs() {
    let server = start_limited(LimitOptions::LOCAL).await;
    let get = |host: &'static str| {
        let (host, origin) = (format!("Host: {host}"), "Origin: https://app.example.org");
        let server = &server;
        async move {
            let lines = [host.as_str(), origin, ALICE];
            let answer = server.send_raw("GET /mcp HTTP/1.1", &lines, "").await;
            answer.status
        }
    };
    assert_eq!(get("think.example.org").await, 403);
    server.guard.reload(&GuardOptions {
        allowed_hosts: vec!["think.example.org".to_owned()],
        allowed_origins: vec!["https://app.example.org".to_owned()],
        limits: LimitOptions {
            per_minute: NonZeroU32::new(1),
            ..LimitOptions::LOCAL
        },
        ..GuardOptions::default()
    });
    assert_eq!(get("think.example.org").await, 200);
    assert_eq!(get("think.example.org").await, 429);
    server.guard.reload(&GuardOptions::default());
    assert_eq!(get("think.example.org").await, 403);
}
