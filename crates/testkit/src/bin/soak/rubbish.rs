//! Clients that send what is no request, or none that may succeed. The server may answer or hang
//! up; it must not answer with a success, nor with an error of its own.

use std::{fmt::Write as _, net::SocketAddr, time::Duration};

use deliberate_testkit::load::{Connection, head};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{sleep, timeout},
};

use crate::Scene;

const PAUSE: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(3);
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}"#;
const VERSION: &str = "mcp-protocol-version: 2025-11-25\r\n";
const KINDS: usize = 20;

pub(crate) async fn run(scene: Scene, number: usize) {
    let mut turn = number;
    let mut noise = Noise(number as u64 + 1);
    while !scene.is_over() {
        turn += 1;
        let (what, bytes) = rubbish(turn % KINDS, scene.host, &mut noise);
        match status(scene.host, &bytes).await {
            Some(status @ (200..300 | 500)) => {
                let said = anyhow::anyhow!("{what} is answered with {status}");
                scene.tally.failed("rubbish", &said);
            }
            Some(_) => scene.tally.well("rubbish: refused"),
            None => scene.tally.well("rubbish: hung up on"),
        }
        sleep(PAUSE).await;
    }
}

/// Sends the bytes and reads the status of what comes back, if anything does.
async fn status(host: SocketAddr, bytes: &[u8]) -> Option<u16> {
    let mut stream = Connection::open(host).await.ok()?.into_stream();
    // The server may well hang up before it has read everything.
    let _ = timeout(PATIENCE, stream.write_all(bytes)).await;
    let mut answer = [0; 12];
    let read = timeout(PATIENCE, stream.read_exact(&mut answer)).await;
    read.ok()?.ok()?;
    let code = answer.strip_prefix(b"HTTP/1.1 ")?;
    std::str::from_utf8(code).ok()?.parse().ok()
}

/// A sound head over this body.
fn posted(host: SocketAddr, body: &[u8]) -> Vec<u8> {
    let head = head("POST", "/mcp", &host.to_string(), VERSION, body.len());
    [head.as_bytes(), body].concat()
}

/// A sound body under a head with these lines in it.
fn headed(host: &str, more: &str) -> Vec<u8> {
    let mut bytes = head("POST", "/mcp", host, more, PING.len());
    bytes.push_str(PING);
    bytes.into_bytes()
}

fn rubbish(kind: usize, host: SocketAddr, noise: &mut Noise) -> (&'static str, Vec<u8>) {
    let local = host.to_string();
    match kind {
        0 => (
            "half a message",
            posted(host, b"{\"jsonrpc\":\"2.0\",\"id\":1,"),
        ),
        1 => ("no message", posted(host, b"hello")),
        2 => ("an empty body", posted(host, b"")),
        3 => ("a body of noise", posted(host, &noise.bytes(2_000))),
        4 => (
            "a batch",
            posted(host, format!("[{PING},{PING}]").as_bytes()),
        ),
        5 => (
            "two messages",
            posted(host, format!("{PING}\n{PING}").as_bytes()),
        ),
        6 => ("a deep body", posted(host, &nested(100_000))),
        7 => (
            "a wrong version of JSON-RPC",
            posted(host, &PING.replace("2.0", "1.0").into_bytes()),
        ),
        8 => (
            "an id of null",
            posted(host, &PING.replace("\"id\":1", "\"id\":null").into_bytes()),
        ),
        9 => (
            "an unknown revision",
            headed(&local, "mcp-protocol-version: 1999-01-01\r\n"),
        ),
        10 => ("a foreign Host", headed("rebound.example", VERSION)),
        11 => (
            "a foreign Origin",
            headed(&local, "origin: https://page.example\r\n"),
        ),
        12 => (
            "a huge header",
            headed(&local, &format!("x-long: {}\r\n", "a".repeat(1 << 20))),
        ),
        13 => ("very many headers", headed(&local, &many_headers(5_000))),
        14 => ("noise", noise.bytes(5_000)),
        15 => (
            "a TLS greeting",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".repeat(20),
        ),
        16 => (
            "a length that is none",
            format!("POST /mcp HTTP/1.1\r\nhost: {local}\r\ncontent-length: -1\r\n\r\n{PING}")
                .into_bytes(),
        ),
        17 => (
            "a length and chunks",
            headed(&local, "transfer-encoding: chunked\r\n"),
        ),
        18 => (
            "a way out of the root",
            format!("GET /../../etc/passwd HTTP/1.1\r\nhost: {local}\r\n\r\n").into_bytes(),
        ),
        _ => (
            "a body that is too long",
            posted(host, &b" ".repeat(6 << 20)),
        ),
    }
}

fn nested(depth: usize) -> Vec<u8> {
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

/// Bytes that look random and are the same in every run.
struct Noise(u64);

impl Noise {
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
