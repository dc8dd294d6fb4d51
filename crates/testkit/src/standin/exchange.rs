//! The course of every request, whoever the provider: write it down, check the key, count the
//! rate, meet a fault or wait, then let the provider's own file answer.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::{ConnectInfo, FromRequest, Request},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures::{StreamExt, stream};
use serde_json::Value;

use super::{
    Fault,
    answer::{Finish, Said, usual},
    listener::Connection,
    records::{Guard, KeySeen, Kind, Rate, Seen, State},
    rules::ruled,
    told,
};

/// What differs between the providers.
pub(super) trait Wire {
    /// The provider's error JSON.
    fn error(&self, status: StatusCode, message: &str) -> Response;

    /// What is wrong with an ask, before the model sees it.
    fn check(&self, call: &Call) -> Result<(), Refused>;

    /// The JSON Schema the answer shall have, if there is a field for it.
    fn schema(&self, call: &Call) -> Option<Value>;

    /// The answer in the provider's format.
    fn say(&self, call: &Call, said: &Said, number: usize) -> Response;

    /// The provider's rate headers.
    fn rate_headers(&self, rate: Rate) -> Vec<(&'static str, String)>;
}

/// Why an ask is refused.
pub(super) struct Refused(pub(super) StatusCode, pub(super) String);

impl Refused {
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self(StatusCode::BAD_REQUEST, message.into())
    }
}

/// A request, read whole.
pub(super) struct Call {
    pub(super) state: Arc<State>,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
    body_bytes: usize,
    connection: Connection,
}

impl FromRequest<Arc<State>> for Call {
    type Rejection = Response;

    async fn from_request(request: Request, state: &Arc<State>) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let info = parts.extensions.remove::<ConnectInfo<Connection>>();
        let Some(ConnectInfo(connection)) = info else {
            return Err(StatusCode::INTERNAL_SERVER_ERROR.into_response());
        };
        let rest = Request::from_parts(parts.clone(), body);
        let body = Bytes::from_request(rest, state).await;
        let body = body.map_err(IntoResponse::into_response)?;
        Ok(Self {
            state: Arc::clone(state),
            method: parts.method,
            path: parts.uri.path().to_owned(),
            headers: parts.headers,
            body: serde_json::from_slice(&body).unwrap_or(Value::Null),
            body_bytes: body.len(),
            connection,
        })
    }
}

impl Call {
    /// Writes the request down and checks what every request must have.
    fn open(&self, wire: &impl Wire, kind: Kind) -> Result<Opened, Box<Response>> {
        let guard = self.state.record(Seen {
            kind,
            method: &self.method,
            path: &self.path,
            headers: &self.headers,
            body: &self.body,
            body_bytes: self.body_bytes,
        });
        let refusal = match guard.key {
            KeySeen::Right => None,
            KeySeen::Wrong => Some("Invalid API key."),
            KeySeen::Missing => Some("No API key was sent."),
        };
        if let Some(message) = refusal {
            guard.answered(StatusCode::UNAUTHORIZED);
            return Err(Box::new(wire.error(StatusCode::UNAUTHORIZED, message)));
        }
        let rate = self.state.count();
        if let Some(rate) = rate
            && rate.exceeded
        {
            let status = StatusCode::TOO_MANY_REQUESTS;
            guard.answered(status);
            let mut response = wire.error(status, "Rate limit exceeded.");
            put_headers(&mut response, wire.rate_headers(rate));
            return Err(Box::new(response));
        }
        let rate_headers = rate.map_or_else(Vec::new, |rate| wire.rate_headers(rate));
        Ok(Opened {
            guard,
            rate_headers,
        })
    }
}

struct Opened {
    guard: Guard,
    rate_headers: Vec<(&'static str, String)>,
}

impl Opened {
    fn answer(self, mut response: Response) -> Response {
        put_headers(&mut response, self.rate_headers);
        self.guard.answered(response.status());
        response
    }
}

/// Answers an ask.
pub(super) async fn ask(call: Call, wire: impl Wire) -> Response {
    let opened = match call.open(&wire, Kind::Ask) {
        Ok(opened) => opened,
        Err(response) => return *response,
    };
    let (fault, delay, number) = call.state.write(|inner| {
        inner.asked += 1;
        let fault = inner
            .ask_faults
            .pop_front()
            .or_else(|| inner.always.clone());
        (fault, inner.settings.delay, inner.asked)
    });
    pause(delay).await;
    let said = match fault {
        None => None,
        Some(fault) => match meet(fault, &call, &wire).await {
            Met::Say(said) => Some(said),
            Met::Usual => None,
            Met::Respond(response) => return opened.answer(response),
            Met::Cut => return cut(&call, opened),
            Met::CutBody => {
                let said = usual(number, &call.body, None);
                let whole = wire.say(&call, &said, number);
                return opened.answer(half(whole).await);
            }
        },
    };
    if let Err(Refused(status, message)) = wire.check(&call) {
        return opened.answer(wire.error(status, &message));
    }
    let by_rule = || call.state.read(|inner| ruled(&inner.rules, &call.body));
    let said = said.or_else(by_rule).unwrap_or_else(|| {
        let schema = wire.schema(&call).or_else(|| told::schema(&call.body));
        usual(number, &call.body, schema.as_ref())
    });
    opened.answer(wire.say(&call, &said, number))
}

/// Answers a request that is no ask, with whatever `respond` makes of it.
pub(super) async fn manage(
    call: Call,
    wire: impl Wire,
    kind: Kind,
    respond: impl FnOnce(&Call) -> Response,
) -> Response {
    let opened = match call.open(&wire, kind) {
        Ok(opened) => opened,
        Err(response) => return *response,
    };
    let fault = call.state.write(|inner| inner.pipe_faults.pop_front());
    if let Some(fault) = fault {
        match meet(fault, &call, &wire).await {
            Met::Respond(response) => return opened.answer(response),
            Met::Cut | Met::CutBody => return cut(&call, opened),
            Met::Say(_) | Met::Usual => {}
        }
    }
    opened.answer(respond(&call))
}

/// Any path the providers do not have.
pub(super) async fn unknown(call: Call) -> Response {
    let path = call.path.clone();
    manage(call, super::openai::OpenAi, Kind::Unknown, |_| {
        let message = format!("Unknown request URL: {path}");
        super::openai::OpenAi.error(StatusCode::NOT_FOUND, &message)
    })
    .await
}

/// What a fault makes of a request.
enum Met {
    Usual,
    Say(Said),
    Respond(Response),
    Cut,
    CutBody,
}

async fn meet(fault: Fault, call: &Call, wire: &impl Wire) -> Met {
    let say = |text, finish| Met::Say(Said { text, finish });
    match fault {
        Fault::Delay(ms) => {
            pause(Duration::from_millis(ms)).await;
            Met::Usual
        }
        Fault::Status {
            code,
            headers,
            body,
        } => {
            let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let mut response = if body.is_empty() {
                wire.error(status, "The stand-in was told to fail.")
            } else {
                (status, body).into_response()
            };
            for (name, value) in headers {
                let name = HeaderName::try_from(name);
                if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value)) {
                    response.headers_mut().insert(name, value);
                }
            }
            Met::Respond(response)
        }
        Fault::Text(text) => say(text, Finish::Stop),
        Fault::Truncated(text) => say(text, Finish::Length),
        Fault::Refusal(text) => say(text, Finish::Refusal),
        Fault::Body(body) => {
            Met::Respond(([(header::CONTENT_TYPE, "application/json")], body).into_response())
        }
        Fault::Html200 => {
            let page = "<!DOCTYPE html><html><body><h1>Please log in</h1></body></html>";
            Met::Respond(axum::response::Html(page).into_response())
        }
        Fault::CutConnection => {
            call.connection.cut();
            Met::Cut
        }
        Fault::CutBody => Met::CutBody,
        Fault::Hang => std::future::pending().await,
    }
}

fn cut(call: &Call, opened: Opened) -> Response {
    call.connection.cut();
    opened.guard.cut();
    StatusCode::OK.into_response()
}

/// The head and the first half of a response, then the end of the connection.
async fn half(whole: Response) -> Response {
    let (mut parts, body) = whole.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX)
        .await
        .unwrap_or_default();
    parts
        .headers
        .insert(header::CONTENT_LENGTH, bytes.len().into());
    let first = bytes.slice(..bytes.len() / 2);
    let end = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    let pieces = stream::iter([Ok(first), Err(end)]).then(async |piece| {
        if piece.is_err() {
            // Time for the first half to leave.
            pause(Duration::from_millis(20)).await;
        }
        piece
    });
    Response::from_parts(parts, Body::from_stream(pieces))
}

async fn pause(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

fn put_headers(response: &mut Response, headers: Vec<(&'static str, String)>) {
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(name, value);
        }
    }
}
