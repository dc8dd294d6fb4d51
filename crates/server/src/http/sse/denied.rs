//! What is not granted, and how that is said over HTTP.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};

use crate::message::Rejection;

/// After which a client that was turned away may try again.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("5");

/// A refusal.
#[derive(Debug)]
pub(super) struct Denied {
    status: StatusCode,
    reason: Reason,
}

#[derive(Debug)]
enum Reason {
    Sentence(&'static str),
    Rejections(Vec<Rejection>),
}

impl Denied {
    /// Says why in a sentence.
    pub(super) fn because(status: StatusCode, sentence: &'static str) -> Self {
        let reason = Reason::Sentence(sentence);
        Self { status, reason }
    }

    /// Says why in the words of JSON-RPC: one error as it is, several as a list, each with its
    /// own id.
    pub(super) fn rejected(status: StatusCode, rejections: Vec<Rejection>) -> Self {
        let reason = Reason::Rejections(rejections);
        Self { status, reason }
    }
}

impl IntoResponse for Denied {
    fn into_response(self) -> Response {
        let mut response = match self.reason {
            Reason::Sentence(sentence) => (self.status, sentence).into_response(),
            Reason::Rejections(rejections) => {
                let json = [(header::CONTENT_TYPE, "application/json")];
                (self.status, json, as_json(&rejections)).into_response()
            }
        };
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        response
    }
}

fn as_json(rejections: &[Rejection]) -> Vec<u8> {
    match rejections {
        [one] => one.to_line(),
        several => {
            let lines: Vec<_> = several.iter().map(Rejection::to_line).collect();
            [b"[".as_slice(), &lines.join(&b','), b"]"].concat()
        }
    }
}
