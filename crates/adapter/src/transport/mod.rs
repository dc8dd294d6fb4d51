//! How bytes get to a server and back. A [`Connector`] knows how a server is reached and holds
//! nothing open; each [`Link`] it opens is one live connection. Links know framing, headers and
//! streams; what the messages mean is the client's business.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use futures::future::BoxFuture;
use tokio::time::Instant;

use crate::{
    config::Reach,
    wire::{Message, RequestId},
};

mod error;
pub mod http;
pub mod sse;
pub mod stdio;
pub mod websocket;

pub use error::{Sent, TransportError};

/// The connector for a server.
pub(crate) fn connector(
    config: &crate::ServerConfig,
    auth: Option<Arc<dyn http::Authorizer>>,
) -> Result<Arc<dyn Connector>, TransportError> {
    let limits = &config.limits;
    if auth.is_none()
        && matches!(&config.reach, Reach::Http(http) | Reach::Sse(http) if http.auth.is_some())
    {
        return Err(TransportError::Unsendable {
            reason: "`auth` can't be used: this program was built without OAuth".to_owned(),
        });
    }
    Ok(match config.reach.clone() {
        Reach::Stdio(config) => Arc::new(stdio::StdioConnector::new(config, limits)),
        Reach::Http(config) => Arc::new(http::HttpConnector::new(config, limits, auth)?),
        Reach::Sse(config) => Arc::new(sse::SseConnector::new(config, limits, auth)?),
        Reach::WebSocket(config) => Arc::new(websocket::WebSocketConnector::new(config, limits)),
    })
}

/// Who logs us in, if the configuration says that we are to be.
#[cfg(feature = "oauth")]
pub(crate) fn authorizer(config: &crate::ServerConfig) -> Option<Arc<dyn http::Authorizer>> {
    use crate::oauth::{OAuth, OAuthOptions};
    let (Reach::Http(http) | Reach::Sse(http)) = &config.reach else {
        return None;
    };
    let options = OAuthOptions {
        auth: http.auth.clone()?,
        ..OAuthOptions::default()
    };
    Some(Arc::new(OAuth::new(http.url.clone(), options)))
}

/// Nobody does: this was built without.
#[cfg(not(feature = "oauth"))]
pub(crate) fn authorizer(_: &crate::ServerConfig) -> Option<Arc<dyn http::Authorizer>> {
    None
}

/// The connector to try where a server refuses the usual one.
pub(crate) fn older_connector(
    config: &crate::ServerConfig,
    auth: Option<Arc<dyn http::Authorizer>>,
) -> Option<Arc<dyn Connector>> {
    let Reach::Http(http) = &config.reach else {
        return None;
    };
    let older = sse::SseConnector::new(http.clone(), &config.limits, auth).ok()?;
    Some(Arc::new(older))
}

/// Knows how a server is reached.
pub trait Connector: Send + Sync + 'static {
    /// Opens a connection. What comes from the server is put into `inbox`, the last of it
    /// [`Incoming::Closed`], once. A failure here means that the server has seen no request.
    fn open(
        &self,
        inbox: Inbox,
        deadline: Instant,
    ) -> BoxFuture<'_, Result<Arc<dyn Link>, TransportError>>;

    /// Where that is, for people; without secrets.
    fn address(&self) -> String;
}

/// One live connection.
pub trait Link: Send + Sync + 'static {
    /// Sends a message. `Ok` means handed over, not answered: an answer, or that there will be
    /// none ([`Incoming::Failed`]), comes through the inbox. Messages of one caller keep their
    /// order; a slow server holds up who sends, not who waits for other answers. An error says
    /// whether the message may have arrived.
    fn send(&self, outgoing: Outgoing) -> BoxFuture<'_, Result<(), TransportError>>;

    /// What the two sides agreed on; goes along with what is sent from now on, where the
    /// transport has a place for it.
    fn agreed(&self, agreed: &Agreed);

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
pub struct Outgoing {
    /// The message, one JSON object without line breaks.
    pub body: Bytes,
    /// What kind of message it is.
    pub kind: Sending,
    /// Its method; none for an answer to the server.
    pub method: Option<String>,
    /// What the method is about (a tool's name, an address), for `Mcp-Name`.
    pub name: Option<String>,
    /// Arguments that their schema wants in headers, for `Mcp-Param-…`: name and value.
    pub params: Vec<(String, String)>,
}

/// Kinds of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sending {
    /// Wants an answer.
    Request(RequestId),
    /// Wants none.
    Notification,
    /// Is one.
    Response,
}

/// What two sides agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    /// The revision.
    pub version: String,
    /// Which era that is.
    pub era: Era,
}

/// The two ways to speak the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// 2024-11-05 to 2025-11-25: `initialize`, sessions, requests both ways.
    Handshake,
    /// 2026-07-28 and later: every request stands alone.
    Stateless,
}

/// What comes from a server.
#[derive(Debug)]
pub enum Incoming {
    /// A message.
    Message {
        /// It.
        message: Message,
        /// On whose stream it came, if it came on that of a request.
        during: Option<RequestId>,
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
pub struct Inbox(Arc<dyn Fn(Incoming) + Send + Sync>);

impl Inbox {
    /// An inbox that is emptied by `take`, which must not block.
    pub fn new(take: impl Fn(Incoming) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// Puts something in.
    pub fn put(&self, incoming: Incoming) {
        (self.0)(incoming);
    }

    /// Puts the messages in that these bytes hold, or says that they hold none.
    pub fn put_bytes(&self, bytes: &[u8], during: Option<RequestId>) {
        match crate::wire::read(bytes) {
            Ok(messages) => {
                for message in messages {
                    self.put(Incoming::Message { message, during });
                }
            }
            Err(error) => self.put(Incoming::Garbage(error.to_string())),
        }
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inbox")
    }
}
