//! Whatever body is posted, as either era and with or without the right headers: no panic, one
//! bounded answer, and a success only for a sound message.
//!
//! Of an input the first byte chooses the method, the second the headers; the rest is the body.
#![no_main]

mod stack;

use http::{Method, Request};
use libfuzzer_sys::fuzz_target;

const METHODS: [Method; 8] = [
    Method::POST,
    Method::POST,
    Method::POST,
    Method::POST,
    Method::POST,
    Method::GET,
    Method::DELETE,
    Method::OPTIONS,
];
const VERSIONS: [Option<&str>; 4] = [None, Some("2025-11-25"), Some("2026-07-28"), Some("1999")];

fuzz_target!(|data: &[u8]| {
    let [method, headers, body @ ..] = data else {
        return;
    };
    stack::check_message_reader(body);
    let bit = |number: u8| headers & (1 << number) != 0;
    let mut request = Request::builder()
        .method(&METHODS[usize::from(method % 8)])
        .uri(stack::ENDPOINT)
        .header("host", "127.0.0.1:8080")
        .header(
            "content-type",
            if bit(0) {
                "text/plain"
            } else {
                "application/json"
            },
        );
    if !bit(1) {
        request = request.header("accept", "application/json, text/event-stream");
    }
    if let Some(version) = VERSIONS[usize::from(headers >> 2) % 4] {
        request = request.header("mcp-protocol-version", version);
    }
    // A client of the new revision names in headers what the body says.
    if !bit(4) {
        let message: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        for (name, said) in [
            ("mcp-method", &message["method"]),
            ("mcp-name", &message["params"]["name"]),
        ] {
            if let Some(said) = said.as_str() {
                request = request.header(name, said);
            }
        }
    }
    stack::send(request, body);
});
