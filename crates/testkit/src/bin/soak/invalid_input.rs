//! Clients that send invalid requests, or requests that must not succeed. The server may answer or
//! close the connection; it must not answer with success or with an internal error.

use std::{fmt::Write as _, net::SocketAddr, time::Duration};

use deliberate_testkit::load::{LoadConnection, request_head};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{sleep, timeout},
};

use crate::SoakContext;

const PAUSE: Duration = Duration::from_millis(50);
const TIMEOUT: Duration = Duration::from_secs(3);
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}"#;
const VERSION: &str = "mcp-protocol-version: 2025-11-25\r\n";
const KINDS: usize = 20;

pub(crate) async fn run(scene: SoakContext, number: usize) {
    let mut turn = number;
    let mut noise = RandomBytes(number as u64 + 1);
    while !scene.is_over() {
        turn += 1;
        let (what, bytes) = invalid_request(turn % KINDS, scene.host, &mut noise);
        match send_raw(scene.host, &bytes).await {
            Some(status @ (200..300 | 500)) => {
                let said = anyhow::anyhow!("{what} is answered with {status}");
                scene.counters.record_failure("rubbish", &said);
            }
            Some(_) => scene.counters.record_success("rubbish: refused"),
            None => scene
                .counters
                .record_success("invalid input: connection closed"),
        }
        sleep(PAUSE).await;
    }
}

/// Sends the bytes and returns the status of the answer, if there is one.
async fn send_raw(host: SocketAddr, bytes: &[u8]) -> Option<u16> {
    let mut stream = LoadConnection::open(host).await.ok()?.into_stream();
    // The server may close the connection before it has read everything.
    let _ = timeout(TIMEOUT, stream.write_all(bytes)).await;
    let mut answer = [0; 12];
    let read = timeout(TIMEOUT, stream.read_exact(&mut answer)).await;
    read.ok()?.ok()?;
    let code = answer.strip_prefix(b"HTTP/1.1 ")?;
    std::str::from_utf8(code).ok()?.parse().ok()
}

/// Builds a valid head for this body.
fn post_request(host: SocketAddr, body: &[u8]) -> Vec<u8> {
    let head = request_head("POST", "/mcp", &host.to_string(), VERSION, body.len());
    [head.as_bytes(), body].concat()
}

/// Builds a request with a valid body and these extra header lines.
fn request_with_headers(host: &str, more: &str) -> Vec<u8> {
    let mut bytes = request_head("POST", "/mcp", host, more, PING.len());
    bytes.push_str(PING);
    bytes.into_bytes()
}

fn invalid_request(
    kind: usize,
    host: SocketAddr,
    noise: &mut RandomBytes,
) -> (&'static str, Vec<u8>) {
    let local = host.to_string();
    match kind {
        0 => (
            "half a message",
            post_request(host, b"{\"jsonrpc\":\"2.0\",\"id\":1,"),
        ),
        1 => ("no message", post_request(host, b"hello")),
        2 => ("an empty body", post_request(host, b"")),
        3 => ("a body of noise", post_request(host, &noise.bytes(2_000))),
        4 => (
            "a batch",
            post_request(host, format!("[{PING},{PING}]").as_bytes()),
        ),
        5 => (
            "two messages",
            post_request(host, format!("{PING}\n{PING}").as_bytes()),
        ),
        6 => ("a deep body", post_request(host, &nested_json(100_000))),
        7 => (
            "a wrong version of JSON-RPC",
            post_request(host, &PING.replace("2.0", "1.0").into_bytes()),
        ),
        8 => (
            "an id of null",
            post_request(host, &PING.replace("\"id\":1", "\"id\":null").into_bytes()),
        ),
        9 => (
            "an unknown revision",
            request_with_headers(&local, "mcp-protocol-version: 1999-01-01\r\n"),
        ),
        10 => (
            "a foreign Host",
            request_with_headers("rebound.example", VERSION),
        ),
        11 => (
            "a foreign Origin",
            request_with_headers(&local, "origin: https://page.example\r\n"),
        ),
        12 => (
            "a huge header",
            request_with_headers(&local, &format!("x-long: {}\r\n", "a".repeat(1 << 20))),
        ),
        13 => (
            "very many headers",
            request_with_headers(&local, &many_headers(5_000)),
        ),
        14 => ("noise", noise.bytes(5_000)),
        15 => (
            "a TLS greeting",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".repeat(20),
        ),
        16 => (
            "an invalid length",
            format!("POST /mcp HTTP/1.1\r\nhost: {local}\r\ncontent-length: -1\r\n\r\n{PING}")
                .into_bytes(),
        ),
        17 => (
            "a length and chunks",
            request_with_headers(&local, "transfer-encoding: chunked\r\n"),
        ),
        18 => (
            "a path outside of the root",
            format!("GET /../../etc/passwd HTTP/1.1\r\nhost: {local}\r\n\r\n").into_bytes(),
        ),
        _ => (
            "a body that is too long",
            post_request(host, &b" ".repeat(6 << 20)),
        ),
    }
}

fn nested_json(depth: usize) -> Vec<u8> {
    let open = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"#;
    format!("{open}{}{}}}}}", "[".repeat(depth), "]".repeat(depth)).into_bytes()
}

fn many_headers(count: usize) -> String {
    (0..count).fold(String::new(), |mut lines, number| {
        // Writing into a string does not fail.
        let _ = write!(lines, "x-{number}: {number}\r\n");
        lines
    })
}

/// Pseudo-random bytes that are the same in every run.
struct RandomBytes(u64);

impl RandomBytes {
    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let next = || {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            self.0.to_be_bytes()[0]
        };
        std::iter::repeat_with(next).take(count).collect()
    }
}
