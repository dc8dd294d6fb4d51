//! Reads response bodies within limits.

use std::time::Duration;

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
    let Some(kind) = response.headers().get(CONTENT_TYPE) else {
        return BodyKind::Empty;
    };
    let kind = kind.to_str().unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    match kind.to_ascii_lowercase().as_str() {
        "text/event-stream" => BodyKind::Events,
        "text/plain" => BodyKind::Text,
        kind if kind == "application/json" || kind.ends_with("+json") => BodyKind::Json,
        _ => BodyKind::Other,
    }
}

/// Reads the whole body, if it is no larger than `limit`.
pub(crate) async fn read_body(
    mut response: Response,
    limit: usize,
) -> Result<Vec<u8>, TransportError> {
    let too_large = TransportError::TooLarge { limit };
    let said = response.content_length().unwrap_or_default();
    let said = usize::try_from(said).unwrap_or(usize::MAX);
    if said > limit {
        return Err(too_large);
    }
    // The announced length is no reason to reserve that much memory.
    let mut body = Vec::with_capacity(said.min(MAX_DISCARD_BYTES));
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len().saturating_add(chunk.len()) > limit => {
                return Err(too_large);
            }
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return Ok(body),
            Err(error) => return Err(error::connection_broken(error::innermost_reason(&error))),
        }
    }
}

/// Reads and discards the rest of a body.
pub(crate) async fn discard(response: Response) {
    if body_kind(&response) != BodyKind::Events {
        let _ =
            tokio::time::timeout(MAX_DISCARD_WAIT, read_body(response, MAX_DISCARD_BYTES)).await;
    }
}
