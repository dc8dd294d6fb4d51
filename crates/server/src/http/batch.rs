//! Batches over streamable HTTP: each message is handled like one that is sent alone, and the
//! responses are sent together.

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::{HeaderValue, StatusCode, header};
use http_body_util::BodyExt as _;

const EVENT_STREAM_MIME_TYPE: &str = "text/event-stream";

/// Combines the responses to the messages of a batch: an array if all are complete, an event stream
/// if some are streams, nothing if no message gets a response.
pub(super) async fn combine(responses: Vec<Response>) -> Response {
    let mut complete: Vec<Bytes> = Vec::new();
    let mut streams = Vec::new();
    for response in responses {
        if is_event_stream(&response) {
            streams.push(response.into_body().into_data_stream());
        } else if response.status() != StatusCode::ACCEPTED {
            // These bodies were built in memory.
            let body = response.into_body().collect().await;
            complete.extend(body.ok().map(http_body_util::Collected::to_bytes));
        }
    }
    if streams.is_empty() && complete.is_empty() {
        return with_type(StatusCode::ACCEPTED, None, Body::empty());
    }
    if streams.is_empty() {
        let array = [b"[".as_slice(), &complete.join(&b','), b"]"].concat();
        return with_type(StatusCode::OK, Some("application/json"), Body::from(array));
    }
    let events = complete.into_iter().map(|message| Ok(to_event(&message)));
    // The SDK sends each event as one frame, so streams can be mixed frame by frame.
    let all = stream::iter(events).chain(stream::select_all(streams));
    with_type(
        StatusCode::OK,
        Some(EVENT_STREAM_MIME_TYPE),
        Body::from_stream(all),
    )
}

fn is_event_stream(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| {
        kind.as_bytes()
            .starts_with(EVENT_STREAM_MIME_TYPE.as_bytes())
    })
}

fn to_event(message: &Bytes) -> Bytes {
    Bytes::from([b"data: ", message.trim_ascii(), b"\n\n"].concat())
}

fn with_type(status: StatusCode, kind: Option<&'static str>, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    if let Some(kind) = kind {
        let kind = HeaderValue::from_static(kind);
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        let uncached = HeaderValue::from_static("no-cache");
        response
            .headers_mut()
            .insert(header::CACHE_CONTROL, uncached);
    }
    response
}
