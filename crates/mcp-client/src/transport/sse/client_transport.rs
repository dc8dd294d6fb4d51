//! A connection with HTTP and server-sent events: one stream that is read, and messages that are
//! posted.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use deliberate_http_client::{SseParser, SseParserEvent};
use futures::future::BoxFuture;
use reqwest::{
    Response,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use tokio::task::AbortHandle;
use url::Url;

use crate::{
    jsonrpc::{self, RequestId, RpcMessage},
    transport::{
        DeliveryStatus, IncomingEvent, IncomingSink, McpTransport, MessageKind, NegotiatedProtocol,
        OutgoingMessage, TransportError,
        http::{
            bounded_body::{self, BodyKind},
            error::{self, HttpStatusError},
            sender::HttpSender,
        },
    },
};

const MCP_PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

struct SseClientState {
    sender: Arc<HttpSender>,
    endpoint: Url,
    incoming: IncomingSink,
    closed: AtomicBool,
    in_flight: Mutex<HashMap<RequestId, AbortHandle>>,
}

pub(super) struct SseClientTransport {
    state: Arc<SseClientState>,
    version: Mutex<Option<HeaderValue>>,
    reader: AbortHandle,
}

impl SseClientTransport {
    pub(super) fn new(
        exchange: Arc<HttpSender>,
        endpoint: Url,
        inbox: IncomingSink,
        response: Response,
        events: SseParser,
    ) -> Self {
        let state = Arc::new(SseClientState {
            sender: exchange,
            endpoint,
            incoming: inbox,
            closed: AtomicBool::new(false),
            in_flight: Mutex::default(),
        });
        let reader = tokio::spawn(read_stream(Arc::clone(&state), response, events));
        Self {
            state,
            version: Mutex::default(),
            reader: reader.abort_handle(),
        }
    }

    fn headers(&self) -> HeaderMap {
        let version = self.version.lock();
        let version = version.unwrap_or_else(PoisonError::into_inner);
        let version = version.iter().cloned();
        version
            .map(|version| (MCP_PROTOCOL_VERSION, version))
            .collect()
    }

    fn spawn_request(&self, id: RequestId, body: Bytes) -> Result<(), TransportError> {
        let shared = Arc::clone(&self.state);
        let headers = self.headers();
        // The lock is held until the task is registered, so that the task cannot deregister itself
        // first.
        let mut on_their_way = self.state.in_flight();
        if self.state.closed.load(Ordering::Acquire) {
            return Err(closed_error());
        }
        let task = tokio::spawn(async move {
            // The answer arrives on the stream, so nothing else may ever end this task.
            let limit = shared.sender.limits.total_timeout;
            let posted = tokio::time::timeout(limit, shared.post(headers, body, Some(id))).await;
            let posted = posted.unwrap_or_else(|_| Err(not_accepted_error()));
            shared.in_flight().remove(&id);
            if let Err(error) = posted {
                shared.incoming.push(IncomingEvent::Failed { id, error });
            }
        });
        on_their_way.insert(id, task.abort_handle());
        Ok(())
    }
}

impl SseClientState {
    fn in_flight(&self) -> MutexGuard<'_, HashMap<RequestId, AbortHandle>> {
        let requests = self.in_flight.lock();
        requests.unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the connection, once.
    fn end(&self, why: Option<TransportError>) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            for (_, task) in self.in_flight().drain() {
                task.abort();
            }
            self.incoming.push(IncomingEvent::Closed(why));
        }
    }

    async fn post(
        &self,
        headers: HeaderMap,
        body: Bytes,
        id: Option<RequestId>,
    ) -> Result<(), TransportError> {
        let posted = self.sender.post(&self.endpoint, headers, body);
        let response = posted.await?;
        if !response.status().is_success() {
            let refusal = error::read_status_error(response, &self.sender.secrets()).await;
            return self.handle_error_status(refusal, id);
        }
        if bounded_body::body_kind(&response) != BodyKind::Json {
            bounded_body::discard(response).await;
            return Ok(());
        }
        // Some servers answer here. A body that is no message is a courtesy and ignored.
        let limit = self.sender.limits.message_bytes;
        let bytes = bounded_body::read_body(response, limit).await?;
        for message in jsonrpc::parse_messages(&bytes).unwrap_or_default() {
            let during = id;
            self.incoming.push(IncomingEvent::Message {
                message,
                request_id: during,
            });
        }
        Ok(())
    }

    fn handle_error_status(
        &self,
        refusal: HttpStatusError,
        id: Option<RequestId>,
    ) -> Result<(), TransportError> {
        match (refusal.status, refusal.rpc, id) {
            (404, ..) => {
                self.incoming.push(IncomingEvent::SessionLost);
                Err(TransportError::Closed {
                    reason: "the server no longer knows the session".to_owned(),
                    sent: DeliveryStatus::No,
                })
            }
            (400..=599, Some(error), Some(id)) if !matches!(refusal.status, 401 | 403) => {
                self.incoming.push(IncomingEvent::Message {
                    message: RpcMessage::Response {
                        id,
                        outcome: Err(error),
                    },
                    request_id: Some(id),
                });
                Ok(())
            }
            _ => Err(refusal.error),
        }
    }
}

/// Reads the stream to its end, which is the end of the connection.
async fn read_stream(shared: Arc<SseClientState>, mut response: Response, mut events: SseParser) {
    let limit = shared.sender.limits.message_bytes;
    let why = loop {
        match response.chunk().await {
            Ok(Some(bytes)) => {
                let mut take = |event: &SseParserEvent<'_>| handle_event(event, &shared.incoming);
                if events.feed(&bytes, &mut take).is_err() {
                    break TransportError::TooLarge { limit };
                }
            }
            Ok(None) => break error::connection_broken("the server ended the stream"),
            Err(error) => break error::connection_broken(error::innermost_reason(&error)),
        }
    };
    shared.end(Some(why));
}

/// Delivers the message of an event to the sink.
pub(super) fn handle_event(event: &SseParserEvent<'_>, inbox: &IncomingSink) {
    if matches!(event.name, b"" | b"message") && !event.data.is_empty() {
        inbox.push_bytes(event.data, None);
    }
}

impl McpTransport for SseClientTransport {
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            if self.state.closed.load(Ordering::Acquire) {
                return Err(closed_error());
            }
            if let MessageKind::Request(id) = outgoing.kind {
                return self.spawn_request(id, outgoing.body);
            }
            let limit = self.state.sender.limits.response_timeout;
            let posted = self.state.post(self.headers(), outgoing.body, None);
            tokio::time::timeout(limit, posted)
                .await
                .unwrap_or_else(|_| Err(not_accepted_error()))
        })
    }

    fn set_protocol(&self, agreed: &NegotiatedProtocol) {
        let version = self.version.lock();
        *version.unwrap_or_else(PoisonError::into_inner) =
            HeaderValue::try_from(agreed.version.as_str()).ok();
    }

    fn abandon(&self, id: RequestId) -> bool {
        if let Some(task) = self.state.in_flight().remove(&id) {
            task.abort();
        }
        false
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.state.end(None);
        self.reader.abort();
        Box::pin(std::future::ready(()))
    }
}

impl Drop for SseClientTransport {
    fn drop(&mut self) {
        self.state.end(None);
        self.reader.abort();
    }
}

fn not_accepted_error() -> TransportError {
    error::connection_broken("the server did not accept the message in time")
}

fn closed_error() -> TransportError {
    TransportError::Closed {
        reason: "the connection has ended".to_owned(),
        sent: DeliveryStatus::No,
    }
}
