//! Reads response bodies within limits.

use std::time::Duration;

use bytes::Bytes;
use deliberate_http_client::{BodyError, content_type};
use reqwest::{Response, header::CONTENT_TYPE};

use super::error;
use crate::transport::TransportError;

/// The number of bytes that are read of an unneeded body, so that the connection can be reused.
const MAX_DISCARD_BYTES: usize = 64 * 1024;

/// The time limit for reading them.
const MAX_DISCARD_WAIT: Duration = Duration::from_secs(1);

/// The content type of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    /// One message.
    Json,
    /// A stream of events.
    Events,
    /// An empty body, or one without a content type.
    Empty,
    Text,
    Other,
}

/// Determines the content type of a response from its headers.
pub(crate) fn body_kind(response: &Response) -> BodyKind {
    if !response.headers().contains_key(CONTENT_TYPE) {
        return BodyKind::Empty;
    }
    match content_type(response.headers()).as_str() {
        "text/event-stream" => BodyKind::Events,
        "text/plain" => BodyKind::Text,
        kind if kind == "application/json" || kind.ends_with("+json") => BodyKind::Json,
        _ => BodyKind::Other,
    }
}

/// Reads the whole body, if it is no larger than `limit`.
pub(crate) async fn read_body(response: Response, limit: usize) -> Result<Bytes, TransportError> {
    let body = deliberate_http_client::read_body(response, limit).await;
    body.map_err(|error| match error {
        BodyError::TooLarge { limit } => TransportError::TooLarge { limit },
        BodyError::Interrupted(error) => error::connection_broken(error::innermost_reason(&error)),
    })
}

/// Reads and discards the rest of a body.
pub(crate) async fn discard(response: Response) {
    if body_kind(&response) != BodyKind::Events {
        let _ =
            tokio::time::timeout(MAX_DISCARD_WAIT, read_body(response, MAX_DISCARD_BYTES)).await;
    }
}
