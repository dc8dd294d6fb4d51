//! `GET /sse` opens a session with its stream; `POST /messages` passes a message to a session.

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use axum::{
    body::Body,
    extract::{ConnectInfo, Query, Request, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use deliberate_toolkit::Principal;
use http::{Extensions, HeaderName, Method, StatusCode, header};
use http_body_util::BodyExt;
use serde::Deserialize;

use super::{
    ConnectionCloser, MESSAGES_PATH, SseState,
    session::{Inbound, SseReceiveError, SseSession, SseSessionOwner, format_event},
};
use crate::message::{IncomingMessage, RpcRejection, read_line};

/// Tells proxies not to buffer the response, which would delay every event.
const NO_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
const KEEP_ALIVE: Bytes = Bytes::from_static(b": still here\n\n");
/// The value of `Retry-After`, in seconds.
const RETRY_AFTER: &str = "5";

/// A rejected request.
#[derive(Debug)]
pub(super) enum SseError {
    Text(StatusCode, &'static str),
    /// JSON-RPC errors: a single one as an object, several as a list, each with its own id.
    Rejections(StatusCode, Vec<RpcRejection>),
}

impl IntoResponse for SseError {
    fn into_response(self) -> Response {
        let (status, mut response) = match self {
            Self::Text(status, sentence) => (status, sentence.into_response()),
            Self::Rejections(status, rejections) => {
                let lines: Vec<_> = rejections.iter().map(RpcRejection::to_line).collect();
                let body = match lines.as_slice() {
                    [line] => line.clone(),
                    lines => [b"[".as_slice(), &lines.join(&b','), b"]"].concat(),
                };
                let kind = [(header::CONTENT_TYPE, "application/json")];
                (status, (kind, body).into_response())
            }
        };
        *response.status_mut() = status;
        if status == StatusCode::SERVICE_UNAVAILABLE {
            let wait = http::HeaderValue::from_static(RETRY_AFTER);
            response.headers_mut().insert(header::RETRY_AFTER, wait);
        }
        response
    }
}

pub(super) async fn open_stream(
    State(state): State<SseState>,
    request: Request,
) -> Result<Response, SseError> {
    // The router also passes HEAD here, which must not open a session.
    if request.method() != Method::GET {
        let sentence = "use GET to open a stream";
        return Err(SseError::Text(StatusCode::METHOD_NOT_ALLOWED, sentence));
    }
    let extensions = request.extensions();
    let peer = extensions.get::<ConnectInfo<SocketAddr>>();
    let owner = SseSessionOwner {
        name: principal(extensions).name,
        peer: peer.map(|ConnectInfo(address)| address.ip()),
    };
    let closer = extensions.get::<ConnectionCloser>().cloned();
    let opened = state.sessions.open(owner, closer, &state.options);
    let (session, inbox) =
        opened.map_err(|sentence| SseError::Text(StatusCode::SERVICE_UNAVAILABLE, sentence))?;
    let stream = SessionStream(session.clone());
    (state.start_session)(session, inbox);
    Ok(stream.into_response(&state))
}

/// The stream of a connected client. It is dropped when the client disconnects, which ends the
/// session.
struct SessionStream(Arc<SseSession>);

impl Drop for SessionStream {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl SessionStream {
    fn into_response(self, state: &SseState) -> Response {
        let path = format!("{MESSAGES_PATH}?session_id={}", self.0.id);
        let endpoint = format_event("endpoint", &path);
        let keep_alive = state.options.keep_alive;
        let start = (self, Some(endpoint));
        let events = futures::stream::unfold(start, move |(stream, first)| async move {
            let event = match first {
                Some(first) => first,
                None => match tokio::time::timeout(keep_alive, stream.0.next_event()).await {
                    Ok(event) => event?,
                    Err(_) => KEEP_ALIVE,
                },
            };
            Some((Ok::<_, Infallible>(event), (stream, None)))
        });
        let headers = [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-store"),
            (NO_BUFFERING, "no"),
        ];
        (headers, Body::from_stream(events)).into_response()
    }
}

#[derive(Deserialize)]
pub(super) struct MessagesQuery {
    session_id: String,
}

pub(super) async fn post_message(
    State(state): State<SseState>,
    request: Request,
) -> Result<(StatusCode, &'static str), SseError> {
    let (mut parts, body) = request.into_parts();
    let principal = principal(&parts.extensions);
    let session = Query::<MessagesQuery>::try_from_uri(&parts.uri)
        .ok()
        .and_then(|Query(query)| state.sessions.find(&query.session_id, &principal))
        .ok_or_else(unknown_session)?;
    // The guard has already read the body within its limits.
    let body = body.collect().await.map_err(|_| {
        let sentence = "the message was interrupted; send it again";
        SseError::Text(StatusCode::BAD_REQUEST, sentence)
    })?;
    let (mut message, bytes) = read_message(&body.to_bytes())
        .map_err(|rejections| SseError::Rejections(StatusCode::BAD_REQUEST, rejections))?;
    // The handler finds the principal among the extensions, as on `/mcp`.
    parts.extensions.insert(principal);
    message.insert_extension(parts);
    let received = session.receive(message, bytes).await;
    received.map_err(|error| match error {
        SseReceiveError::Closed => unknown_session(),
        SseReceiveError::Busy(rejection) => {
            SseError::Rejections(StatusCode::SERVICE_UNAVAILABLE, vec![rejection])
        }
        SseReceiveError::Invalid(rejection) => {
            SseError::Rejections(StatusCode::BAD_REQUEST, vec![rejection])
        }
    })?;
    Ok((StatusCode::ACCEPTED, "Accepted"))
}

fn principal(extensions: &Extensions) -> Principal {
    extensions.get::<Principal>().cloned().unwrap_or_default()
}

/// The same rejection for a session that never existed, has ended, or belongs to another principal.
fn unknown_session() -> SseError {
    SseError::Text(
        StatusCode::NOT_FOUND,
        "the session does not exist; open a new stream and post to the URL in its endpoint event",
    )
}

/// Parses the one message of a body.
fn read_message(body: &[u8]) -> Result<(Inbound, usize), Vec<RpcRejection>> {
    let found = read_line(body);
    let alone = found.len() == 1;
    let mut rejections = Vec::new();
    for incoming in found {
        match incoming {
            IncomingMessage::Message { message, bytes } if alone => return Ok((*message, bytes)),
            IncomingMessage::Message { message, .. } => {
                let id = match &*message {
                    Inbound::Request(request) => {
                        Some(request.id.clone().into_json_value().to_string())
                    }
                    _ => None,
                };
                rejections.push(RpcRejection::multiple_messages(id));
            }
            IncomingMessage::Rejected(rejection) => rejections.push(rejection),
        }
    }
    if rejections.is_empty() {
        rejections.push(if body.iter().all(u8::is_ascii_whitespace) {
            RpcRejection::empty_message()
        } else {
            RpcRejection::invalid_message("the message cannot be parsed")
        });
    }
    Err(rejections)
}
