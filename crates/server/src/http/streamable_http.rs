//! Streamable HTTP at `/mcp` for stateless and handshake revisions, on the SDK's service.
//!
//! It adds checks that the service lacks: messages are validated before the SDK sees them, so that
//! every fault is answered in JSON-RPC; sessions are limited and serve only their owner.

use std::{borrow::Cow, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::Response,
    routing::any,
};
use bytes::Bytes;
use deliberate_toolkit::Principal;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use http_body_util::{BodyExt, Full, Limited};
use rmcp::{
    ServerHandler,
    model::ProtocolVersion,
    transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService},
};
use tokio_util::sync::CancellationToken;

use super::{
    batch, body_guard, jsonrpc_response,
    mcp_sessions::{
        McpSessionError, McpSessionOwner, McpSessions, SessionOptions, SessionReservation,
        SessionUse,
    },
    raw_result,
    raw_session_manager::RawSessionManager,
};
use crate::{
    message::{
        batch::{is_batch, requests_batches, split_batch},
        exact_arguments::mark_arguments,
    },
    raw_result::RawResultSlot,
    stdio::{RpcRejection, read_body},
};

const SESSION_HEADER: &str = "mcp-session-id";
const JSON_MIME_TYPE: &str = "application/json";
const EVENT_STREAM_MIME_TYPE: &str = "text/event-stream";

/// The largest plain-text error of the SDK that is converted to JSON.
const MAX_PLAIN_ERROR_BYTES: usize = 4_096;

/// The settings of `/mcp`.
#[derive(Debug, Clone)]
pub struct StreamableHttpOptions {
    /// The largest accepted body.
    pub body_bytes: usize,
    /// Sessions for clients of the handshake revisions; `None` if they are disabled.
    pub sessions: Option<SessionOptions>,
}

/// A response that does not come from the SDK.
struct McpHttpRejection(Box<Response>);

impl From<Response> for McpHttpRejection {
    fn from(response: Response) -> Self {
        Self(Box::new(response))
    }
}

struct StreamableHttpEndpoint<H> {
    service: StreamableHttpService<H, RawSessionManager>,
    sessions: Arc<McpSessions>,
    draining: CancellationToken,
}

/// Queries about the running `/mcp` route.
#[derive(Clone)]
pub struct McpControl(Arc<McpSessions>);

impl McpControl {
    /// The number of open sessions.
    pub fn sessions(&self) -> usize {
        self.0.count()
    }
}

/// The route. `make` builds a handler for each connection, or for each request without one. After
/// `draining` it accepts no new requests; `stopped` ends the remaining ones.
pub fn routes<H: ServerHandler + Send + Sync + 'static>(
    make: impl Fn() -> H + Send + Sync + 'static,
    options: &StreamableHttpOptions,
    draining: CancellationToken,
    stopped: CancellationToken,
) -> (Router, McpControl) {
    let sessions = McpSessions::new(options.sessions);
    if let Some(kept) = options.sessions {
        tokio::spawn(McpSessions::run_idle_sweep(
            Arc::downgrade(&sessions),
            kept.idle_timeout,
        ));
    }
    // The guard checks hosts and origins for all routes.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_legacy_session_mode(sessions.are_enabled())
        .with_json_response(true)
        .with_max_request_body_bytes(options.body_bytes)
        .with_cancellation_token(stopped);
    let mcp = StreamableHttpEndpoint {
        service: StreamableHttpService::new(move || Ok(make()), sessions.manager(), config),
        sessions: sessions.clone(),
        draining,
    };
    let router = Router::new()
        .route("/mcp", any(handle::<H>))
        .with_state(Arc::new(mcp));
    (router, McpControl(sessions))
}

async fn handle<H: ServerHandler + Send + Sync + 'static>(
    State(mcp): State<Arc<StreamableHttpEndpoint<H>>>,
    request: Request,
) -> Response {
    match mcp.handle_post(request).await {
        Ok(response) => response,
        Err(refused) => *refused.0,
    }
}

impl<H: ServerHandler + Send + Sync + 'static> StreamableHttpEndpoint<H> {
    async fn handle_post(&self, request: Request) -> Result<Response, McpHttpRejection> {
        let (mut parts, body) = request.into_parts();
        let principal = parts.extensions.get::<Principal>();
        let owner = McpSessionOwner(principal.and_then(|principal| principal.name.clone()));
        if parts.method != Method::POST {
            return self.handle_without_body(parts, &owner).await;
        }
        check_content_type(&mut parts.headers)?;
        require_accept(&mut parts.headers)?;
        let body = collect_body(body).await?;
        if is_batch(&body) && self.accepts_batches(&parts.headers) {
            return self.handle_batch(parts, &body, &owner).await;
        }
        self.handle_message(parts, body, owner).await
    }

    /// Handles each message of a batch like one that is sent alone.
    async fn handle_batch(
        &self,
        parts: Parts,
        body: &Bytes,
        owner: &McpSessionOwner,
    ) -> Result<Response, McpHttpRejection> {
        let messages = split_batch(body).map_err(|rejection| reject_message(&rejection))?;
        // A session that does not exist is an error of the whole request.
        let visit = self.enter_session(&parts.headers, owner, None)?;
        let parts = &parts;
        let handled = messages.into_iter().map(|message| async move {
            let message = body.slice_ref(message.as_bytes());
            let handled = self.handle_message(parts.clone(), message, owner.clone());
            handled.await.unwrap_or_else(|refused| *refused.0)
        });
        let responses = futures::future::join_all(handled).await;
        Ok(hold_session(batch::combine(responses).await, visit))
    }

    /// Tells whether the client's revision has batches. A client without a session has to name it.
    fn accepts_batches(&self, headers: &HeaderMap) -> bool {
        match session_id(headers) {
            Some(session) => self.sessions.accepts_batches(session),
            None => headers
                .get("mcp-protocol-version")
                .is_some_and(|version| version == ProtocolVersion::V_2025_03_26.as_str()),
        }
    }

    async fn handle_message(
        &self,
        mut parts: Parts,
        body: Bytes,
        owner: McpSessionOwner,
    ) -> Result<Response, McpHttpRejection> {
        let message = read_body(&body).map_err(|rejection| reject_message(&rejection))?;
        // Responses and cancellations are still accepted, because running calls may wait for them.
        if message.is_request && self.draining.is_cancelled() {
            return Err(jsonrpc_response::stopping_response().into());
        }
        let asked = message.id.filter(|_| message.is_request);
        let visit = self.enter_session(&parts.headers, &owner, asked)?;
        let _room = match &visit {
            None if message.is_initialize => Some(self.reserve_session(&owner)?),
            _ => None,
        };
        let id = message.id.map(str::to_owned);
        let accepts_batches = message.is_initialize && requests_batches(message.bytes);
        let message = mark_body(body.slice_ref(message.bytes));
        let slot = RawResultSlot::default();
        parts.extensions.insert(slot.clone());
        let request = Request::from_parts(parts, Full::new(message));
        let response = self.service.handle(request).await.map(Body::new);
        let response = raw_result::replace_result(response, slot, id.as_deref().unwrap_or("null"));
        let opened = response.headers().get(SESSION_HEADER);
        if let Some(opened) = opened.and_then(|opened| opened.to_str().ok()) {
            self.sessions.add(opened, owner, accepts_batches);
        }
        Ok(hold_session(to_json_error(response, id).await?, visit))
    }

    /// Handles a notification stream, the end of a session, or an unsupported method.
    async fn handle_without_body(
        &self,
        parts: Parts,
        owner: &McpSessionOwner,
    ) -> Result<Response, McpHttpRejection> {
        let visit = self.enter_session(&parts.headers, owner, None)?;
        let ends = visit.is_some() && parts.method == Method::DELETE;
        let session = session_id(&parts.headers).map(str::to_owned);
        let request = Request::from_parts(parts, Full::new(Bytes::new()));
        let response = self.service.handle(request).await.map(Body::new);
        let response = raw_result::unmark_events(response);
        if let Some(session) = session.filter(|_| ends && response.status().is_success()) {
            self.sessions.remove(&session);
        }
        Ok(hold_session(response, visit))
    }

    /// Registers the request in the session that it names, if its revision has sessions. A session
    /// belongs to its owner; for others it does not exist.
    fn enter_session(
        &self,
        headers: &HeaderMap,
        owner: &McpSessionOwner,
        id: Option<&str>,
    ) -> Result<Option<SessionUse>, McpHttpRejection> {
        if !self.sessions.are_enabled()
            || is_stateless_revision(headers)
            || !headers.contains_key(SESSION_HEADER)
        {
            return Ok(None);
        }
        let entered = match session_id(headers) {
            Some(session) => self.sessions.begin_use(session, owner, id),
            None => Err(McpSessionError::Unknown),
        };
        entered.map(Some).map_err(|why| {
            if let (McpSessionError::DuplicateRequestId, Some(id)) = (why, id) {
                return reject_message(&RpcRejection::duplicate_id(id.to_owned()));
            }
            let message = "the session does not exist or has expired; begin a new one";
            reject(StatusCode::NOT_FOUND, -32_001, message)
        })
    }

    fn reserve_session(
        &self,
        owner: &McpSessionOwner,
    ) -> Result<SessionReservation, McpHttpRejection> {
        self.sessions.reserve(owner).ok_or_else(|| {
            McpHttpRejection::from(jsonrpc_response::retry_later_response(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many sessions are open; try again later, or use revision 2026-07-28, which \
                 needs none",
            ))
        })
    }
}

fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok())
}

/// Keeps the session in use until the response is sent.
fn hold_session(response: Response, visit: Option<SessionUse>) -> Response {
    match visit {
        Some(visit) => response.map(|body| body_guard::with_guard(body, visit)),
        None => response,
    }
}

/// Revisions from 2026-07-28 on have no sessions; their session header is ignored.
fn is_stateless_revision(headers: &HeaderMap) -> bool {
    let version = headers.get("mcp-protocol-version");
    version.is_some_and(|version| version.as_bytes() >= b"2026-07-28".as_slice())
}

fn check_content_type(headers: &mut HeaderMap) -> Result<(), McpHttpRejection> {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .map(|kind| kind.split(';').next().unwrap_or_default().trim());
    if kind.is_some_and(|kind| kind.eq_ignore_ascii_case(JSON_MIME_TYPE)) {
        // The form in which the SDK expects it.
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static(JSON_MIME_TYPE),
        );
        return Ok(());
    }
    let message = "Content-Type must be application/json";
    Err(reject(StatusCode::UNSUPPORTED_MEDIA_TYPE, -32_600, message))
}

/// A client that accepts anything accepts both types. One that lists types must list both, because
/// the response may have either.
fn require_accept(headers: &mut HeaderMap) -> Result<(), McpHttpRejection> {
    let accepts: Vec<&str> = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|value| value.split(';').next().unwrap_or_default().trim())
        .collect();
    let takes = |kind: &str, any: &str| {
        accepts
            .iter()
            .any(|accept| [kind, any, "*/*"].contains(accept))
    };
    if !(accepts.is_empty()
        || takes(JSON_MIME_TYPE, "application/*") && takes(EVENT_STREAM_MIME_TYPE, "text/*"))
    {
        let message = "Accept must allow application/json and text/event-stream";
        return Err(reject(StatusCode::NOT_ACCEPTABLE, -32_600, message));
    }
    let both = HeaderValue::from_static("application/json, text/event-stream");
    headers.insert(header::ACCEPT, both);
    Ok(())
}

/// The guard has already read the body within its limits.
async fn collect_body(body: Body) -> Result<Bytes, McpHttpRejection> {
    let body = body.collect().await.map_err(|_| {
        let unread = "the message could not be read";
        reject(StatusCode::BAD_REQUEST, -32_700, unread)
    })?;
    Ok(body.to_bytes())
}

fn reject_message(rejection: &RpcRejection) -> McpHttpRejection {
    jsonrpc_response::rejection_response(StatusCode::BAD_REQUEST, rejection).into()
}

fn reject(status: StatusCode, code: i32, message: &str) -> McpHttpRejection {
    jsonrpc_response::error_response(status, code, message).into()
}

/// Converts the SDK's plain-text errors to JSON-RPC errors.
async fn to_json_error(
    response: Response,
    id: Option<String>,
) -> Result<Response, McpHttpRejection> {
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE);
    if status.is_success()
        || kind.is_some_and(|kind| kind.as_bytes().starts_with(JSON_MIME_TYPE.as_bytes()))
    {
        return Ok(response);
    }
    let limited = Limited::new(response.into_body(), MAX_PLAIN_ERROR_BYTES);
    let said = limited
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes);
    let said = said
        .ok()
        .and_then(|said| String::from_utf8(said.to_vec()).ok());
    let message = match (status, said) {
        // Internal details are not revealed.
        (status, _) if status.is_server_error() => "the server failed; try again".to_owned(),
        (_, Some(said)) if !said.trim().is_empty() => said,
        _ => "the request was rejected".to_owned(),
    };
    // The message is valid JSON-RPC but not a valid message of the protocol.
    let status = match status {
        StatusCode::UNSUPPORTED_MEDIA_TYPE => StatusCode::BAD_REQUEST,
        status => status,
    };
    let rejection = RpcRejection::invalid_request(id, &message);
    Err(jsonrpc_response::rejection_response(status, &rejection).into())
}

/// Marks the integers beyond 64 bits in the arguments of a call.
fn mark_body(message: Bytes) -> Bytes {
    let Ok(Cow::Owned(marked)) = std::str::from_utf8(&message).map(mark_arguments) else {
        return message;
    };
    Bytes::from(marked)
}
