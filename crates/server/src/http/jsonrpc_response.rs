//! JSON-RPC error responses for rejections outside the protocol layer.

use axum::{body::Body, response::Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

use crate::stdio::RpcRejection;

/// The value of `Retry-After`, in seconds.
const RETRY_AFTER_SECONDS: &str = "5";

pub(super) fn json_response(status: StatusCode, body: &serde_json::Value) -> Response {
    response_with_body(status, body.to_string())
}

/// A JSON-RPC error without a request id.
pub(super) fn error_response(status: StatusCode, code: i32, message: &str) -> Response {
    let error = json!({ "code": code, "message": message });
    json_response(
        status,
        &json!({ "jsonrpc": "2.0", "id": null, "error": error }),
    )
}

/// The response to a message that was rejected before it reached the protocol layer.
pub(super) fn rejection_response(status: StatusCode, rejection: &RpcRejection) -> Response {
    let line = rejection.to_line();
    response_with_body(status, String::from_utf8(line).unwrap_or_default())
}

/// A rejection of a request that may succeed later.
pub(super) fn retry_later_response(status: StatusCode, message: &str) -> Response {
    let mut response = error_response(status, -32_000, message);
    let wait = HeaderValue::from_static(RETRY_AFTER_SECONDS);
    response.headers_mut().insert(header::RETRY_AFTER, wait);
    response
}

/// The rejection of requests while the server stops.
pub(super) fn stopping_response() -> Response {
    retry_later_response(
        StatusCode::SERVICE_UNAVAILABLE,
        "the server is stopping; try again later",
    )
}

fn response_with_body(status: StatusCode, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
