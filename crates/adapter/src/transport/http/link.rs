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
    exchange::{Call, Exchange},
    fault, listen,
    request::{self, Posting},
    shared::Shared,
};
use crate::{
    transport::{Agreed, Inbox, Incoming, Link, Outgoing, Sending, Sent, TransportError},
    wire::RequestId,
};

/// How long a goodbye may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// How long it is waited until the server is listened to.
const LISTENING: Duration = Duration::from_secs(1);

pub(super) struct HttpLink {
    shared: Arc<Shared>,
    listening: Mutex<Option<AbortHandle>>,
    closed: AtomicBool,
}

impl HttpLink {
    pub(super) fn new(exchange: Arc<Exchange>, inbox: Inbox) -> Self {
        Self {
            shared: Arc::new(Shared::new(exchange, inbox)),
            listening: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    fn listening(&self) -> MutexGuard<'_, Option<AbortHandle>> {
        let listening = self.listening.lock();
        listening.unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets a request on its way. Its errors come through the inbox, for its status may come no
    /// sooner than its answer.
    fn launch(&self, id: RequestId, posting: Posting) -> Result<(), TransportError> {
        let shared = Arc::clone(&self.shared);
        // Held until the task is listed, so that it can't take itself off before.
        let mut on_their_way = self.shared.on_their_way();
        if self.closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        let task = tokio::spawn(request::run(shared, id, posting));
        on_their_way.insert(id, task.abort_handle());
        Ok(())
    }

    /// Waits until the server has taken the message, so that what is sent next comes later.
    async fn tell(&self, posting: Posting) -> Result<(), TransportError> {
        let limit = self.shared.exchange.limits.answer;
        let told = request::tell(&self.shared, posting);
        tokio::time::timeout(limit, told)
            .await
            .unwrap_or_else(|_| Err(fault::broken("the server did not take the message")))
    }

    /// Begins to listen; what is given ends when the server has let us, or has not.
    fn start_listening(&self) -> Option<oneshot::Receiver<()>> {
        let mut listening = self.listening();
        let wanted = listening.is_none() && !self.shared.along().is_stateless();
        if !wanted || self.closed.load(Ordering::Acquire) {
            return None;
        }
        let (tried, begun) = oneshot::channel();
        let task = tokio::spawn(listen::run(Arc::clone(&self.shared), tried));
        *listening = Some(task.abort_handle());
        Some(begun)
    }

    /// Stops everything. Says whether this was the first time.
    fn stop(&self) -> bool {
        let first = !self.closed.swap(true, Ordering::AcqRel);
        if let Some(task) = self.listening().take() {
            task.abort();
        }
        for (_, task) in self.shared.on_their_way().drain() {
            task.abort();
        }
        first
    }

    async fn say_goodbye(&self) {
        let headers = {
            let along = self.shared.along();
            if along.session().is_none() {
                return;
            }
            along.bare()
        };
        let call = Call {
            method: Method::DELETE,
            url: self.shared.exchange.url.clone(),
            headers,
            body: None,
            may_log_in: false,
        };
        // A server may refuse this; there is nothing more to say then.
        let _ = tokio::time::timeout(GOODBYE, self.shared.exchange.run(call)).await;
    }
}

impl Link for HttpLink {
    fn send(&self, outgoing: Outgoing) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            if self.closed.load(Ordering::Acquire) {
                return Err(closed());
            }
            let posting = Posting {
                headers: self.shared.along().with(&outgoing)?,
                body: outgoing.body,
                begins_session: outgoing.method.as_deref() == Some("initialize"),
            };
            if let Sending::Request(id) = outgoing.kind {
                return self.launch(id, posting);
            }
            self.tell(posting).await?;
            // Before that the server does not expect to be listened to.
            if outgoing.method.as_deref() == Some("notifications/initialized")
                && let Some(begun) = self.start_listening()
            {
                // What a server asks while nobody listens is lost with many, and it waits for ever.
                let _ = tokio::time::timeout(LISTENING, begun).await;
            }
            Ok(())
        })
    }

    fn agreed(&self, agreed: &Agreed) {
        self.shared.along().agree(agreed);
    }

    /// Nobody reads the stream of this request any more. In the stateless era that tells the
    /// server; in the handshake era it has to be told.
    fn abandon(&self, id: RequestId) -> bool {
        self.shared.stop(id) && self.shared.along().is_stateless()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if self.stop() {
                self.shared.inbox.put(Incoming::Closed(None));
                self.say_goodbye().await;
            }
        })
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        if self.stop() {
            self.shared.inbox.put(Incoming::Closed(None));
        }
    }
}

fn closed() -> TransportError {
    TransportError::Closed {
        reason: "it was closed by us".to_owned(),
        sent: Sent::No,
    }
}
