//! Server-sent events, as the providers stream their answers.

use std::convert::Infallible;

use axum::{
    body::Body,
    http::header,
    response::{IntoResponse, Response},
};
use futures::stream;

/// Builds server-sent events from `(event name, data)` pairs.
pub(super) fn event_response(events: Vec<(Option<&'static str>, String)>) -> Response {
    let pieces = events.into_iter().map(|(name, data)| {
        let name = name.map_or_else(String::new, |name| format!("event: {name}\n"));
        Ok::<_, Infallible>(format!("{name}data: {data}\n\n"))
    });
    let body = Body::from_stream(stream::iter(pieces));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

/// Splits a text into chunks, as a stream delivers it.
pub(super) fn text_chunks(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars
        .chunks(12)
        .map(|piece| piece.iter().collect())
        .collect()
}
