//! One request from its POST to its answer: as JSON, or on a stream, which is resumed after an
//! interruption in the handshake era.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use deliberate_http_client::{SseParser, reconnect_delay};
use reqwest::{Response, header::HeaderMap};

use super::{
    bounded_body::{self, BodyKind},
    error,
    session::{DeliveredMessage, HttpSession, StreamAttempt, StreamEnd},
    session_headers::MCP_SESSION_ID,
};
use crate::{
    jsonrpc::{RequestId, RpcError, RpcMessage, code},
    transport::{DeliveryStatus, IncomingEvent, TransportError},
};

/// The maximum number of consecutive failed attempts to resume a stream.
const MAX_RESUMES: u32 = 5;

/// The longest delay between two attempts, unless the server asks for more.
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// A message to be posted.
pub(super) struct PostedMessage {
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// Whether the answer starts a session.
    pub(super) begins_session: bool,
}

/// Sends a request and delivers its answer, or its failure, to the sink.
pub(super) async fn run(shared: Arc<HttpSession>, id: RequestId, posting: PostedMessage) {
    let outcome = send_request(&shared, id, posting).await;
    shared.in_flight().remove(&id);
    if let Err(error) = outcome {
        shared.incoming.push(IncomingEvent::Failed { id, error });
    }
}

/// Sends a message that needs no answer.
pub(super) async fn send_one_way(
    shared: &HttpSession,
    posting: PostedMessage,
) -> Result<(), TransportError> {
    let in_session = posting.headers.contains_key(MCP_SESSION_ID);
    let exchange = &shared.sender;
    let response = exchange
        .post(&exchange.url, posting.headers, posting.body)
        .await?;
    if response.status().is_success() {
        bounded_body::discard(response).await;
        return Ok(());
    }
    let refusal = error::read_status_error(response, &exchange.secrets()).await;
    if in_session && is_session_lost(refusal.status, refusal.rpc.as_ref()) {
        return Err(session_lost_error(shared));
    }
    Err(refusal.error)
}

async fn send_request(
    shared: &HttpSession,
    id: RequestId,
    posting: PostedMessage,
) -> Result<(), TransportError> {
    let in_session = posting.headers.contains_key(MCP_SESSION_ID);
    let exchange = &shared.sender;
    let response = exchange
        .post(&exchange.url, posting.headers, posting.body)
        .await?;
    if !response.status().is_success() {
        return handle_error_status(shared, id, in_session, response).await;
    }
    if posting.begins_session {
        shared.headers().store_session(response.headers())?;
    }
    match bounded_body::body_kind(&response) {
        BodyKind::Events => read_event_stream(shared, id, response).await,
        BodyKind::Json | BodyKind::Empty => read_json_response(shared, id, response).await,
        BodyKind::Text | BodyKind::Other => Err(TransportError::Garbage {
            reason: "the answer is neither JSON nor an event stream; check `url`".to_owned(),
        }),
    }
}

async fn read_json_response(
    shared: &HttpSession,
    id: RequestId,
    answer: Response,
) -> Result<(), TransportError> {
    let bytes = bounded_body::read_body(answer, shared.sender.limits.message_bytes).await?;
    let reason = match shared.deliver(&bytes, Some(id)) {
        DeliveredMessage::Response => return Ok(()),
        DeliveredMessage::Other => "the answer belongs to another request".to_owned(),
        DeliveredMessage::Garbage(_) if bytes.is_empty() => "the answer is empty".to_owned(),
        DeliveredMessage::Garbage(reason) => reason,
    };
    Err(TransportError::Garbage { reason })
}

async fn handle_error_status(
    shared: &HttpSession,
    id: RequestId,
    in_session: bool,
    response: Response,
) -> Result<(), TransportError> {
    let refusal = error::read_status_error(response, &shared.sender.secrets()).await;
    if in_session && is_session_lost(refusal.status, refusal.rpc.as_ref()) {
        return Err(session_lost_error(shared));
    }
    match (refusal.error, refusal.rpc) {
        (error @ TransportError::Unauthorized { .. }, _) | (error, None) => Err(error),
        (_, Some(error)) => {
            shared.incoming.push(IncomingEvent::Message {
                message: RpcMessage::Response {
                    id,
                    outcome: Err(error),
                },
                request_id: Some(id),
            });
            Ok(())
        }
    }
}

fn session_lost_error(shared: &HttpSession) -> TransportError {
    shared.report_session_lost();
    TransportError::Closed {
        reason: "the server no longer knows the session".to_owned(),
        sent: DeliveryStatus::No,
    }
}

/// Returns true if the rejection means that the session is lost. The protocol uses 404 for that;
/// many servers answer 400 with these words, as the examples of a widely used SDK do.
fn is_session_lost(status: u16, rpc: Option<&RpcError>) -> bool {
    match (status, rpc) {
        (404, Some(error)) => error.code != code::METHOD_NOT_FOUND,
        (404, None) => true,
        (400, Some(error)) if error.code == -32_000 => {
            let text = error.message.to_ascii_lowercase();
            text.contains("session") || text.contains("not initialized")
        }
        _ => false,
    }
}

async fn read_event_stream(
    shared: &HttpSession,
    id: RequestId,
    mut response: Response,
) -> Result<(), TransportError> {
    let limit = shared.sender.limits.message_bytes;
    let mut events = SseParser::new(limit);
    let mut failures = 0;
    loop {
        match (shared.read_stream(&mut response, &mut events, Some(id))).await {
            StreamEnd::Answered => return Ok(()),
            StreamEnd::TooLarge => return Err(TransportError::TooLarge { limit }),
            StreamEnd::Interrupted { reason, heard } => {
                if heard {
                    failures = 0;
                }
                response = resume_stream(shared, &mut events, reason, &mut failures).await?;
            }
        }
    }
}

/// Resumes a stream after its last event.
async fn resume_stream(
    shared: &HttpSession,
    events: &mut SseParser,
    reason: String,
    failures: &mut u32,
) -> Result<Response, TransportError> {
    events.restart();
    let after = events.last_id().cloned();
    let Some(after) = after.filter(|_| !shared.headers().is_stateless()) else {
        return Err(error::connection_broken(reason));
    };
    while *failures < MAX_RESUMES {
        tokio::time::sleep(reconnect_delay(events.retry(), *failures, MAX_BACKOFF)).await;
        *failures += 1;
        match shared.open_stream(Some(&after)).await {
            StreamAttempt::Open(response) => return Ok(response),
            StreamAttempt::RetryLater => {}
            StreamAttempt::Unavailable(why) => {
                return Err(error::connection_broken(format!(
                    "{reason}, and it could not be resumed: {why}"
                )));
            }
        }
    }
    Err(error::connection_broken(format!(
        "{reason}, and it could not be resumed in {MAX_RESUMES} attempts"
    )))
}
