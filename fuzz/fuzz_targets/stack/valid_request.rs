//! What a request must be to deserve a success, worked out apart from the code under test.

use axum::{body::Body, http::Request};
use deliberate_server::stdio::{IncomingMessage, read_line};
use http::{HeaderMap, Method, header};

use super::{BODY_LIMIT, ENDPOINT};

const LOOPBACK_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// A `POST` of one JSON-RPC message to the endpoint, by a local client or page, that takes either
/// kind of answer.
pub fn is_valid_request(request: &Request<Body>, body: &[u8]) -> bool {
    let headers = request.headers();
    request.method() == Method::POST
        && request.uri().path() == ENDPOINT
        && is_json(headers)
        && accepts_both_types(headers)
        && all_values(headers, "host", is_loopback)
        && headers.contains_key(header::HOST)
        && all_values(headers, "origin", |origin| {
            let lower = origin.to_ascii_lowercase();
            lower.strip_prefix("http://").is_some_and(is_loopback)
        })
        && is_one_message(body)
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .map(|value| value.as_bytes());
    kind.is_some_and(|kind| {
        let named = kind.split(|byte| *byte == b';').next().unwrap_or_default();
        named.trim_ascii().eq_ignore_ascii_case(b"application/json")
    })
}

fn accepts_both_types(headers: &HeaderMap) -> bool {
    let accepts: Vec<&str> = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .collect();
    let takes = |kinds: [&str; 3]| {
        let named = |accept: &&str| kinds.iter().any(|kind| accept.contains(kind));
        accepts.iter().any(named)
    };
    // Who says nothing takes anything.
    accepts.is_empty()
        || takes(["application/json", "application/*", "*/*"])
            && takes(["text/event-stream", "text/*", "*/*"])
}

fn all_values(headers: &HeaderMap, name: &str, holds: impl Fn(&str) -> bool) -> bool {
    let mut values = headers.get_all(name).iter();
    values.all(|value| value.to_str().is_ok_and(&holds))
}

fn is_loopback(authority: &str) -> bool {
    let lower = authority.trim().to_ascii_lowercase();
    LOOPBACK_HOSTS.iter().any(|name| {
        lower.strip_prefix(name).is_some_and(|rest| {
            let port = rest.strip_prefix(':');
            rest.is_empty() || port.is_some_and(|port| port.parse::<u16>().is_ok())
        })
    })
}

/// Nobody waits for an answer to a notification, so one that says nothing we know is taken and
/// dropped.
fn is_one_message(body: &[u8]) -> bool {
    body.len() <= BODY_LIMIT
        && matches!(
            read_line(body).as_slice(),
            [] | [IncomingMessage::Message { .. }]
        )
        && !body.trim_ascii().is_empty()
}
