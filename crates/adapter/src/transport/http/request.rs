//! One request, from its POST to its answer: as JSON, or on a stream, which in the handshake era
//! is gone on with after it broke.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use reqwest::{Response, header::HeaderMap};

use super::{
    body::{self, Kind},
    events::Events,
    fault,
    headers::SESSION,
    pause::pause,
    shared::{Delivered, Ended, Shared, Stream},
};
use crate::{
    transport::{Incoming, Sent, TransportError},
    wire::{Message, RequestId, RpcError, code},
};

/// Tries to go on with a stream, in a row, that come to nothing.
const MAX_RESUMES: u32 = 5;

/// The longest wait between two of them, unless the server asks for more.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A message on its way.
pub(super) struct Posting {
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// Whether its answer begins a session.
    pub(super) begins_session: bool,
}

/// Sends a request and sees to it that its answer, or that there will be none, gets into the
/// inbox.
pub(super) async fn run(shared: Arc<Shared>, id: RequestId, posting: Posting) {
    let outcome = ask(&shared, id, posting).await;
    shared.on_their_way().remove(&id);
    if let Err(error) = outcome {
        shared.inbox.put(Incoming::Failed { id, error });
    }
}

/// Sends what wants no answer.
pub(super) async fn tell(shared: &Shared, posting: Posting) -> Result<(), TransportError> {
    let in_session = posting.headers.contains_key(SESSION);
    let exchange = &shared.exchange;
    let response = exchange
        .post(&exchange.url, posting.headers, posting.body)
        .await?;
    if response.status().is_success() {
        body::discard(response).await;
        return Ok(());
    }
    let refusal = fault::refusal(response, &exchange.secrets()).await;
    if in_session && is_session_lost(refusal.status, refusal.rpc.as_ref()) {
        return Err(session_lost(shared));
    }
    Err(refusal.error)
}

async fn ask(shared: &Shared, id: RequestId, posting: Posting) -> Result<(), TransportError> {
    let in_session = posting.headers.contains_key(SESSION);
    let exchange = &shared.exchange;
    let response = exchange
        .post(&exchange.url, posting.headers, posting.body)
        .await?;
    if !response.status().is_success() {
        return refused(shared, id, in_session, response).await;
    }
    if posting.begins_session {
        shared.along().keep_session(response.headers())?;
    }
    match body::kind(&response) {
        Kind::Events => streamed(shared, id, response).await,
        Kind::Json | Kind::Nothing => single(shared, id, response).await,
        Kind::Text | Kind::Other => Err(TransportError::Garbage {
            reason: "the answer is neither JSON nor a stream of events; check `url`".to_owned(),
        }),
    }
}

async fn single(shared: &Shared, id: RequestId, answer: Response) -> Result<(), TransportError> {
    let bytes = body::whole(answer, shared.exchange.limits.message_bytes).await?;
    let reason = match shared.deliver(&bytes, Some(id)) {
        Delivered::Answer => return Ok(()),
        Delivered::Others => "the answer is to another request".to_owned(),
        Delivered::Garbage(_) if bytes.is_empty() => "the answer is empty".to_owned(),
        Delivered::Garbage(reason) => reason,
    };
    Err(TransportError::Garbage { reason })
}

async fn refused(
    shared: &Shared,
    id: RequestId,
    in_session: bool,
    response: Response,
) -> Result<(), TransportError> {
    let refusal = fault::refusal(response, &shared.exchange.secrets()).await;
    if in_session && is_session_lost(refusal.status, refusal.rpc.as_ref()) {
        return Err(session_lost(shared));
    }
    match (refusal.error, refusal.rpc) {
        (error @ TransportError::Unauthorized { .. }, _) | (error, None) => Err(error),
        (_, Some(error)) => {
            shared.inbox.put(Incoming::Message {
                message: Message::Response {
                    id,
                    outcome: Err(error),
                },
                during: Some(id),
            });
            Ok(())
        }
    }
}

fn session_lost(shared: &Shared) -> TransportError {
    shared.lose_session();
    TransportError::Closed {
        reason: "the server has forgotten the session".to_owned(),
        sent: Sent::No,
    }
}

/// Whether a refusal means that the session is gone. The protocol says 404 for that; many servers
/// say 400 with these words, as the examples of a widely used kit do.
fn is_session_lost(status: u16, rpc: Option<&RpcError>) -> bool {
    match (status, rpc) {
        (404, Some(error)) => error.code != code::METHOD_NOT_FOUND,
        (404, None) => true,
        (400, Some(error)) if error.code == -32_000 => {
            let said = error.message.to_ascii_lowercase();
            said.contains("session") || said.contains("not initialized")
        }
        _ => false,
    }
}

async fn streamed(
    shared: &Shared,
    id: RequestId,
    mut response: Response,
) -> Result<(), TransportError> {
    let limit = shared.exchange.limits.message_bytes;
    let mut events = Events::new(limit);
    let mut failures = 0;
    loop {
        match (shared.read_stream(&mut response, &mut events, Some(id))).await {
            Ended::Answered => return Ok(()),
            Ended::TooLarge => return Err(TransportError::TooLarge { limit }),
            Ended::Over { reason, heard } => {
                if heard {
                    failures = 0;
                }
                response = resumed(shared, &mut events, reason, &mut failures).await?;
            }
        }
    }
}

/// The same stream again, from where it broke.
async fn resumed(
    shared: &Shared,
    events: &mut Events,
    reason: String,
    failures: &mut u32,
) -> Result<Response, TransportError> {
    events.restart();
    let after = events.last_id().cloned();
    let Some(after) = after.filter(|_| !shared.along().is_stateless()) else {
        return Err(fault::broken(reason));
    };
    while *failures < MAX_RESUMES {
        tokio::time::sleep(pause(events.retry(), *failures, LONGEST_PAUSE)).await;
        *failures += 1;
        match shared.open_stream(Some(&after)).await {
            Stream::Open(response) => return Ok(response),
            Stream::Later => {}
            Stream::None(why) => {
                return Err(fault::broken(format!(
                    "{reason}, nor was it gone on with: {why}"
                )));
            }
        }
    }
    Err(fault::broken(format!(
        "{reason}, nor was it gone on with in {MAX_RESUMES} tries"
    )))
}
