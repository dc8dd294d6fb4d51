//! Transports: how bytes reach a server and return. A [`Connector`] knows how to reach a server and
//! holds nothing open; each [`McpTransport`] that it opens is one live connection. Transports
//! handle framing, headers and streams; they do not know what messages mean.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use futures::future::BoxFuture;
use tokio::time::Instant;

use super::jsonrpc::{RequestId, RpcMessage};
use crate::config::TransportConfig;

mod error;
pub mod http;
pub mod sse;
pub mod stdio;
pub mod websocket;

pub use error::{DeliveryStatus, TransportError};

/// Builds the connector of a server.
pub(crate) fn build_connector(
    config: &crate::ServerConfig,
    auth: Option<Arc<dyn http::Authorizer>>,
) -> Result<Arc<dyn Connector>, TransportError> {
    let limits = &config.limits;
    if auth.is_none()
        && matches!(&config.transport, TransportConfig::Http(http) | TransportConfig::Sse(http) if http.auth.is_some())
    {
        return Err(TransportError::Unsendable {
            reason: "`auth` cannot be used: this program was built without OAuth".to_owned(),
        });
    }
    Ok(match config.transport.clone() {
        TransportConfig::Stdio(config) => Arc::new(stdio::StdioConnector::new(config, limits)),
        TransportConfig::Http(config) => Arc::new(http::HttpConnector::new(config, limits, auth)?),
        TransportConfig::Sse(config) => Arc::new(sse::SseConnector::new(config, limits, auth)?),
        TransportConfig::WebSocket(config) => {
            Arc::new(websocket::WebSocketConnector::new(config, limits))
        }
    })
}

/// Builds the authorizer, if a login is configured.
#[cfg(feature = "oauth")]
pub(crate) fn build_authorizer(config: &crate::ServerConfig) -> Option<Arc<dyn http::Authorizer>> {
    use crate::oauth::{OAuthClient, OAuthClientOptions};
    let (TransportConfig::Http(http) | TransportConfig::Sse(http)) = &config.transport else {
        return None;
    };
    let options = OAuthClientOptions {
        auth: http.auth.clone()?,
        ..OAuthClientOptions::default()
    };
    Some(Arc::new(OAuthClient::new(http.url.clone(), options)))
}

/// Builds no authorizer: this program was built without OAuth.
#[cfg(not(feature = "oauth"))]
pub(crate) fn build_authorizer(_: &crate::ServerConfig) -> Option<Arc<dyn http::Authorizer>> {
    None
}

/// Builds the connector to try if a server rejects the first one.
pub(crate) fn build_fallback_connector(
    config: &crate::ServerConfig,
    auth: Option<Arc<dyn http::Authorizer>>,
) -> Result<Option<Arc<dyn Connector>>, TransportError> {
    let TransportConfig::Http(http) = &config.transport else {
        return Ok(None);
    };
    let older = sse::SseConnector::new(http.clone(), &config.limits, auth)?;
    Ok(Some(Arc::new(older)))
}

/// Opens connections to a server.
pub trait Connector: Send + Sync + 'static {
    /// Opens a connection. Messages from the server are pushed to the sink, the last event is
    /// [`IncomingEvent::Closed`], once. An error means that the server has received no request.
    fn open(
        &self,
        inbox: IncomingSink,
        deadline: Instant,
    ) -> BoxFuture<'_, Result<Arc<dyn McpTransport>, TransportError>>;

    /// Returns the server's address for people, without secrets.
    fn display_address(&self) -> String;
}

/// A live connection.
pub trait McpTransport: Send + Sync + 'static {
    /// Sends a message. `Ok` means that it was handed over, not answered: the answer, or its
    /// failure ([`IncomingEvent::Failed`]), arrives through the sink. Messages of one caller keep
    /// their order; a slow server delays senders, not the callers that wait for other answers. An
    /// error says whether the message may have arrived.
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, Result<(), TransportError>>;

    /// Sets the negotiated protocol, which accompanies later messages where the transport has a
    /// place for it.
    fn set_protocol(&self, agreed: &NegotiatedProtocol);

    /// Stops waiting for a request. Returns true if that alone tells the server (its stream was
    /// closed), so that no notification is needed.
    fn abandon(&self, id: RequestId) -> bool;

    /// Closes the connection: ends the session where there is one, waits a little for the other
    /// side, then stops. A second call does nothing.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Returns the last lines that the server wrote to its standard error, for diagnosis.
    fn diagnosis(&self) -> Option<String> {
        None
    }
}

/// A message to be sent.
#[derive(Debug, Clone)]
pub struct OutgoingMessage {
    /// The message, one JSON object without line breaks.
    pub body: Bytes,
    /// The kind of message.
    pub kind: MessageKind,
    /// The method; none for an answer to the server.
    pub method: Option<String>,
    /// The subject of the method (a tool name or URI), for `Mcp-Name`.
    pub name: Option<String>,
    /// The arguments that their schema wants in headers, for `Mcp-Param-…`: name and value.
    pub param_headers: Vec<(String, String)>,
}

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// A request, which is answered.
    Request(RequestId),
    /// A notification, which is not answered.
    Notification,
    /// An answer.
    Response,
}

/// The negotiated protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NegotiatedProtocol {
    /// The protocol revision.
    pub version: String,
    /// The era of the revision.
    pub era: McpEra,
}

/// The two eras of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum McpEra {
    /// 2024-11-05 to 2025-11-25: `initialize`, sessions, requests in both directions.
    Handshake,
    /// 2026-07-28 and later: every request is independent.
    Stateless,
}

/// An event from a connection.
#[derive(Debug)]
pub enum IncomingEvent {
    /// A message arrived.
    Message {
        /// The message.
        message: RpcMessage,
        /// The request on whose stream the message arrived, if any.
        request_id: Option<RequestId>,
    },
    /// A request will not be answered, although the connection may continue.
    Failed {
        /// The request.
        id: RequestId,
        /// The reason.
        error: TransportError,
    },
    /// Something that is not a message. It is counted and shown in the diagnosis.
    Garbage(String),
    /// The server no longer knows the session: the client must reconnect.
    SessionLost,
    /// Nothing more will arrive.
    Closed(Option<TransportError>),
}

/// Receives the events of a connection. It never blocks: the callback hands work over.
#[derive(Clone)]
pub struct IncomingSink(Arc<dyn Fn(IncomingEvent) + Send + Sync>);

impl IncomingSink {
    /// Creates a sink that passes events to `take`, which must not block.
    pub fn new(take: impl Fn(IncomingEvent) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// Delivers an event.
    pub fn push(&self, incoming: IncomingEvent) {
        (self.0)(incoming);
    }

    /// Delivers the messages in these bytes, or reports that they contain none.
    pub fn push_bytes(&self, bytes: &[u8], during: Option<RequestId>) {
        match super::jsonrpc::parse_messages(bytes) {
            Ok(messages) => {
                for message in messages {
                    self.push(IncomingEvent::Message {
                        message,
                        request_id: during,
                    });
                }
            }
            Err(error) => self.push(IncomingEvent::Garbage(error.to_string())),
        }
    }
}

impl fmt::Debug for IncomingSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IncomingSink")
    }
}
