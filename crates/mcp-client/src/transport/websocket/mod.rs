//! A server on a WebSocket: each text frame is one message. The transport does not know what
//! messages mean.

use std::{fmt, sync::Arc, time::Duration};

use futures::{SinkExt as _, future::BoxFuture, stream::SplitSink};
use tokio::{
    net::TcpStream,
    sync::{Mutex, watch},
    time::{Instant, timeout, timeout_at},
};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, tungstenite::Message as Frame};
use tokio_util::sync::CancellationToken;

use super::{
    Connector, DeliveryStatus, IncomingSink, McpTransport, NegotiatedProtocol, OutgoingMessage,
    TransportError,
};
use crate::{
    config::{HttpConfig, ServerLimits},
    jsonrpc::RequestId,
};

mod frame_reader;
mod handshake;

/// The time to wait for the other side's close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

type ClientWebSocket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Opens a WebSocket for each connection.
#[derive(Debug)]
pub struct WebSocketConnector {
    config: HttpConfig,
    message_bytes: usize,
    connect_timeout: Duration,
    write_timeout: Duration,
}

impl WebSocketConnector {
    /// Creates a connector for a server, with these limits.
    pub fn new(config: HttpConfig, limits: &ServerLimits) -> Self {
        Self {
            config,
            message_bytes: limits.message_bytes,
            connect_timeout: limits.connect_timeout,
            write_timeout: limits.response_timeout,
        }
    }

    async fn open_socket(
        &self,
        inbox: IncomingSink,
    ) -> Result<Arc<dyn McpTransport>, TransportError> {
        let socket = handshake::connect(&self.config, self.message_bytes).await?;
        let (sink, frames) = futures::StreamExt::split(socket);
        let (gone, watched) = watch::channel(false);
        let reading = frame_reader::FrameReader {
            frames,
            incoming: inbox,
            limit: self.message_bytes,
            closing: CancellationToken::new(),
            end: CancellationToken::new(),
            closed: gone,
        };
        let (leaving, end) = (reading.closing.clone(), reading.end.clone());
        tokio::spawn(reading.read());
        Ok(Arc::new(WebSocketClientTransport {
            sink: Mutex::new(sink),
            closing: leaving,
            write_timeout: self.write_timeout,
            end,
            closed: watched,
        }))
    }
}

impl Connector for WebSocketConnector {
    fn open(
        &self,
        inbox: IncomingSink,
        deadline: Instant,
    ) -> BoxFuture<'_, Result<Arc<dyn McpTransport>, TransportError>> {
        Box::pin(async move {
            timeout_at(deadline, self.open_socket(inbox))
                .await
                .unwrap_or(Err(TransportError::ConnectTimeout {
                    after: self.connect_timeout,
                }))
        })
    }

    /// Returns the URL without the query, which may contain a key.
    fn display_address(&self) -> String {
        let mut url = self.config.url.clone();
        url.set_query(None);
        url.set_fragment(None);
        url.into()
    }
}

struct WebSocketClientTransport {
    sink: Mutex<SplitSink<ClientWebSocket, Frame>>,
    /// Cancelled when this side closes the connection or is about to.
    closing: CancellationToken,
    write_timeout: Duration,
    end: CancellationToken,
    closed: watch::Receiver<bool>,
}

impl WebSocketClientTransport {
    async fn write(&self, outgoing: OutgoingMessage) -> Result<(), TransportError> {
        let text = tokio_tungstenite::tungstenite::Utf8Bytes::try_from(outgoing.body);
        let text = text.map_err(|_| TransportError::Unsendable {
            reason: "a message must be UTF-8".to_owned(),
        })?;
        let by = Instant::now() + self.write_timeout;
        let slow = |sent| {
            closed_error(
                "the server accepts no more messages at the moment".to_owned(),
                sent,
            )
        };
        let mut sink = timeout_at(by, self.sink.lock())
            .await
            .map_err(|_| slow(DeliveryStatus::No))?;
        if self.closing.is_cancelled() || *self.closed.borrow() {
            return Err(closed_error(
                "the connection was closed".to_owned(),
                DeliveryStatus::No,
            ));
        }
        // Once the socket has the frame, it sends all of it, even if nobody waits for that.
        let sending = timeout_at(by, sink.send(Frame::Text(text)));
        match sending.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(closed_error(error.to_string(), DeliveryStatus::Maybe)),
            Err(_) => Err(slow(DeliveryStatus::Maybe)),
        }
    }

    async fn close_socket(&self) {
        if !self.closing.is_cancelled() {
            self.closing.cancel();
            let goodbye = async { self.sink.lock().await.close().await };
            let _ = timeout(CLOSE_TIMEOUT, goodbye).await;
        }
        let mut gone = self.closed.clone();
        if timeout(CLOSE_TIMEOUT, gone.wait_for(|gone| *gone))
            .await
            .is_err()
        {
            self.end.cancel();
            let _ = gone.wait_for(|gone| *gone).await;
        }
    }
}

impl McpTransport for WebSocketClientTransport {
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(self.write(outgoing))
    }

    fn set_protocol(&self, _: &NegotiatedProtocol) {}

    fn abandon(&self, _: RequestId) -> bool {
        false
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.close_socket())
    }
}

impl Drop for WebSocketClientTransport {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

impl fmt::Debug for WebSocketClientTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebSocketClientTransport")
    }
}

fn closed_error(reason: String, sent: DeliveryStatus) -> TransportError {
    TransportError::Closed { reason, sent }
}
