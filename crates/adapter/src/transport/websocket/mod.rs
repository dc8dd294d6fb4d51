//! A server behind a WebSocket: each text frame is one message. What the messages mean is not
//! known here.

use std::{fmt, sync::Arc, time::Duration};

use futures::{SinkExt as _, future::BoxFuture, stream::SplitSink};
use tokio::{
    net::TcpStream,
    sync::{Mutex, watch},
    time::{Instant, timeout, timeout_at},
};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, tungstenite::Message as Frame};
use tokio_util::sync::CancellationToken;

use super::{Agreed, Connector, Inbox, Link, Outgoing, Sent, TransportError};
use crate::{
    config::{HttpConfig, ServerLimits},
    wire::RequestId,
};

mod handshake;
mod reader;

/// How long the other side is waited for at the end.
const GOODBYE: Duration = Duration::from_secs(2);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Opens a WebSocket for each connection.
#[derive(Debug)]
pub struct WebSocketConnector {
    config: HttpConfig,
    message_bytes: usize,
    connect: Duration,
    answer: Duration,
}

impl WebSocketConnector {
    /// Reaches that server, and takes from it what the limits allow.
    pub fn new(config: HttpConfig, limits: &ServerLimits) -> Self {
        Self {
            config,
            message_bytes: limits.message_bytes,
            connect: limits.connect,
            answer: limits.answer,
        }
    }

    async fn opened(&self, inbox: Inbox) -> Result<Arc<dyn Link>, TransportError> {
        let socket = handshake::connect(&self.config, self.message_bytes).await?;
        let (sink, frames) = futures::StreamExt::split(socket);
        let (gone, watched) = watch::channel(false);
        let reading = reader::Reader {
            frames,
            inbox,
            limit: self.message_bytes,
            leaving: CancellationToken::new(),
            end: CancellationToken::new(),
            gone,
        };
        let (leaving, end) = (reading.leaving.clone(), reading.end.clone());
        tokio::spawn(reading.read());
        Ok(Arc::new(WebSocketLink {
            sink: Mutex::new(sink),
            leaving,
            patience: self.answer,
            end,
            gone: watched,
        }))
    }
}

impl Connector for WebSocketConnector {
    fn open(
        &self,
        inbox: Inbox,
        deadline: Instant,
    ) -> BoxFuture<'_, Result<Arc<dyn Link>, TransportError>> {
        Box::pin(async move {
            timeout_at(deadline, self.opened(inbox))
                .await
                .unwrap_or(Err(TransportError::ConnectTimeout {
                    after: self.connect,
                }))
        })
    }

    /// Where it is, without the query, which may hold a key.
    fn address(&self) -> String {
        let mut url = self.config.url.clone();
        url.set_query(None);
        url.set_fragment(None);
        url.into()
    }
}

struct WebSocketLink {
    sink: Mutex<SplitSink<Socket, Frame>>,
    /// We have said goodbye, or are about to.
    leaving: CancellationToken,
    patience: Duration,
    end: CancellationToken,
    gone: watch::Receiver<bool>,
}

impl WebSocketLink {
    async fn write(&self, outgoing: Outgoing) -> Result<(), TransportError> {
        let text = tokio_tungstenite::tungstenite::Utf8Bytes::try_from(outgoing.body);
        let text = text.map_err(|_| TransportError::Unsendable {
            reason: "a message must be UTF-8".to_owned(),
        })?;
        let by = Instant::now() + self.patience;
        let slow = |sent| closed("the server takes no more for now".to_owned(), sent);
        let mut sink = timeout_at(by, self.sink.lock())
            .await
            .map_err(|_| slow(Sent::No))?;
        if self.leaving.is_cancelled() || *self.gone.borrow() {
            return Err(closed("it was closed".to_owned(), Sent::No));
        }
        // Once the socket has the frame, all of it goes out, whoever waits for that.
        let sending = timeout_at(by, sink.send(Frame::Text(text)));
        match sending.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(closed(error.to_string(), Sent::Maybe)),
            Err(_) => Err(slow(Sent::Maybe)),
        }
    }

    async fn leave(&self) {
        if !self.leaving.is_cancelled() {
            self.leaving.cancel();
            let goodbye = async { self.sink.lock().await.close().await };
            let _ = timeout(GOODBYE, goodbye).await;
        }
        let mut gone = self.gone.clone();
        if timeout(GOODBYE, gone.wait_for(|gone| *gone)).await.is_err() {
            self.end.cancel();
            let _ = gone.wait_for(|gone| *gone).await;
        }
    }
}

impl Link for WebSocketLink {
    fn send(&self, outgoing: Outgoing) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(self.write(outgoing))
    }

    fn agreed(&self, _: &Agreed) {}

    fn abandon(&self, _: RequestId) -> bool {
        false
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.leave())
    }
}

impl Drop for WebSocketLink {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

impl fmt::Debug for WebSocketLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebSocketLink")
    }
}

fn closed(reason: String, sent: Sent) -> TransportError {
    TransportError::Closed { reason, sent }
}
