//! Clients that follow the protocol but misbehave: they leave in the middle of a call, read an
//! answer byte by byte, or send a request that never ends. Their answers are not checked; they
//! exist for their effect on the others.

use std::time::Duration;

use deliberate_testkit::load::{ClientProtocol, LoadConnection, request_head};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::SoakContext;

const PAUSE: Duration = Duration::from_millis(50);
/// The pause between two bytes.
const SLOW: Duration = Duration::from_millis(200);
/// The number of reads of a slow reader.
const DROPS: usize = 100;
/// The number of writes of a slow writer, longer than any server should accept.
const DROPS_WRITTEN: usize = 300;
/// The labels of slow writers that the server disconnected.
pub(crate) const CUT_OFF_LABELS: [&str; 2] = [
    "misbehaving: wrote a head slowly and was cut off",
    "misbehaving: wrote a body slowly and was cut off",
];
/// The answers that a slow reader leaves unread.
const UNREAD: u64 = 50;

/// The part of a request that is sent slowly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestPart {
    Head,
    Body,
}

async fn connect(scene: &SoakContext) -> Option<TcpStream> {
    let connection = LoadConnection::open(scene.host).await.ok()?;
    Some(connection.into_stream())
}

/// Disconnects at each point of a call in turn: within the head, within the body, while the model
/// works, while the answer arrives.
pub(crate) async fn disconnect(scene: SoakContext, number: usize) {
    let mut turn = number;
    while !scene.is_over() {
        turn += 1;
        let content = "a client that does not wait";
        let params = json!({ "name": "reasoning_linear", "arguments": { "content": content } });
        let request = ClientProtocol::ALL[turn % 2].request(scene.host, 1, "tools/call", params);
        let sent = match turn % 4 {
            0 => request.len() / 4,
            1 => request.len() - 10,
            _ => request.len(),
        };
        if let Some(mut stream) = connect(&scene).await {
            // The result is not checked.
            let _ = stream
                .write_all(request.get(..sent).unwrap_or(&request))
                .await;
            sleep(Duration::from_millis(10) * u32::try_from(turn % 5).unwrap_or(0)).await;
            scene
                .counters
                .record_success("misbehaving: left within a call");
        }
        sleep(PAUSE).await;
    }
}

/// Requests much and reads it slowly.
pub(crate) async fn read_slowly(scene: SoakContext) {
    while !scene.is_over() {
        let Some(mut stream) = connect(&scene).await else {
            sleep(PAUSE).await;
            continue;
        };
        for id in 0..UNREAD {
            let request = ClientProtocol::Legacy.request(scene.host, id, "tools/list", json!({}));
            // The socket buffers fill up long before all is sent.
            let sent = timeout(SLOW, stream.write_all(&request)).await;
            if !matches!(sent, Ok(Ok(()))) {
                break;
            }
        }
        let mut drop = [0; 64];
        for _ in 0..DROPS {
            if scene.is_over() || !matches!(stream.read(&mut drop).await, Ok(1..)) {
                break;
            }
            sleep(SLOW).await;
        }
        scene.counters.record_success("misbehaving: read slowly");
    }
}

/// Sends a byte at intervals until the server closes the connection.
pub(crate) async fn write_slowly(scene: SoakContext, part: RequestPart) {
    while !scene.is_over() {
        let Some(mut stream) = connect(&scene).await else {
            sleep(PAUSE).await;
            continue;
        };
        let slow = match part {
            RequestPart::Head => {
                let long = format!("x-slow: {}\r\n", "a".repeat(DROPS_WRITTEN));
                request_head("POST", "/mcp", &scene.host.to_string(), &long, 10)
            }
            RequestPart::Body => {
                let whole = request_head("POST", "/mcp", &scene.host.to_string(), "", 100_000);
                let _ = stream.write_all(whole.as_bytes()).await;
                " ".repeat(DROPS_WRITTEN)
            }
        };
        let mut cut_off = false;
        for byte in slow.as_bytes().iter().take(DROPS_WRITTEN) {
            if scene.is_over() {
                break;
            }
            if stream.write_all(&[*byte]).await.is_err() || has_ended(&mut stream).await {
                cut_off = true;
                break;
            }
        }
        let [head_cut, body_cut] = CUT_OFF_LABELS;
        scene.counters.record_success(match (cut_off, part) {
            (true, RequestPart::Head) => head_cut,
            (true, RequestPart::Body) => body_cut,
            (false, _) => "misbehaving: wrote slowly to the end",
        });
    }
}

/// Waits one interval; returns whether the server closed the connection meanwhile.
async fn has_ended(stream: &mut TcpStream) -> bool {
    let mut buffer = [0; 256];
    matches!(
        timeout(SLOW, stream.read(&mut buffer)).await,
        Ok(Ok(0) | Err(_))
    )
}
