//! Answers that are not the protocol's own: refusals in the form a client of that route reads.

use axum::{body::Body, response::Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

use crate::stdio::Rejection;

/// How long a client that is told to come back later should wait, in seconds.
const LATER_SECONDS: &str = "5";

/// A JSON body.
pub(super) fn json(status: StatusCode, body: &serde_json::Value) -> Response {
    with_body(status, body.to_string())
}

/// A JSON-RPC error that belongs to no request.
pub(super) fn rpc(status: StatusCode, code: i32, message: &str) -> Response {
    let error = json!({ "code": code, "message": message });
    json(
        status,
        &json!({ "jsonrpc": "2.0", "id": null, "error": error }),
    )
}

/// A message that was refused before it reached the protocol.
pub(super) fn rejection(status: StatusCode, rejection: &Rejection) -> Response {
    let line = rejection.to_line();
    with_body(status, String::from_utf8(line).unwrap_or_default())
}

/// A refusal that may be another answer later.
pub(super) fn later(status: StatusCode, message: &str) -> Response {
    let mut response = rpc(status, -32_000, message);
    let wait = HeaderValue::from_static(LATER_SECONDS);
    response.headers_mut().insert(header::RETRY_AFTER, wait);
    response
}

/// For what comes when the server is about to end.
pub(super) fn stopping() -> Response {
    later(
        StatusCode::SERVICE_UNAVAILABLE,
        "the server is stopping; try again later",
    )
}

fn with_body(status: StatusCode, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
