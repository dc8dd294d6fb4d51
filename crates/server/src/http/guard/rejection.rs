//! The response to a rejected request: a status, a code and one sentence.
//!
//! It never says more than the sender needs: no paths, no internals, nothing of the request.

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};
use serde_json::json;

/// The JSON-RPC code for an invalid request.
const INVALID_REQUEST: i32 = -32600;

/// The JSON-RPC code for a rejection by this server.
const REQUEST_REJECTED: i32 = -32000;

/// A rejected HTTP request.
#[derive(Debug, Clone)]
pub struct HttpRejection {
    status: StatusCode,
    code: &'static str,
    message: &'static str,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl HttpRejection {
    /// Builds a rejection with a code for programs and a sentence for people.
    pub fn new(status: StatusCode, code: &'static str, message: &'static str) -> Self {
        Self {
            status,
            code,
            message,
            headers: Vec::new(),
        }
    }

    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Sets `Retry-After`, in whole seconds and at least one.
    pub fn retry_after(self, seconds: u64) -> Self {
        self.with_header(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)))
    }

    /// Closes the connection after the response, because the rest of the request is not read.
    pub fn close_connection(self) -> Self {
        self.with_header(header::CONNECTION, HeaderValue::from_static("close"))
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }

    pub fn code(&self) -> &'static str {
        self.code
    }

    /// The response in the format for clients of this path.
    pub fn into_response_for(self, path: &str) -> Response {
        let body = if is_jsonrpc_path(path) {
            let code = match self.status {
                StatusCode::BAD_REQUEST
                | StatusCode::REQUEST_TIMEOUT
                | StatusCode::PAYLOAD_TOO_LARGE => INVALID_REQUEST,
                _ => REQUEST_REJECTED,
            };
            json!({
                "jsonrpc": "2.0",
                "id": null,
                "error": {"code": code, "message": self.message, "data": {"code": self.code}},
            })
        } else {
            json!({"error": {"code": self.code, "message": self.message}})
        };
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = self.status;
        response.headers_mut().extend(self.headers);
        response.headers_mut().insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        response
    }
}

fn is_jsonrpc_path(path: &str) -> bool {
    ["/mcp", "/messages"].iter().any(|start| {
        path.strip_prefix(start)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}
