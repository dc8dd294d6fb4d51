//! The state that a transport shares with its tasks: session headers, the sink for incoming
//! messages, and the requests in flight.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use deliberate_http_client::{SseParser, SseParserEvent};
use reqwest::{Method, Response, header::HeaderValue};
use tokio::{task::AbortHandle, time::Instant};

use super::{
    bounded_body::{self, BodyKind},
    error,
    sender::{HttpSender, OutgoingHttpRequest},
    session_headers::{LAST_EVENT_ID, SessionHeaders},
};
use crate::{
    jsonrpc::{self, RequestId, RpcMessage},
    transport::{IncomingEvent, IncomingSink, TransportError},
};

/// How long a stream is read after its answer, so that it can end cleanly and its connection can be
/// reused.
const DRAIN_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(1);

pub(super) struct HttpSession {
    pub(super) sender: Arc<HttpSender>,
    pub(super) incoming: IncomingSink,
    headers: Mutex<SessionHeaders>,
    in_flight: Mutex<HashMap<RequestId, AbortHandle>>,
    session_lost: AtomicBool,
}

/// The outcome of delivering some bytes.
pub(super) enum DeliveredMessage {
    /// The answer to the request of this stream.
    Response,
    /// Other messages.
    Other,
    /// No valid message, with the reason.
    Garbage(String),
}

/// How a stream ended.
pub(super) enum StreamEnd {
    /// With the answer.
    Answered,
    /// Without the answer: the reason, and whether anything arrived.
    Interrupted { reason: String, heard: bool },
    /// An event exceeded the size limit.
    TooLarge,
}

/// The server's response to the request for a stream.
pub(super) enum StreamAttempt {
    Open(Response),
    /// The stream may be available later.
    RetryLater,
    Unavailable(String),
}

impl HttpSession {
    pub(super) fn new(sender: Arc<HttpSender>, incoming: IncomingSink) -> Self {
        Self {
            sender,
            incoming,
            headers: Mutex::default(),
            in_flight: Mutex::default(),
            session_lost: AtomicBool::new(false),
        }
    }

    pub(super) fn headers(&self) -> MutexGuard<'_, SessionHeaders> {
        self.headers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn in_flight(&self) -> MutexGuard<'_, HashMap<RequestId, AbortHandle>> {
        let requests = self.in_flight.lock();
        requests.unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops the task of a request. Returns true if there was one.
    pub(super) fn abort_request(&self, id: RequestId) -> bool {
        let task = self.in_flight().remove(&id);
        task.as_ref().map(AbortHandle::abort).is_some()
    }

    /// Reports a lost session, once.
    pub(super) fn report_session_lost(&self) {
        if !self.session_lost.swap(true, Ordering::Relaxed) {
            self.incoming.push(IncomingEvent::SessionLost);
        }
    }

    /// Delivers the messages in these bytes to the sink.
    pub(super) fn deliver(&self, bytes: &[u8], during: Option<RequestId>) -> DeliveredMessage {
        let messages = match jsonrpc::parse_messages(bytes) {
            Ok(messages) => messages,
            Err(error) => {
                let nameless = during.zip(error::parse_anonymous_error(bytes));
                let Some((id, error)) = nameless else {
                    return DeliveredMessage::Garbage(error.to_string());
                };
                // The error arrived on the stream of this request, so it belongs to it.
                let outcome = Err(error);
                let message = RpcMessage::Response { id, outcome };
                self.incoming.push(IncomingEvent::Message {
                    message,
                    request_id: during,
                });
                return DeliveredMessage::Response;
            }
        };
        let mut delivered = DeliveredMessage::Other;
        for message in messages {
            if let RpcMessage::Response { id, .. } = &message {
                if during == Some(*id) {
                    delivered = DeliveredMessage::Response;
                } else if during.is_none() {
                    self.abort_request(*id);
                }
            }
            self.incoming.push(IncomingEvent::Message {
                message,
                request_id: during,
            });
        }
        delivered
    }

    /// Reads a stream to its end or to the answer.
    pub(super) async fn read_stream(
        &self,
        response: &mut Response,
        events: &mut SseParser,
        during: Option<RequestId>,
    ) -> StreamEnd {
        let mut answered: Option<Instant> = None;
        let mut heard = false;
        loop {
            let chunk = match answered {
                None => response.chunk().await,
                Some(since) => {
                    let rest = tokio::time::timeout_at(since + DRAIN_TIMEOUT, response.chunk());
                    rest.await.unwrap_or(Ok(None))
                }
            };
            let reason = match chunk {
                Ok(Some(bytes)) => {
                    let mut take = |event: &SseParserEvent<'_>| {
                        heard = true;
                        if let Some(DeliveredMessage::Response) = self.handle_event(event, during) {
                            answered = answered.or_else(|| Some(Instant::now()));
                        }
                    };
                    match events.feed(&bytes, &mut take) {
                        Ok(()) => continue,
                        Err(_) if answered.is_some() => return StreamEnd::Answered,
                        Err(_) => return StreamEnd::TooLarge,
                    }
                }
                Ok(None) => "the stream ended without the answer".to_owned(),
                Err(error) => error::innermost_reason(&error),
            };
            return match answered {
                Some(_) => StreamEnd::Answered,
                None => StreamEnd::Interrupted { reason, heard },
            };
        }
    }

    fn handle_event(
        &self,
        event: &SseParserEvent<'_>,
        during: Option<RequestId>,
    ) -> Option<DeliveredMessage> {
        // An event without data only carries the position in the stream.
        if event.data.is_empty() || !matches!(event.name, b"" | b"message") {
            return None;
        }
        let delivered = self.deliver(event.data, during);
        if let DeliveredMessage::Garbage(reason) = &delivered {
            self.incoming.push(IncomingEvent::Garbage(reason.clone()));
        }
        Some(delivered)
    }

    /// Requests a stream, from this event on if it is resumed.
    pub(super) async fn open_stream(&self, after: Option<&HeaderValue>) -> StreamAttempt {
        let mut headers = self.headers().base_headers();
        if let Some(after) = after {
            headers.insert(LAST_EVENT_ID, after.clone());
        }
        let call = OutgoingHttpRequest {
            method: Method::GET,
            url: self.sender.url.clone(),
            headers,
            body: None,
            may_log_in: false,
        };
        let response = match self.sender.send(call).await {
            Ok(response) => response,
            Err(
                error @ (TransportError::Unsendable { .. }
                | TransportError::Unauthorized { .. }
                | TransportError::Http { .. }),
            ) => return StreamAttempt::Unavailable(error.to_string()),
            Err(_) => return StreamAttempt::RetryLater,
        };
        let status = response.status();
        if status.is_success() && bounded_body::body_kind(&response) == BodyKind::Events {
            return StreamAttempt::Open(response);
        }
        if status.is_server_error() || matches!(status.as_u16(), 408 | 429) {
            return StreamAttempt::RetryLater;
        }
        bounded_body::discard(response).await;
        StreamAttempt::Unavailable(format!("HTTP status {}", status.as_u16()))
    }
}
