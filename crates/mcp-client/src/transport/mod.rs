//! How bytes get to a server and back. A [`Connector`] knows how a server is reached and holds
//! nothing open; each [`McpTransport`] it opens is one live connection. Links know framing, headers and
//! streams; what the messages mean is the client's business.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use futures::future::BoxFuture;
use tokio::time::Instant;

use super::jsonrpc::{RequestId, RpcMessage};
use crate::config::TransportConfig;

mod error;
pub mod http;
pub mod sse;
pub(crate) mod sse_parser;
pub mod stdio;
pub mod websocket;

pub use error::{DeliveryStatus, TransportError};

/// The connector for a server.
pub(crate) fn build_connector(
    config: &crate::ServerConfig,
    auth: Option<Arc<dyn http::Authorizer>>,
) -> Result<Arc<dyn Connector>, TransportError> {
    let limits = &config.limits;
    if auth.is_none()
        && matches!(&config.transport, TransportConfig::Http(http) | TransportConfig::Sse(http) if http.auth.is_some())
    {
        return Err(TransportError::Unsendable {
            reason: "`auth` can't be used: this program was built without OAuth".to_owned(),
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

/// Who logs us in, if the configuration says that we are to be.
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

/// Nobody does: this was built without.
#[cfg(not(feature = "oauth"))]
pub(crate) fn build_authorizer(_: &crate::ServerConfig) -> Option<Arc<dyn http::Authorizer>> {
    None
}

/// The connector to try where a server refuses the usual one.
pub(crate) fn build_fallback_connector(
    config: &crate::ServerConfig,
    auth: Option<Arc<dyn http::Authorizer>>,
) -> Option<Arc<dyn Connector>> {
    let TransportConfig::Http(http) = &config.transport else {
        return None;
    };
    let older = sse::SseConnector::new(http.clone(), &config.limits, auth).ok()?;
    Some(Arc::new(older))
}

/// Knows how a server is reached.
pub trait Connector: Send + Sync + 'static {
    /// Opens a connection. What comes from the server is put into `inbox`, the last of it
    /// [`IncomingEvent::Closed`], once. A failure here means that the server has seen no request.
    fn open(
        &self,
        inbox: IncomingSink,
        deadline: Instant,
    ) -> BoxFuture<'_, Result<Arc<dyn McpTransport>, TransportError>>;

    /// Where that is, for people; without secrets.
    fn display_address(&self) -> String;
}

/// One live connection.
pub trait McpTransport: Send + Sync + 'static {
    /// Sends a message. `Ok` means handed over, not answered: an answer, or that there will be
    /// none ([`IncomingEvent::Failed`]), comes through the inbox. Messages of one caller keep their
    /// order; a slow server holds up who sends, not who waits for other answers. An error says
    /// whether the message may have arrived.
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, Result<(), TransportError>>;

    /// What the two sides agreed on; goes along with what is sent from now on, where the
    /// transport has a place for it.
    fn set_protocol(&self, agreed: &NegotiatedProtocol);

    /// The client no longer waits for this request. Says whether the server knows by that alone
    /// (its stream was closed), so that no notification is needed.
    fn abandon(&self, id: RequestId) -> bool;

    /// Ends the connection in good order: says goodbye where there is a way to, waits a little
    /// for the other side, then makes an end. Again is nothing.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// The last the server wrote beside the protocol (standard error), for diagnosis.
    fn diagnosis(&self) -> Option<String> {
        None
    }
}

/// One message to be sent.
#[derive(Debug, Clone)]
pub struct OutgoingMessage {
    /// The message, one JSON object without line breaks.
    pub body: Bytes,
    /// What kind of message it is.
    pub kind: MessageKind,
    /// Its method; none for an answer to the server.
    pub method: Option<String>,
    /// What the method is about (a tool's name, an address), for `Mcp-Name`.
    pub name: Option<String>,
    /// Arguments that their schema wants in headers, for `Mcp-Param-…`: name and value.
    pub param_headers: Vec<(String, String)>,
}

/// Kinds of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// Wants an answer.
    Request(RequestId),
    /// Wants none.
    Notification,
    /// Is one.
    Response,
}

/// What two sides agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NegotiatedProtocol {
    /// The revision.
    pub version: String,
    /// Which era that is.
    pub era: McpEra,
}

/// The two ways to speak the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum McpEra {
    /// 2024-11-05 to 2025-11-25: `initialize`, sessions, requests both ways.
    Handshake,
    /// 2026-07-28 and later: every request stands alone.
    Stateless,
}

/// What comes from a server.
#[derive(Debug)]
pub enum IncomingEvent {
    /// A message.
    Message {
        /// It.
        message: RpcMessage,
        /// On whose stream it came, if it came on that of a request.
        request_id: Option<RequestId>,
    },
    /// There will be no answer to this request, though the connection may live on.
    Failed {
        /// Which.
        id: RequestId,
        /// Why.
        error: TransportError,
    },
    /// Something that is no message; counted, and shown in diagnosis.
    Garbage(String),
    /// The server has forgotten the session: the connection must be made anew.
    SessionLost,
    /// Nothing more will come.
    Closed(Option<TransportError>),
}

/// Where a link puts what comes. Never blocks: what it calls hands work over.
#[derive(Clone)]
pub struct IncomingSink(Arc<dyn Fn(IncomingEvent) + Send + Sync>);

impl IncomingSink {
    /// An inbox that is emptied by `take`, which must not block.
    pub fn new(take: impl Fn(IncomingEvent) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// Puts something in.
    pub fn push(&self, incoming: IncomingEvent) {
        (self.0)(incoming);
    }

    /// Puts the messages in that these bytes hold, or says that they hold none.
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
