//! HTTP with server-sent events, the transport of 2024-11-05: one stream carries all messages from
//! the server and begins with the URL that messages are posted to. The transport does not know what
//! messages mean.

use std::{fmt, sync::Arc};

use deliberate_http_client::{SseParser, SseParserEvent};
use futures::future::BoxFuture;
use reqwest::{Method, Response, header::HeaderMap};
use tokio::time::Instant;
use url::Url;

use crate::{
    config::{HttpConfig, ServerLimits},
    transport::{Connector, IncomingSink, McpTransport, TransportError},
};

mod client_transport;

use super::http::{
    Authorizer,
    bounded_body::{self, BodyKind},
    error,
    sender::{HttpSender, OutgoingHttpRequest},
};
use client_transport::SseClientTransport;

/// The maximum length of the endpoint URL.
const MAX_ENDPOINT: usize = 4096;

/// Connects to a server with HTTP and server-sent events.
pub struct SseConnector {
    sender: Arc<HttpSender>,
}

impl SseConnector {
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

    async fn connect(&self, inbox: IncomingSink) -> Result<Arc<dyn McpTransport>, TransportError> {
        let exchange = Arc::clone(&self.sender);
        let call = OutgoingHttpRequest {
            method: Method::GET,
            url: exchange.url.clone(),
            headers: HeaderMap::new(),
            body: None,
            may_log_in: true,
        };
        let mut response = exchange.send(call).await.map_err(mark_unsent)?;
        if !response.status().is_success() {
            return Err(error::read_status_error(response, &exchange.secrets())
                .await
                .error);
        }
        if bounded_body::body_kind(&response) != BodyKind::Events {
            return Err(TransportError::Garbage {
                reason: "the answer is not an event stream; check `url`".to_owned(),
            });
        }
        let mut events = SseParser::new(exchange.limits.message_bytes);
        let endpoint = read_endpoint(&exchange, &mut response, &mut events, &inbox).await?;
        let link = SseClientTransport::new(exchange, endpoint, inbox, response, events);
        Ok(Arc::new(link))
    }
}

/// Reads the stream up to the endpoint URL.
async fn read_endpoint(
    exchange: &HttpSender,
    response: &mut Response,
    events: &mut SseParser,
    inbox: &IncomingSink,
) -> Result<Url, TransportError> {
    let mut said = None;
    while said.is_none() {
        let chunk = response.chunk().await;
        let chunk = chunk.map_err(|error| unreachable_error(error::innermost_reason(&error)))?;
        let bytes =
            chunk.ok_or_else(|| unreachable_error("the stream ended before the endpoint event"))?;
        let mut take = |event: &SseParserEvent<'_>| match event.name {
            b"endpoint" => said = said.take().or_else(|| Some(event.data.to_vec())),
            _ => client_transport::handle_event(event, inbox),
        };
        let limit = exchange.limits.message_bytes;
        events
            .feed(&bytes, &mut take)
            .map_err(|_| TransportError::TooLarge { limit })?;
    }
    let address = said.filter(|said| said.len() <= MAX_ENDPOINT);
    let url = address
        .and_then(|said| String::from_utf8(said).ok())
        .and_then(|text| exchange.url.join(text.trim()).ok())
        .ok_or_else(|| TransportError::Garbage {
            reason: "the endpoint is not a valid URL".to_owned(),
        })?;
    if exchange.is_same_origin(&url) {
        return Ok(url);
    }
    Err(TransportError::Garbage {
        reason: format!(
            "the server wants messages posted to {}, which is not its own origin",
            url.origin().ascii_serialization()
        ),
    })
}

fn unreachable_error(reason: impl Into<String>) -> TransportError {
    TransportError::Unreachable {
        reason: reason.into(),
    }
}

/// Marks an error as unsent: a stream that breaks while it is opened has carried no message.
fn mark_unsent(error: TransportError) -> TransportError {
    match error {
        TransportError::Closed { reason, .. } => unreachable_error(reason),
        other => other,
    }
}

impl Connector for SseConnector {
    fn open(
        &self,
        inbox: IncomingSink,
        deadline: Instant,
    ) -> BoxFuture<'_, Result<Arc<dyn McpTransport>, TransportError>> {
        Box::pin(async move {
            let opened = tokio::time::timeout_at(deadline, self.connect(inbox)).await;
            opened.unwrap_or_else(|_| {
                let after = self.sender.limits.connect_timeout;
                Err(TransportError::ConnectTimeout { after })
            })
        })
    }

    fn display_address(&self) -> String {
        self.sender.display_url()
    }
}

impl fmt::Debug for SseConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SseConnector({})", self.display_address())
    }
}
