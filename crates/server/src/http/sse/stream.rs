//! `GET /sse`: a session's stream, new or taken up again.

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
    Hall, HangUp, MESSAGES_PATH,
    denied::Denied,
    outbox::{event, parse_event_id},
    session::{Owner, Session},
    table::Full,
};

const EVENT_STREAM: &str = "text/event-stream";
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Proxies that gather an answer before they pass it on would hold every event back.
const NO_BUFFERING: (HeaderName, HeaderValue) = (
    HeaderName::from_static("x-accel-buffering"),
    HeaderValue::from_static("no"),
);
const KEEP_ALIVE: Bytes = Bytes::from_static(b": still here\n\n");

/// Opens a stream.
pub(super) async fn open(State(hall): State<Hall>, request: Request) -> Result<Response, Denied> {
    if request.method() != Method::GET {
        return Err(Denied::because(
            StatusCode::METHOD_NOT_ALLOWED,
            "use GET to open a stream",
        ));
    }
    if !accepts_events(request.headers()) {
        return Err(Denied::because(
            StatusCode::NOT_ACCEPTABLE,
            "the answer is a text/event-stream; the Accept header must allow it",
        ));
    }
    let extensions = request.extensions();
    let principal = extensions.get::<Principal>().cloned().unwrap_or_default();
    let hang_up = extensions.get::<HangUp>().cloned();
    let last_seen = request.headers().get(LAST_EVENT_ID);
    let last_seen = last_seen.filter(|id| !id.is_empty());
    let reading = match last_seen {
        Some(id) => resume(&hall, id, &principal, hang_up),
        None => begin(&hall, owner(&principal, &request), hang_up),
    };
    Ok(respond(reading?, hall.options.keep_alive))
}

fn begin(hall: &Hall, owner: Owner, hang_up: Option<HangUp>) -> Result<Reading, Denied> {
    let (session, inbox) = hall.table.open(owner, &hall.options).map_err(|full| {
        let sentence = match full {
            Full::Stopping => "the server is stopping; try again later",
            Full::Everyone => "the server has as many sessions as it takes; try again later",
            Full::Owner => "you have as many sessions as you may; close one, or try again later",
        };
        Denied::because(StatusCode::SERVICE_UNAVAILABLE, sentence)
    })?;
    let reading = Reading::begin(session.clone(), None, hang_up);
    (hall.start)(session, inbox);
    reading
}

fn resume(
    hall: &Hall,
    id: &HeaderValue,
    principal: &Principal,
    hang_up: Option<HangUp>,
) -> Result<Reading, Denied> {
    let known = id.to_str().ok().and_then(parse_event_id);
    let found = known.and_then(|(session, number)| {
        let session = hall.table.find(session, principal)?;
        Some((session, number))
    });
    let (session, number) = found.ok_or_else(gone)?;
    Reading::begin(session, Some(number), hang_up)
}

fn gone() -> Denied {
    Denied::because(
        StatusCode::NOT_FOUND,
        "there is nothing to resume after that event; open a new stream without Last-Event-ID",
    )
}

fn owner(principal: &Principal, request: &Request) -> Owner {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    Owner {
        name: principal.name.clone(),
        peer: peer.map(|ConnectInfo(address)| address.ip()),
    }
}

/// Without an Accept header a client takes anything.
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

/// A stream that is being read. When it is dropped, the client has gone.
struct Reading {
    session: Arc<Session>,
    stream: u64,
    /// The last event the client has.
    after: u64,
}

impl Reading {
    fn begin(
        session: Arc<Session>,
        after: Option<u64>,
        hang_up: Option<HangUp>,
    ) -> Result<Self, Denied> {
        let attached = session.attach(after, hang_up);
        let (stream, after) = attached.map_err(|_| gone())?;
        Ok(Self {
            session,
            stream,
            after,
        })
    }

    /// Where to post. Its id lets a client resume that loses its stream before anything came.
    fn endpoint(&self) -> Bytes {
        let id = &self.session.id;
        let path = format!("{MESSAGES_PATH}?session_id={id}");
        event(id, self.after, "endpoint", &path)
    }

    async fn next(&self, keep_alive: Duration) -> Option<Bytes> {
        let next = self.session.next_event(self.stream);
        match tokio::time::timeout(keep_alive, next).await {
            Ok(event) => event,
            Err(_) => Some(KEEP_ALIVE),
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.session.detach(self.stream);
    }
}

fn respond(reading: Reading, keep_alive: Duration) -> Response {
    let first = reading.endpoint();
    let events =
        futures::stream::unfold((reading, Some(first)), move |(reading, first)| async move {
            let event = match first {
                Some(first) => first,
                None => reading.next(keep_alive).await?,
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
