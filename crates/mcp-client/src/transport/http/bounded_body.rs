//! Bodies of answers, read within bounds.

use std::time::Duration;

use reqwest::{Response, header::CONTENT_TYPE};

use super::error;
use crate::transport::TransportError;

/// What is left of an answer that nobody needs is read this far, so that the connection can be
/// used again.
const MAX_DISCARD_BYTES: usize = 64 * 1024;

/// And for so long.
const MAX_DISCARD_WAIT: Duration = Duration::from_secs(1);

/// What a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    /// One message.
    Json,
    /// A stream of events.
    Events,
    /// Nothing, or nobody says what.
    Empty,
    /// Plain text.
    Text,
    /// Something else.
    Other,
}

/// What the body of an answer is, by its headers.
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

/// The whole body, if it is no larger than `limit`.
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
    // What a server says it will send is no reason to reserve it all.
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

/// Reads what is left and nobody needs.
pub(crate) async fn discard(response: Response) {
    if body_kind(&response) != BodyKind::Events {
        let _ =
            tokio::time::timeout(MAX_DISCARD_WAIT, read_body(response, MAX_DISCARD_BYTES)).await;
    }
}
