//! Handles every request in the same order, whatever the provider: record it, check the key, count
//! the rate, apply a fault or wait, then let the provider's module answer.

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
    MockFault,
    default_reply::{MockFinishReason, MockReply, default_reply},
    listener::CuttableConnection,
    prompt_text,
    request_log::{KeyCheck, MockState, RateLimitState, RequestGuard, RequestKind, RequestView},
    scripted_answers::scripted_reply,
};

/// The differences between the providers.
pub(super) trait MockProviderFormat {
    /// Returns the provider's error JSON.
    fn error(&self, status: StatusCode, message: &str) -> Response;

    /// Validates a model request.
    fn check(&self, call: &MockRequest) -> Result<(), MockRejection>;

    /// Returns the JSON Schema of the answer, if the request has one.
    fn schema(&self, call: &MockRequest) -> Option<Value>;

    /// Returns the answer in the provider's format.
    fn render_reply(&self, call: &MockRequest, reply: &MockReply, number: usize) -> Response;

    /// Returns the provider's rate limit headers.
    fn rate_headers(&self, rate: RateLimitState) -> Vec<(&'static str, String)>;
}

/// The status and the reason of a rejected request.
pub(super) struct MockRejection(pub(super) StatusCode, pub(super) String);

impl MockRejection {
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self(StatusCode::BAD_REQUEST, message.into())
    }
}

/// A request that was read completely.
pub(super) struct MockRequest {
    pub(super) state: Arc<MockState>,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
    body_bytes: usize,
    connection: CuttableConnection,
}

impl FromRequest<Arc<MockState>> for MockRequest {
    type Rejection = Response;

    async fn from_request(request: Request, state: &Arc<MockState>) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let info = parts.extensions.remove::<ConnectInfo<CuttableConnection>>();
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

impl MockRequest {
    /// Records the request and checks what every request must have.
    fn validate_request(
        &self,
        wire: &impl MockProviderFormat,
        kind: RequestKind,
    ) -> Result<AcceptedRequest, Box<Response>> {
        let guard = self.state.record(RequestView {
            kind,
            method: &self.method,
            path: &self.path,
            headers: &self.headers,
            body: &self.body,
            body_bytes: self.body_bytes,
        });
        let refusal = match guard.key {
            KeyCheck::Right => None,
            KeyCheck::Wrong => Some("Invalid API key."),
            KeyCheck::Missing => Some("No API key was sent."),
        };
        if let Some(message) = refusal {
            guard.finish(StatusCode::UNAUTHORIZED);
            return Err(Box::new(wire.error(StatusCode::UNAUTHORIZED, message)));
        }
        let rate = self.state.count();
        if let Some(rate) = rate
            && rate.exceeded
        {
            let status = StatusCode::TOO_MANY_REQUESTS;
            guard.finish(status);
            let mut response = wire.error(status, "Rate limit exceeded.");
            put_headers(&mut response, wire.rate_headers(rate));
            return Err(Box::new(response));
        }
        let rate_headers = rate.map_or_else(Vec::new, |rate| wire.rate_headers(rate));
        Ok(AcceptedRequest {
            guard,
            rate_headers,
        })
    }
}

struct AcceptedRequest {
    guard: RequestGuard,
    rate_headers: Vec<(&'static str, String)>,
}

impl AcceptedRequest {
    fn respond(self, mut response: Response) -> Response {
        put_headers(&mut response, self.rate_headers);
        self.guard.finish(response.status());
        response
    }
}

/// Answers a model request.
pub(super) async fn handle_ask(call: MockRequest, wire: impl MockProviderFormat) -> Response {
    let opened = match call.validate_request(&wire, RequestKind::Ask) {
        Ok(opened) => opened,
        Err(response) => return *response,
    };
    let (fault, delay, number) = call.state.write(|inner| {
        inner.ask_count += 1;
        let fault = inner
            .ask_faults
            .pop_front()
            .or_else(|| inner.default_fault.clone());
        (fault, inner.settings.delay, inner.ask_count)
    });
    pause(delay).await;
    let said = match fault {
        None => None,
        Some(fault) => match apply_fault(fault, &call, &wire).await {
            FaultEffect::Reply(said) => Some(said),
            FaultEffect::Proceed => None,
            FaultEffect::Respond(response) => return opened.respond(response),
            FaultEffect::Cut => return cut_connection(&call, opened),
            FaultEffect::CutBody => {
                let said = default_reply(number, &call.body, None);
                let whole = wire.render_reply(&call, &said, number);
                return opened.respond(half_response(whole).await);
            }
        },
    };
    if let Err(MockRejection(status, message)) = wire.check(&call) {
        return opened.respond(wire.error(status, &message));
    }
    let by_rule = || {
        call.state
            .read(|inner| scripted_reply(&inner.rules, &call.body))
    };
    let said = said.or_else(by_rule).unwrap_or_else(|| {
        let schema = wire
            .schema(&call)
            .or_else(|| prompt_text::prompt_schema(&call.body));
        default_reply(number, &call.body, schema.as_ref())
    });
    opened.respond(wire.render_reply(&call, &said, number))
}

/// Answers a request that is not a model request, with the result of `respond`.
pub(super) async fn handle_management(
    call: MockRequest,
    wire: impl MockProviderFormat,
    kind: RequestKind,
    respond: impl FnOnce(&MockRequest) -> Response,
) -> Response {
    let opened = match call.validate_request(&wire, kind) {
        Ok(opened) => opened,
        Err(response) => return *response,
    };
    let fault = call.state.write(|inner| inner.pipe_faults.pop_front());
    if let Some(fault) = fault {
        match apply_fault(fault, &call, &wire).await {
            FaultEffect::Respond(response) => return opened.respond(response),
            FaultEffect::Cut | FaultEffect::CutBody => return cut_connection(&call, opened),
            FaultEffect::Reply(_) | FaultEffect::Proceed => {}
        }
    }
    opened.respond(respond(&call))
}

/// Answers a path that no provider has.
pub(super) async fn handle_unknown(call: MockRequest) -> Response {
    let path = call.path.clone();
    handle_management(
        call,
        super::openai::OpenAiFormat,
        RequestKind::Unknown,
        |_| {
            let message = format!("Unknown request URL: {path}");
            super::openai::OpenAiFormat.error(StatusCode::NOT_FOUND, &message)
        },
    )
    .await
}

/// The effect of a fault on a request.
enum FaultEffect {
    Proceed,
    Reply(MockReply),
    Respond(Response),
    Cut,
    CutBody,
}

async fn apply_fault(
    fault: MockFault,
    call: &MockRequest,
    wire: &impl MockProviderFormat,
) -> FaultEffect {
    let say = |text, finish| FaultEffect::Reply(MockReply { text, finish });
    match fault {
        MockFault::Delay(ms) => {
            pause(Duration::from_millis(ms)).await;
            FaultEffect::Proceed
        }
        MockFault::Status {
            code,
            headers,
            body,
        } => {
            let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let mut response = if body.is_empty() {
                wire.error(status, "The mock provider was told to fail.")
            } else {
                (status, body).into_response()
            };
            for (name, value) in headers {
                let name = HeaderName::try_from(name);
                if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value)) {
                    response.headers_mut().insert(name, value);
                }
            }
            FaultEffect::Respond(response)
        }
        MockFault::Text(text) => say(text, MockFinishReason::Stop),
        MockFault::Truncated(text) => say(text, MockFinishReason::Length),
        MockFault::Refusal(text) => say(text, MockFinishReason::Refusal),
        MockFault::Body(body) => FaultEffect::Respond(
            ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        ),
        MockFault::Html200 => {
            let page = "<!DOCTYPE html><html><body><h1>Please log in</h1></body></html>";
            FaultEffect::Respond(axum::response::Html(page).into_response())
        }
        MockFault::CutConnection => {
            call.connection.cut();
            FaultEffect::Cut
        }
        MockFault::CutBody => FaultEffect::CutBody,
        MockFault::Hang => std::future::pending().await,
    }
}

fn cut_connection(call: &MockRequest, opened: AcceptedRequest) -> Response {
    call.connection.cut();
    opened.guard.finish_cut();
    StatusCode::OK.into_response()
}

/// Returns the head and the first half of a response, then ends the connection.
async fn half_response(whole: Response) -> Response {
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
            // The pause lets the first half be sent.
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
