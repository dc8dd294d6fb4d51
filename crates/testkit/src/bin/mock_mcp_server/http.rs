//! Messages over HTTP: one endpoint for all revisions, with sessions for the handshake revisions,
//! and answers as JSON or as streams.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Arc, Mutex, atomic::Ordering},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
    routing::any,
};
use futures::{StreamExt as _, stream};
use serde_json::Value;
use tokio::{net::TcpListener, sync::mpsc, task::JoinHandle};

use super::{
    echo_fast_path,
    protocol_version::{self, STATELESS},
    rpc_result::{RpcFailure, code, response_message},
    server::{ChangeSubscriber, MockMcpServer},
    session::{ClientExchange, ClientSession, lock},
};
use crate::ServedEras;

const SESSION: &str = "mcp-session-id";

#[derive(Debug)]
struct HttpState {
    upstream: Arc<MockMcpServer>,
    streams: bool,
    sessions: Mutex<HashMap<String, Arc<ClientSession>>>,
}

pub(crate) async fn serve(
    upstream: Arc<MockMcpServer>,
    listener: TcpListener,
    streams: bool,
) -> anyhow::Result<()> {
    let web = Arc::new(HttpState {
        upstream,
        streams,
        sessions: Mutex::default(),
    });
    let router = Router::new()
        .route("/mcp", any(handle))
        .layer(DefaultBodyLimit::disable())
        .with_state(web);
    axum::serve(listener, router).await?;
    Ok(())
}

async fn handle(
    State(web): State<Arc<HttpState>>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let answered = match method {
        Method::POST => web.post(&headers, &body).await,
        Method::GET => web.get(&headers),
        Method::DELETE => web.delete(&headers),
        _ => Err(Box::new(StatusCode::METHOD_NOT_ALLOWED.into_response())),
    };
    answered.unwrap_or_else(|refused| *refused)
}

impl HttpState {
    async fn post(&self, headers: &HeaderMap, body: &[u8]) -> Result<Response, Box<Response>> {
        // A request without a session belongs to the stateless revision, or comes from an unknown
        // client.
        if self.upstream.fast && !self.streams {
            let mut out = Vec::new();
            if echo_fast_path::echo(body, &mut out) {
                let kind = [(header::CONTENT_TYPE, "application/json")];
                return Ok((kind, out).into_response());
            }
        }
        let message: Value = serde_json::from_slice(body)
            .map_err(|_| error_response(400, &Value::Null, RpcFailure::new(-32_700, "not JSON")))?;
        let method = message["method"].as_str().unwrap_or_default();
        if let Some((status, only)) = &self.upstream.faults.status
            && only.as_deref().is_none_or(|only| only == method)
        {
            let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::IM_A_TEAPOT);
            return Err(Box::new((status, "as configured").into_response()));
        }
        let stateless = self.is_stateless(method, headers, &message)?;
        if stateless {
            self.check_headers(method, headers, &message)?;
            let session = Arc::new(ClientSession::default());
            return Ok(self.respond(session, message, None).await);
        }
        if method == "initialize" {
            let (name, session) = self.new_session();
            return Ok(self.respond(session, message, Some(name)).await);
        }
        let session = self.session(headers)?;
        Ok(self.respond(session, message, None).await)
    }

    fn is_stateless(
        &self,
        method: &str,
        headers: &HeaderMap,
        message: &Value,
    ) -> Result<bool, Box<Response>> {
        let id = &message["id"];
        let said = protocol_version::version(&message["params"]).is_some();
        let headed = headers
            .get("mcp-protocol-version")
            .is_some_and(|version| version == STATELESS);
        match self.upstream.eras {
            // Without a session, an old server only reports that it needs one.
            ServedEras::Handshake if said && method != "initialize" => Err(error_response(
                400,
                id,
                RpcFailure::new(code::INVALID_REQUEST, "Bad Request: no session"),
            )),
            ServedEras::Handshake => Ok(false),
            ServedEras::Stateless if method == "initialize" => {
                Err(error_response(404, id, RpcFailure::unknown_method(method)))
            }
            ServedEras::Stateless => Ok(true),
            ServedEras::Both => Ok(said || (headed && method.starts_with("notifications/"))),
        }
    }

    /// Checks that the headers repeat the values of the message.
    fn check_headers(
        &self,
        method: &str,
        headers: &HeaderMap,
        message: &Value,
    ) -> Result<(), Box<Response>> {
        let (id, params) = (&message["id"], &message["params"]);
        if id.is_null() {
            return Ok(());
        }
        let mismatch = |what: &str| {
            let reason = format!("the header {what} differs from the body");
            error_response(400, id, RpcFailure::new(code::HEADER_MISMATCH, reason))
        };
        let has = |name: &str, wanted: &str| {
            headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .is_some_and(|value| value == wanted || value.starts_with("=?base64?"))
        };
        let Some(version) = protocol_version::version(params) else {
            let refused = RpcFailure::new(code::INVALID_PARAMS, "_meta has no protocol version");
            return Err(error_response(400, id, refused));
        };
        if !has("mcp-protocol-version", version) {
            return Err(mismatch("MCP-Protocol-Version"));
        }
        if !has("mcp-method", method) {
            return Err(mismatch("Mcp-Method"));
        }
        let name = match method {
            "tools/call" | "prompts/get" => params["name"].as_str(),
            "resources/read" => params["uri"].as_str(),
            _ => None,
        };
        if name.is_some_and(|name| !has("mcp-name", name)) {
            return Err(mismatch("Mcp-Name"));
        }
        if version != STATELESS || !protocol_version::is_known_method(method, true) {
            let refused = self.upstream.is_stateless_request(method, params).err();
            let refused = refused.unwrap_or_else(|| RpcFailure::unknown_method(method));
            let status = if refused.code == code::METHOD_NOT_FOUND {
                404
            } else {
                400
            };
            return Err(error_response(status, id, refused));
        }
        Ok(())
    }

    /// Answers a message: with nothing for a notification, else with JSON or a stream.
    async fn respond(
        &self,
        session: Arc<ClientSession>,
        message: Value,
        new_session: Option<String>,
    ) -> Response {
        let (talk, mut messages) = ClientExchange::new(Arc::clone(&session));
        let method = message["method"].as_str().unwrap_or_default();
        let listens = method == "subscriptions/listen";
        let calls = method == "tools/call";
        // Change notifications go to the stream that was opened for them, not to this one.
        let Some(work) = (method != "notifications/initialized")
            .then(|| self.upstream.handle_message(talk, message))
            .flatten()
        else {
            return StatusCode::ACCEPTED.into_response();
        };
        let work = StreamTask(work);
        let mut response = if self.streams || listens {
            let call = self.upstream.calls.load(Ordering::Acquire) + 1;
            let cut = calls && self.upstream.faults.drop_stream == Some(call);
            stream_response(messages, Some(work), cut)
        } else {
            // JSON has no place for notifications and requests to the client; they go to the other
            // stream.
            let mut answer = None;
            while let Some(message) = messages.recv().await {
                let whole = serde_json::from_str::<Value>(&message).unwrap_or_default();
                if !whole["method"].is_null() {
                    session.send_on_stream(message);
                } else if whole.is_object() {
                    answer = Some((whole, message));
                }
            }
            match answer {
                Some((whole, text)) => (
                    status(&whole),
                    [(header::CONTENT_TYPE, "application/json")],
                    text,
                )
                    .into_response(),
                None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            }
        };
        if let Some(name) = new_session.and_then(|name| HeaderValue::try_from(name).ok()) {
            response.headers_mut().insert(SESSION, name);
        }
        response
    }

    fn get(&self, headers: &HeaderMap) -> Result<Response, Box<Response>> {
        if self.upstream.eras == ServedEras::Stateless {
            return Err(Box::new(StatusCode::METHOD_NOT_ALLOWED.into_response()));
        }
        let session = self.session(headers)?;
        let (talk, messages) = ClientExchange::new(session);
        talk.session.set_stream(talk.out.clone());
        lock(&self.upstream.listeners).push(ChangeSubscriber {
            out: talk.out,
            subscription: None,
        });
        Ok(stream_response(messages, None, false))
    }

    fn delete(&self, headers: &HeaderMap) -> Result<Response, Box<Response>> {
        self.session(headers)?;
        if let Some(name) = session_name(headers) {
            lock(&self.sessions).remove(name);
        }
        Ok(StatusCode::NO_CONTENT.into_response())
    }

    fn new_session(&self) -> (String, Arc<ClientSession>) {
        let name = uuid::Uuid::now_v7().to_string();
        let session = Arc::new(ClientSession::default());
        lock(&self.sessions).insert(name.clone(), Arc::clone(&session));
        (name, session)
    }

    fn session(&self, headers: &HeaderMap) -> Result<Arc<ClientSession>, Box<Response>> {
        let Some(name) = session_name(headers) else {
            let refused = RpcFailure::new(code::INVALID_REQUEST, "Bad Request: no session");
            return Err(error_response(400, &Value::Null, refused));
        };
        let mut sessions = lock(&self.sessions);
        let session = sessions.get(name).cloned();
        let requests = session
            .as_ref()
            .map_or(0, |session| session.requests.load(Ordering::Acquire));
        let last = self.upstream.faults.session_lost_after;
        if last.is_some_and(|last| requests >= last) {
            sessions.remove(name);
        } else if let Some(session) = session {
            return Ok(session);
        }
        let refused = RpcFailure::new(code::INVALID_REQUEST, "Session not found");
        Err(error_response(404, &Value::Null, refused))
    }
}

/// A task that ends with the stream that waits for it.
struct StreamTask(JoinHandle<()>);

impl Drop for StreamTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Sends messages as events; a cut stream ends after its beginning.
fn stream_response(
    messages: mpsc::UnboundedReceiver<String>,
    work: Option<StreamTask>,
    cut: bool,
) -> Response {
    let begun = stream::iter([Bytes::from_static(b": here it comes\n\n")]);
    let events = stream::unfold((messages, work), move |(mut messages, work)| async move {
        if cut {
            return None;
        }
        let message = messages.recv().await?;
        let event = Bytes::from(format!("event: message\ndata: {message}\n\n"));
        Some((event, (messages, work)))
    });
    let body = begun.chain(events).map(Ok::<_, Infallible>);
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        ("cache-control", "no-cache"),
        ("x-accel-buffering", "no"),
    ];
    (headers, Body::from_stream(body)).into_response()
}

fn session_name(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION)?.to_str().ok()
}

/// Returns the HTTP status of an answer.
fn status(answer: &Value) -> StatusCode {
    let is_stateless_refusal =
        |code| [code::UNSUPPORTED_VERSION, code::HEADER_MISMATCH].contains(&code);
    match answer["error"]["code"].as_i64() {
        Some(code) if is_stateless_refusal(code) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

#[expect(
    clippy::unnecessary_box_returns,
    reason = "the error type of results is small"
)]
fn error_response(status: u16, id: &Value, refusal: RpcFailure) -> Box<Response> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    let body = response_message(id, &Err(refusal)).to_string();
    let kind = [(header::CONTENT_TYPE, "application/json")];
    Box::new((status, kind, body).into_response())
}
