//! A connection by HTTP with server-sent events: the stream that is read, and the messages that
//! are posted.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use futures::future::BoxFuture;
use reqwest::{
    Response,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use tokio::task::AbortHandle;
use url::Url;

use super::super::http::{
    body::{self, Kind},
    events::{Event, Events},
    exchange::Exchange,
    fault::{self, Refusal},
};
use crate::{
    transport::{Agreed, Inbox, Incoming, Link, Outgoing, Sending, Sent, TransportError},
    wire::{self, Message, RequestId},
};

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

struct Shared {
    exchange: Arc<Exchange>,
    endpoint: Url,
    inbox: Inbox,
    closed: AtomicBool,
    on_their_way: Mutex<HashMap<RequestId, AbortHandle>>,
}

pub(super) struct SseLink {
    shared: Arc<Shared>,
    version: Mutex<Option<HeaderValue>>,
    reader: AbortHandle,
}

impl SseLink {
    pub(super) fn new(
        exchange: Arc<Exchange>,
        endpoint: Url,
        inbox: Inbox,
        response: Response,
        events: Events,
    ) -> Self {
        let shared = Arc::new(Shared {
            exchange,
            endpoint,
            inbox,
            closed: AtomicBool::new(false),
            on_their_way: Mutex::default(),
        });
        let reader = tokio::spawn(read(Arc::clone(&shared), response, events));
        Self {
            shared,
            version: Mutex::default(),
            reader: reader.abort_handle(),
        }
    }

    fn headers(&self) -> HeaderMap {
        let version = self.version.lock();
        let version = version.unwrap_or_else(PoisonError::into_inner);
        let version = version.iter().cloned();
        version.map(|version| (VERSION, version)).collect()
    }

    fn launch(&self, id: RequestId, body: Bytes) -> Result<(), TransportError> {
        let shared = Arc::clone(&self.shared);
        let headers = self.headers();
        // Held until the task is listed, so that it can't take itself off before.
        let mut on_their_way = self.shared.on_their_way();
        if self.shared.closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        let task = tokio::spawn(async move {
            // The answer comes on the stream, so nobody may ever say that this is of no use.
            let limit = shared.exchange.limits.longest;
            let posted = tokio::time::timeout(limit, shared.post(headers, body, Some(id))).await;
            let posted = posted.unwrap_or_else(|_| Err(not_taken()));
            shared.on_their_way().remove(&id);
            if let Err(error) = posted {
                shared.inbox.put(Incoming::Failed { id, error });
            }
        });
        on_their_way.insert(id, task.abort_handle());
        Ok(())
    }
}

impl Shared {
    fn on_their_way(&self) -> MutexGuard<'_, HashMap<RequestId, AbortHandle>> {
        let requests = self.on_their_way.lock();
        requests.unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the connection, once.
    fn end(&self, why: Option<TransportError>) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            for (_, task) in self.on_their_way().drain() {
                task.abort();
            }
            self.inbox.put(Incoming::Closed(why));
        }
    }

    async fn post(
        &self,
        headers: HeaderMap,
        body: Bytes,
        id: Option<RequestId>,
    ) -> Result<(), TransportError> {
        let posted = self.exchange.post(&self.endpoint, headers, body);
        let response = posted.await?;
        if !response.status().is_success() {
            let refusal = fault::refusal(response, &self.exchange.secrets()).await;
            return self.refused(refusal, id);
        }
        if body::kind(&response) != Kind::Json {
            body::discard(response).await;
            return Ok(());
        }
        // Some servers answer right here. What is no message is a courtesy.
        let limit = self.exchange.limits.message_bytes;
        let bytes = body::whole(response, limit).await?;
        for message in wire::read(&bytes).unwrap_or_default() {
            let during = id;
            self.inbox.put(Incoming::Message { message, during });
        }
        Ok(())
    }

    fn refused(&self, refusal: Refusal, id: Option<RequestId>) -> Result<(), TransportError> {
        match (refusal.status, refusal.rpc, id) {
            (404, ..) => {
                self.inbox.put(Incoming::SessionLost);
                Err(TransportError::Closed {
                    reason: "the server has forgotten the session".to_owned(),
                    sent: Sent::No,
                })
            }
            (400..=599, Some(error), Some(id)) if !matches!(refusal.status, 401 | 403) => {
                self.inbox.put(Incoming::Message {
                    message: Message::Response {
                        id,
                        outcome: Err(error),
                    },
                    during: Some(id),
                });
                Ok(())
            }
            _ => Err(refusal.error),
        }
    }
}

/// Reads the stream to its end, which is that of the connection.
async fn read(shared: Arc<Shared>, mut response: Response, mut events: Events) {
    let limit = shared.exchange.limits.message_bytes;
    let why = loop {
        match response.chunk().await {
            Ok(Some(bytes)) => {
                let mut take = |event: &Event<'_>| take(event, &shared.inbox);
                if events.feed(&bytes, &mut take).is_err() {
                    break TransportError::TooLarge { limit };
                }
            }
            Ok(None) => break fault::broken("the server ended its stream"),
            Err(error) => break fault::broken(fault::reason(&error)),
        }
    };
    shared.end(Some(why));
}

/// Puts an event's message into the inbox.
pub(super) fn take(event: &Event<'_>, inbox: &Inbox) {
    if matches!(event.name, b"" | b"message") && !event.data.is_empty() {
        inbox.put_bytes(event.data, None);
    }
}

impl Link for SseLink {
    fn send(&self, outgoing: Outgoing) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            if self.shared.closed.load(Ordering::Acquire) {
                return Err(closed());
            }
            if let Sending::Request(id) = outgoing.kind {
                return self.launch(id, outgoing.body);
            }
            let limit = self.shared.exchange.limits.answer;
            let posted = self.shared.post(self.headers(), outgoing.body, None);
            tokio::time::timeout(limit, posted)
                .await
                .unwrap_or_else(|_| Err(not_taken()))
        })
    }

    fn agreed(&self, agreed: &Agreed) {
        let version = self.version.lock();
        *version.unwrap_or_else(PoisonError::into_inner) =
            HeaderValue::try_from(agreed.version.as_str()).ok();
    }

    fn abandon(&self, id: RequestId) -> bool {
        if let Some(task) = self.shared.on_their_way().remove(&id) {
            task.abort();
        }
        false
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.shared.end(None);
        self.reader.abort();
        Box::pin(std::future::ready(()))
    }
}

impl Drop for SseLink {
    fn drop(&mut self) {
        self.shared.end(None);
        self.reader.abort();
    }
}

fn not_taken() -> TransportError {
    fault::broken("the server did not take the message")
}

fn closed() -> TransportError {
    TransportError::Closed {
        reason: "it has ended".to_owned(),
        sent: Sent::No,
    }
}
