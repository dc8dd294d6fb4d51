//! What a link and its tasks share: what goes along with messages, where what comes goes, and
//! which requests are on their way.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use reqwest::{Method, Response, header::HeaderValue};
use tokio::{task::AbortHandle, time::Instant};

use super::{
    body::{self, Kind},
    events::{Event, Events},
    exchange::{Call, Exchange},
    fault,
    headers::{Along, LAST_EVENT_ID},
};
use crate::{
    transport::{Inbox, Incoming, TransportError},
    wire::{self, Message, RequestId},
};

/// A stream is read for so long after the answer came, so that it can end in good order and its
/// connection be used again.
const AFTER_ANSWER: std::time::Duration = std::time::Duration::from_secs(1);

pub(super) struct Shared {
    pub(super) exchange: Arc<Exchange>,
    pub(super) inbox: Inbox,
    along: Mutex<Along>,
    on_their_way: Mutex<HashMap<RequestId, AbortHandle>>,
    session_lost: AtomicBool,
}

/// What some bytes turned out to be.
pub(super) enum Delivered {
    /// The answer to the request on whose stream they came.
    Answer,
    /// Other messages.
    Others,
    /// No message; why.
    Garbage(String),
}

/// How a stream ended.
pub(super) enum Ended {
    /// With the answer.
    Answered,
    /// Without; why, and whether anything came.
    Over { reason: String, heard: bool },
    /// An event was larger than allowed.
    TooLarge,
}

/// What a server made of the wish for a stream.
pub(super) enum Stream {
    /// Here it is.
    Open(Response),
    /// It may be there later.
    Later,
    /// There is none.
    None(String),
}

impl Shared {
    pub(super) fn new(exchange: Arc<Exchange>, inbox: Inbox) -> Self {
        Self {
            exchange,
            inbox,
            along: Mutex::default(),
            on_their_way: Mutex::default(),
            session_lost: AtomicBool::new(false),
        }
    }

    pub(super) fn along(&self) -> MutexGuard<'_, Along> {
        self.along.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The requests on their way.
    pub(super) fn on_their_way(&self) -> MutexGuard<'_, HashMap<RequestId, AbortHandle>> {
        let requests = self.on_their_way.lock();
        requests.unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops what is done for a request. Says whether something was.
    pub(super) fn stop(&self, id: RequestId) -> bool {
        let task = self.on_their_way().remove(&id);
        task.as_ref().map(AbortHandle::abort).is_some()
    }

    /// The server has forgotten the session; said once.
    pub(super) fn lose_session(&self) {
        if !self.session_lost.swap(true, Ordering::Relaxed) {
            self.inbox.put(Incoming::SessionLost);
        }
    }

    /// Puts the messages into the inbox that these bytes hold.
    pub(super) fn deliver(&self, bytes: &[u8], during: Option<RequestId>) -> Delivered {
        let messages = match wire::read(bytes) {
            Ok(messages) => messages,
            Err(error) => {
                let nameless = during.zip(fault::error_without_request(bytes));
                let Some((id, error)) = nameless else {
                    return Delivered::Garbage(error.to_string());
                };
                // It came on the stream of this request, so it is about no other.
                let outcome = Err(error);
                let message = Message::Response { id, outcome };
                self.inbox.put(Incoming::Message { message, during });
                return Delivered::Answer;
            }
        };
        let mut delivered = Delivered::Others;
        for message in messages {
            if let Message::Response { id, .. } = &message {
                if during == Some(*id) {
                    delivered = Delivered::Answer;
                } else if during.is_none() {
                    self.stop(*id);
                }
            }
            self.inbox.put(Incoming::Message { message, during });
        }
        delivered
    }

    /// Reads a stream to its end, or to the answer.
    pub(super) async fn read_stream(
        &self,
        response: &mut Response,
        events: &mut Events,
        during: Option<RequestId>,
    ) -> Ended {
        let mut answered: Option<Instant> = None;
        let mut heard = false;
        loop {
            let chunk = match answered {
                None => response.chunk().await,
                Some(since) => {
                    let rest = tokio::time::timeout_at(since + AFTER_ANSWER, response.chunk());
                    rest.await.unwrap_or(Ok(None))
                }
            };
            let reason = match chunk {
                Ok(Some(bytes)) => {
                    let mut take = |event: &Event<'_>| {
                        heard = true;
                        if let Some(Delivered::Answer) = self.take(event, during) {
                            answered = answered.or_else(|| Some(Instant::now()));
                        }
                    };
                    match events.feed(&bytes, &mut take) {
                        Ok(()) => continue,
                        Err(_) if answered.is_some() => return Ended::Answered,
                        Err(_) => return Ended::TooLarge,
                    }
                }
                Ok(None) => "the stream ended without the answer".to_owned(),
                Err(error) => fault::reason(&error),
            };
            return match answered {
                Some(_) => Ended::Answered,
                None => Ended::Over { reason, heard },
            };
        }
    }

    fn take(&self, event: &Event<'_>, during: Option<RequestId>) -> Option<Delivered> {
        // An event without data only says where the stream is.
        if event.data.is_empty() || !matches!(event.name, b"" | b"message") {
            return None;
        }
        let delivered = self.deliver(event.data, during);
        if let Delivered::Garbage(reason) = &delivered {
            self.inbox.put(Incoming::Garbage(reason.clone()));
        }
        Some(delivered)
    }

    /// Asks for a stream: from that event on, if it is one that broke.
    pub(super) async fn open_stream(&self, after: Option<&HeaderValue>) -> Stream {
        let mut headers = self.along().bare();
        if let Some(after) = after {
            headers.insert(LAST_EVENT_ID, after.clone());
        }
        let call = Call {
            method: Method::GET,
            url: self.exchange.url.clone(),
            headers,
            body: None,
            may_log_in: false,
        };
        let response = match self.exchange.run(call).await {
            Ok(response) => response,
            Err(
                error @ (TransportError::Unsendable { .. }
                | TransportError::Unauthorized { .. }
                | TransportError::Http { .. }),
            ) => return Stream::None(error.to_string()),
            Err(_) => return Stream::Later,
        };
        let status = response.status();
        if status.is_success() && body::kind(&response) == Kind::Events {
            return Stream::Open(response);
        }
        if status.is_server_error() || matches!(status.as_u16(), 408 | 429) {
            return Stream::Later;
        }
        body::discard(response).await;
        Stream::None(format!("HTTP status {}", status.as_u16()))
    }
}
