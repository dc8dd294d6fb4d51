//! `GET /sse`: opens or resumes the stream of a session.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{ConnectInfo, Request, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use deliberate_toolkit::Principal;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};

use super::{
    ConnectionCloser, MESSAGES_PATH, SseState,
    error::SseError,
    event_buffer::{format_event, parse_event_id},
    session::{SseSession, SseSessionOwner},
    sessions::SseOpenError,
};

const EVENT_STREAM: &str = "text/event-stream";
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Tells proxies not to buffer the response, which would delay every event.
const NO_BUFFERING: (HeaderName, HeaderValue) = (
    HeaderName::from_static("x-accel-buffering"),
    HeaderValue::from_static("no"),
);
const KEEP_ALIVE: Bytes = Bytes::from_static(b": still here\n\n");

pub(super) async fn open_stream(
    State(hall): State<SseState>,
    request: Request,
) -> Result<Response, SseError> {
    if request.method() != Method::GET {
        return Err(SseError::with_text(
            StatusCode::METHOD_NOT_ALLOWED,
            "use GET to open a stream",
        ));
    }
    if !accepts_events(request.headers()) {
        return Err(SseError::with_text(
            StatusCode::NOT_ACCEPTABLE,
            "the answer is a text/event-stream; the Accept header must allow it",
        ));
    }
    let extensions = request.extensions();
    let principal = extensions.get::<Principal>().cloned().unwrap_or_default();
    let hang_up = extensions.get::<ConnectionCloser>().cloned();
    let last_seen = request.headers().get(LAST_EVENT_ID);
    let last_seen = last_seen.filter(|id| !id.is_empty());
    let reading = match last_seen {
        Some(id) => resume_stream(&hall, id, &principal, hang_up),
        None => start_stream(&hall, session_owner(&principal, &request), hang_up),
    };
    Ok(stream_response(reading?, hall.options.keep_alive))
}

fn start_stream(
    hall: &SseState,
    owner: SseSessionOwner,
    hang_up: Option<ConnectionCloser>,
) -> Result<AttachedStream, SseError> {
    let (session, inbox) = hall.sessions.open(owner, &hall.options).map_err(|full| {
        let sentence = match full {
            SseOpenError::Stopping => "the server is stopping; try again later",
            SseOpenError::ServerFull => {
                "the server has reached its limit of sessions; try again later"
            }
            SseOpenError::OwnerFull => {
                "you have reached your limit of sessions; close one, or try again later"
            }
        };
        SseError::with_text(StatusCode::SERVICE_UNAVAILABLE, sentence)
    })?;
    let reading = AttachedStream::attach(session.clone(), None, hang_up);
    (hall.start_session)(session, inbox);
    reading
}

fn resume_stream(
    hall: &SseState,
    id: &HeaderValue,
    principal: &Principal,
    hang_up: Option<ConnectionCloser>,
) -> Result<AttachedStream, SseError> {
    let known = id.to_str().ok().and_then(parse_event_id);
    let found = known.and_then(|(session, number)| {
        let session = hall.sessions.find(session, principal)?;
        Some((session, number))
    });
    let (session, number) = found.ok_or_else(events_expired)?;
    AttachedStream::attach(session, Some(number), hang_up)
}

fn events_expired() -> SseError {
    SseError::with_text(
        StatusCode::NOT_FOUND,
        "the events after that one are not available; open a new stream without Last-Event-ID",
    )
}

fn session_owner(principal: &Principal, request: &Request) -> SseSessionOwner {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    SseSessionOwner {
        name: principal.name.clone(),
        peer: peer.map(|ConnectInfo(address)| address.ip()),
    }
}

/// A client without an `Accept` header accepts anything.
fn accepts_events(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::ACCEPT).into_iter().peekable();
    if values.peek().is_none() {
        return true;
    }
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default();
            let named = [EVENT_STREAM, "text/*", "*/*"]
                .iter()
                .any(|known| kind.eq_ignore_ascii_case(known));
            named && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
        })
}

/// A stream of a connected client. It is dropped when the client disconnects.
struct AttachedStream {
    session: Arc<SseSession>,
    stream: u64,
    /// The last event that the client has.
    after: u64,
}

impl AttachedStream {
    fn attach(
        session: Arc<SseSession>,
        after: Option<u64>,
        hang_up: Option<ConnectionCloser>,
    ) -> Result<Self, SseError> {
        let attached = session.attach(after, hang_up);
        let (stream, after) = attached.map_err(|_| events_expired())?;
        Ok(Self {
            session,
            stream,
            after,
        })
    }

    /// The event with the URL for posts. Its id lets a client resume even if no other event
    /// arrived.
    fn endpoint_event(&self) -> Bytes {
        let id = &self.session.id;
        let path = format!("{MESSAGES_PATH}?session_id={id}");
        format_event(id, self.after, "endpoint", &path)
    }

    async fn next_event(&self, keep_alive: Duration) -> Option<Bytes> {
        let next = self.session.next_event(self.stream);
        match tokio::time::timeout(keep_alive, next).await {
            Ok(event) => event,
            Err(_) => Some(KEEP_ALIVE),
        }
    }
}

impl Drop for AttachedStream {
    fn drop(&mut self) {
        self.session.detach(self.stream);
    }
}

fn stream_response(reading: AttachedStream, keep_alive: Duration) -> Response {
    let first = reading.endpoint_event();
    let events =
        futures::stream::unfold((reading, Some(first)), move |(reading, first)| async move {
            let event = match first {
                Some(first) => first,
                None => reading.next_event(keep_alive).await?,
            };
            Some((Ok::<_, std::convert::Infallible>(event), (reading, None)))
        });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        NO_BUFFERING,
    ];
    (headers, Body::from_stream(events)).into_response()
}
