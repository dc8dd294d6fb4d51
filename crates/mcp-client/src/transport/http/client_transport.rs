//! A streamable HTTP connection: sends messages in order and stops all its tasks when it closes.

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

/// The time limit for the DELETE request that ends the session.
const DELETE_TIMEOUT: Duration = Duration::from_secs(2);

/// The time to wait until the GET stream is open.
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

    /// Sends a request in its own task. Errors are delivered through the sink, because the status
    /// may arrive no sooner than the answer.
    fn spawn_request(&self, id: RequestId, posting: PostedMessage) -> Result<(), TransportError> {
        let shared = Arc::clone(&self.session);
        // The lock is held until the task is registered, so that the task cannot deregister itself
        // first.
        let mut on_their_way = self.session.in_flight();
        if self.closed.load(Ordering::Acquire) {
            return Err(closed_error());
        }
        let task = tokio::spawn(request::run(shared, id, posting));
        on_their_way.insert(id, task.abort_handle());
        Ok(())
    }

    /// Waits until the server has accepted the message, so that messages arrive in order.
    async fn send_one_way(&self, posting: PostedMessage) -> Result<(), TransportError> {
        let limit = self.session.sender.limits.response_timeout;
        let told = request::send_one_way(&self.session, posting);
        tokio::time::timeout(limit, told).await.unwrap_or_else(|_| {
            Err(error::connection_broken(
                "the server did not accept the message in time",
            ))
        })
    }

    /// Opens the GET stream. The receiver resolves when the server has accepted or rejected it.
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

    /// Stops everything. Returns true the first time.
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
        // A server may reject the DELETE request; nothing more can be done then.
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
            // Before this notification the server does not expect a GET stream.
            if outgoing.method.as_deref() == Some("notifications/initialized")
                && let Some(begun) = self.start_get_stream()
            {
                // Many servers lose a request that they send while there is no GET stream, and then
                // wait forever.
                let _ = tokio::time::timeout(GET_STREAM_WAIT, begun).await;
            }
            Ok(())
        })
    }

    fn set_protocol(&self, agreed: &NegotiatedProtocol) {
        self.session.headers().set_protocol(agreed);
    }

    /// Stops reading the stream of this request. In the stateless era that cancels the request at
    /// the server; in the handshake era the server must be notified.
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
        reason: "the client closed it".to_owned(),
        sent: DeliveryStatus::No,
    }
}
