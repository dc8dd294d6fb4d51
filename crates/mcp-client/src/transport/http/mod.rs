//! Streamable HTTP in both eras: each message is a POST request, answered with JSON or an event
//! stream. The handshake era adds sessions, resumable streams and a GET stream for the server's own
//! messages. The transport does not know what messages mean.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;
use tokio::time::Instant;

use crate::{
    config::{HttpConfig, ServerLimits},
    transport::{Connector, IncomingSink, McpTransport, TransportError},
};

mod authorizer;
pub(crate) mod bounded_body;
mod client_transport;
pub(crate) mod error;
mod get_stream;
mod request;
pub(crate) mod sender;
mod session;
mod session_headers;

pub use authorizer::Authorizer;

use client_transport::HttpClientTransport;
use sender::HttpSender;

/// Connects to a server with streamable HTTP.
pub struct HttpConnector {
    sender: Arc<HttpSender>,
}

impl HttpConnector {
    /// Creates a connector. `auth` provides the bearer token, unless the configured headers contain
    /// one.
    pub fn new(
        config: HttpConfig,
        limits: &ServerLimits,
        auth: Option<Arc<dyn Authorizer>>,
    ) -> Result<Self, TransportError> {
        let exchange = Arc::new(HttpSender::new(config, limits, auth)?);
        Ok(Self { sender: exchange })
    }
}

impl Connector for HttpConnector {
    /// Creates the transport. Nothing is sent before the first message.
    fn open(
        &self,
        inbox: IncomingSink,
        _deadline: Instant,
    ) -> BoxFuture<'_, Result<Arc<dyn McpTransport>, TransportError>> {
        let link: Arc<dyn McpTransport> =
            Arc::new(HttpClientTransport::new(Arc::clone(&self.sender), inbox));
        Box::pin(std::future::ready(Ok(link)))
    }

    fn display_address(&self) -> String {
        self.sender.display_url()
    }
}

impl fmt::Debug for HttpConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpConnector({})", self.display_address())
    }
}

/// Returns true if a server that answered `initialize` with this error may support the older
/// transport, HTTP with server-sent events, at the same address.
pub fn looks_like_sse_only(error: &TransportError) -> bool {
    matches!(
        error,
        TransportError::Http {
            status: 400 | 404 | 405,
            ..
        }
    )
}
