//! Replaces results of streamable HTTP responses with the unchanged result of an upstream server.
//! The SDK serializes its own types; if the [`RawResultSlot`] of a request is filled, its value is
//! sent instead.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    body::{Body, HttpBody},
    response::Response,
};
use bytes::Bytes;
use deliberate_json_schema::{has_marked_integers, unmark_large_integers};
use http::header;
use hyper::body::{Frame, SizeHint};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::raw_result::RawResultSlot;

/// The prefix of an event that carries a message.
const DATA_PREFIX: &str = "data: ";

/// Replaces the result of a response with the value of the slot; `id` is the request id as JSON
/// text.
pub(super) fn replace_result(response: Response, slot: RawResultSlot, id: &str) -> Response {
    if is_event_stream(&response) {
        return response.map(|body| Body::new(RawResultBody { body, slot }));
    }
    match slot.take() {
        Some(result) if response.status().is_success() => {
            let (mut parts, _) = response.into_parts();
            parts.headers.remove(header::CONTENT_LENGTH);
            Response::from_parts(parts, Body::from(response_message(id, &result)))
        }
        _ => response,
    }
}

/// Replaces the marks of large integers in an event stream without a slot, such as one that is
/// resumed: its session has put the results into the messages.
pub(super) fn unmark_events(response: Response) -> Response {
    if is_event_stream(&response) {
        return replace_result(response, RawResultSlot::default(), "null");
    }
    response
}

fn is_event_stream(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// Replaces the marks of large integers in an event.
fn unmark_event(event: Bytes) -> Bytes {
    match std::str::from_utf8(&event) {
        Ok(text) if has_marked_integers(text) => unmark_large_integers(text.to_owned()).into(),
        _ => event,
    }
}

fn response_message(id: &str, result: &Value) -> String {
    let result = unmark_large_integers(result.to_string());
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}")
}

/// The event stream of a response; its last event carries the result.
struct RawResultBody {
    body: Body,
    slot: RawResultSlot,
}

impl HttpBody for RawResultBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        polled.map_ok(|frame| match frame.into_data() {
            Ok(event) => Frame::data(unmark_event(replace_event_result(event, &self.slot))),
            Err(frame) => frame,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        // The replaced result has another length.
        SizeHint::default()
    }
}

/// The fields that distinguish a response from earlier notifications.
#[derive(Deserialize)]
struct ResponseEnvelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

/// Replaces the result of an event if it carries one. The SDK sends each event as one frame.
fn replace_event_result(event: Bytes, slot: &RawResultSlot) -> Bytes {
    if !slot.is_filled() {
        return event;
    }
    let swapped = || {
        let text = std::str::from_utf8(&event).ok()?;
        let data = text
            .lines()
            .find_map(|line| line.strip_prefix(DATA_PREFIX))?;
        let envelope: ResponseEnvelope<'_> = serde_json::from_str(data).ok()?;
        let (id, None, Some(_)) = (envelope.id?, envelope.method, envelope.result) else {
            return None;
        };
        let message = response_message(id.get(), &slot.take()?);
        Some(Bytes::from(text.replacen(data, &message, 1)))
    };
    swapped().unwrap_or(event)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_event_with_the_result_is_another() {
        let slot = RawResultSlot::default();
        let progress = Bytes::from(
            "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n",
        );
        let asked =
            Bytes::from("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n\n");
        let answer =
            Bytes::from("data: {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}\nid: 3\n\n");
        assert_eq!(replace_event_result(answer.clone(), &slot), answer);
        slot.fill(json!({ "b": 1, "a": [] }));
        for other in [progress, asked, Bytes::from_static(b":\n\n")] {
            assert_eq!(replace_event_result(other.clone(), &slot), other);
        }
        assert_eq!(
            replace_event_result(answer, &slot),
            "data: {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{\"b\":1,\"a\":[]}}\nid: 3\n\n"
        );
    }
}
