//! Rejections of the SSE transport and their HTTP responses.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};

use crate::message::RpcRejection;

/// The value of `Retry-After`, in seconds.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("5");

/// A rejected request.
#[derive(Debug)]
pub(super) struct SseError {
    status: StatusCode,
    reason: SseErrorBody,
}

#[derive(Debug)]
enum SseErrorBody {
    Text(&'static str),
    Rejections(Vec<RpcRejection>),
}

impl SseError {
    /// A rejection with a plain text.
    pub(super) fn with_text(status: StatusCode, sentence: &'static str) -> Self {
        let reason = SseErrorBody::Text(sentence);
        Self { status, reason }
    }

    /// A rejection with JSON-RPC errors: a single one as an object, several as a list, each with
    /// its own id.
    pub(super) fn with_rejections(status: StatusCode, rejections: Vec<RpcRejection>) -> Self {
        let reason = SseErrorBody::Rejections(rejections);
        Self { status, reason }
    }
}

impl IntoResponse for SseError {
    fn into_response(self) -> Response {
        let mut response = match self.reason {
            SseErrorBody::Text(sentence) => (self.status, sentence).into_response(),
            SseErrorBody::Rejections(rejections) => {
                let json = [(header::CONTENT_TYPE, "application/json")];
                (self.status, json, rejections_to_json(&rejections)).into_response()
            }
        };
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        response
    }
}

fn rejections_to_json(rejections: &[RpcRejection]) -> Vec<u8> {
    match rejections {
        [one] => one.to_line(),
        several => {
            let lines: Vec<_> = several.iter().map(RpcRejection::to_line).collect();
            [b"[".as_slice(), &lines.join(&b','), b"]"].concat()
        }
    }
}
