//! A connection by streamable HTTP: who sends what when, and what ends with the connection.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::future::BoxFuture;
use reqwest::Method;
use tokio::{sync::oneshot, task::AbortHandle};

use super::{
    error, get_stream,
    request::{self, PostedMessage},
    sender::{HttpSender, OutgoingHttpRequest},
    session::HttpSession,
};
use crate::{
    jsonrpc::RequestId,
    transport::{
        DeliveryStatus, IncomingEvent, IncomingSink, McpTransport, MessageKind, NegotiatedProtocol,
        OutgoingMessage, TransportError,
    },
};

/// How long a goodbye may take.
const DELETE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long it is waited until the server is listened to.
const GET_STREAM_WAIT: Duration = Duration::from_secs(1);

pub(super) struct HttpClientTransport {
    session: Arc<HttpSession>,
    get_stream: Mutex<Option<AbortHandle>>,
    closed: AtomicBool,
}

impl HttpClientTransport {
    pub(super) fn new(exchange: Arc<HttpSender>, inbox: IncomingSink) -> Self {
        Self {
            session: Arc::new(HttpSession::new(exchange, inbox)),
            get_stream: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    fn get_stream(&self) -> MutexGuard<'_, Option<AbortHandle>> {
        let listening = self.get_stream.lock();
        listening.unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets a request on its way. Its errors come through the inbox, for its status may come no
    /// sooner than its answer.
    fn spawn_request(&self, id: RequestId, posting: PostedMessage) -> Result<(), TransportError> {
        let shared = Arc::clone(&self.session);
        // Held until the task is listed, so that it can't take itself off before.
        let mut on_their_way = self.session.in_flight();
        if self.closed.load(Ordering::Acquire) {
            return Err(closed_error());
        }
        let task = tokio::spawn(request::run(shared, id, posting));
        on_their_way.insert(id, task.abort_handle());
        Ok(())
    }

    /// Waits until the server has taken the message, so that what is sent next comes later.
    async fn send_one_way(&self, posting: PostedMessage) -> Result<(), TransportError> {
        let limit = self.session.sender.limits.response_timeout;
        let told = request::send_one_way(&self.session, posting);
        tokio::time::timeout(limit, told).await.unwrap_or_else(|_| {
            Err(error::connection_broken(
                "the server did not take the message",
            ))
        })
    }

    /// Begins to listen; what is given ends when the server has let us, or has not.
    fn start_get_stream(&self) -> Option<oneshot::Receiver<()>> {
        let mut listening = self.get_stream();
        let wanted = listening.is_none() && !self.session.headers().is_stateless();
        if !wanted || self.closed.load(Ordering::Acquire) {
            return None;
        }
        let (tried, begun) = oneshot::channel();
        let task = tokio::spawn(get_stream::run(Arc::clone(&self.session), tried));
        *listening = Some(task.abort_handle());
        Some(begun)
    }

    /// Stops everything. Says whether this was the first time.
    fn abort_all(&self) -> bool {
        let first = !self.closed.swap(true, Ordering::AcqRel);
        if let Some(task) = self.get_stream().take() {
            task.abort();
        }
        for (_, task) in self.session.in_flight().drain() {
            task.abort();
        }
        first
    }

    async fn delete_session(&self) {
        let headers = {
            let along = self.session.headers();
            if along.session().is_none() {
                return;
            }
            along.base_headers()
        };
        let call = OutgoingHttpRequest {
            method: Method::DELETE,
            url: self.session.sender.url.clone(),
            headers,
            body: None,
            may_log_in: false,
        };
        // A server may refuse this; there is nothing more to say then.
        let _ = tokio::time::timeout(DELETE_TIMEOUT, self.session.sender.send(call)).await;
    }
}

impl McpTransport for HttpClientTransport {
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            if self.closed.load(Ordering::Acquire) {
                return Err(closed_error());
            }
            let posting = PostedMessage {
                headers: self.session.headers().message_headers(&outgoing)?,
                body: outgoing.body,
                begins_session: outgoing.method.as_deref() == Some("initialize"),
            };
            if let MessageKind::Request(id) = outgoing.kind {
                return self.spawn_request(id, posting);
            }
            self.send_one_way(posting).await?;
            // Before that the server does not expect to be listened to.
            if outgoing.method.as_deref() == Some("notifications/initialized")
                && let Some(begun) = self.start_get_stream()
            {
                // What a server asks while nobody listens is lost with many, and it waits for ever.
                let _ = tokio::time::timeout(GET_STREAM_WAIT, begun).await;
            }
            Ok(())
        })
    }

    fn set_protocol(&self, agreed: &NegotiatedProtocol) {
        self.session.headers().set_protocol(agreed);
    }

    /// Nobody reads the stream of this request any more. In the stateless era that tells the
    /// server; in the handshake era it has to be told.
    fn abandon(&self, id: RequestId) -> bool {
        self.session.abort_request(id) && self.session.headers().is_stateless()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if self.abort_all() {
                self.session.incoming.push(IncomingEvent::Closed(None));
                self.delete_session().await;
            }
        })
    }
}

impl Drop for HttpClientTransport {
    fn drop(&mut self) {
        if self.abort_all() {
            self.session.incoming.push(IncomingEvent::Closed(None));
        }
    }
}

fn closed_error() -> TransportError {
    TransportError::Closed {
        reason: "it was closed by us".to_owned(),
        sent: DeliveryStatus::No,
    }
}
