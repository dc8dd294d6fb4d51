//! Whatever a request's head holds, over a body that is sound: no panic, one bounded answer, and a
//! success only for local clients that ask for what there is.
//!
//! Of an input the first byte chooses the body and whether the usual headers are there; then come
//! lines, the first of them the target, each further one a byte for the name and the value.
#![no_main]

mod stack;

use http::{HeaderValue, Request};
use libfuzzer_sys::fuzz_target;

const HEADER_NAMES: [&str; 16] = [
    "host",
    "origin",
    "authorization",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "mcp-session-id",
    "mcp-param-text",
    "accept",
    "content-type",
    "last-event-id",
    "content-length",
    "transfer-encoding",
    "forwarded",
    "x-forwarded-host",
    "traceparent",
];

const BODIES: [&str; 4] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"f","version":"0"}}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"t"}}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"t"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
];

/// More than this many headers are turned away before a request is made of them.
const MAX_HEADERS: usize = 64;

fuzz_target!(|data: &[u8]| {
    let [choice, rest @ ..] = data else {
        return;
    };
    let mut lines = rest.split(|byte| *byte == b'\n');
    let target = lines.next().filter(|line| !line.is_empty());
    let target = target.unwrap_or(stack::ENDPOINT.as_bytes());
    let mut request = Request::builder().method("POST").uri(target);
    for (bit, name, usual) in [
        (2, "host", "localhost:8080"),
        (3, "accept", "application/json, text/event-stream"),
        (4, "content-type", "application/json"),
    ] {
        if choice & (1 << bit) == 0 {
            request = request.header(name, usual);
        }
    }
    for line in lines.take(MAX_HEADERS) {
        let [name, value @ ..] = line else { continue };
        if let Ok(value) = HeaderValue::from_bytes(value) {
            request = request.header(HEADER_NAMES[usize::from(name % 16)], value);
        }
    }
    stack::send(request, BODIES[usize::from(choice % 4)].as_bytes());
});
