//! Opens a WebSocket: URL, headers, TLS, and the meaning of a rejection.

use deliberate_http_client::tls_config;
use http::{HeaderName, HeaderValue, Request};
use secrecy::ExposeSecret as _;
use tokio_tungstenite::{
    Connector, connect_async_tls_with_config,
    tungstenite::{
        Error,
        client::IntoClientRequest as _,
        error::{ProtocolError, SubProtocolError},
        protocol::WebSocketConfig,
    },
};

use super::ClientWebSocket;
use crate::{config::HttpConfig, transport::TransportError};

/// The subprotocol header.
const SUBPROTOCOL: (&str, &str) = ("sec-websocket-protocol", "mcp");

/// The maximum number of characters that are shown of a rejection.
const MAX_SHOWN_CHARS: usize = 200;

/// Connects, with frames and messages of at most this many bytes.
pub(super) async fn connect(
    config: &HttpConfig,
    limit: usize,
) -> Result<ClientWebSocket, TransportError> {
    let limits = WebSocketConfig::default()
        .max_message_size(Some(limit))
        .max_frame_size(Some(limit));
    let connector = if config.url.scheme() == "wss" {
        let config = tls_config().map_err(|error| TransportError::Unreachable {
            reason: format!("no secure connection is possible: {error}"),
        })?;
        Some(Connector::Rustls(config))
    } else {
        Some(Connector::Plain)
    };
    let open =
        |request| connect_async_tls_with_config(request, Some(limits), true, connector.clone());
    let opened = match open(build_request(config, true)?).await {
        // The server does not negotiate subprotocols, like many; only its messages matter.
        Err(Error::Protocol(ProtocolError::SecWebSocketSubProtocolError(
            SubProtocolError::NoSubProtocol,
        ))) => open(build_request(config, false)?).await,
        opened => opened,
    };
    opened.map(|(socket, _)| socket).map_err(handshake_error)
}

fn build_request(config: &HttpConfig, subprotocol: bool) -> Result<Request<()>, TransportError> {
    let unsendable = |reason: String| TransportError::Unsendable { reason };
    let mut request = config
        .url
        .as_str()
        .into_client_request()
        .map_err(|error| unsendable(format!("the URL cannot be used: {error}")))?;
    for (name, value) in &config.headers {
        let value = HeaderValue::try_from(value.expose_secret());
        let (Ok(name), Ok(mut value)) = (HeaderName::try_from(name), value) else {
            return Err(unsendable(format!("the header {name:?} cannot be sent")));
        };
        value.set_sensitive(true);
        request.headers_mut().insert(name, value);
    }
    if subprotocol {
        let (name, value) = SUBPROTOCOL;
        let value = HeaderValue::from_static(value);
        request.headers_mut().insert(name, value);
    }
    Ok(request)
}

fn handshake_error(error: Error) -> TransportError {
    match error {
        Error::Http(response) if matches!(response.status().as_u16(), 401 | 403) => {
            TransportError::Unauthorized {
                reason: format!("HTTP status {}", response.status().as_u16()),
                forbidden: response.status().as_u16() == 403,
            }
        }
        Error::Http(response) => TransportError::Http {
            status: response.status().as_u16(),
            message: response.body().as_deref().and_then(body_excerpt),
            retry_after: None,
        },
        Error::Protocol(error) => TransportError::Garbage {
            reason: format!("the server is not a WebSocket server: {error}"),
        },
        other => TransportError::Unreachable {
            reason: other.to_string(),
        },
    }
}

fn body_excerpt(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_SHOWN_CHARS)
        .collect();
    Some(line.trim().to_owned()).filter(|line| !line.is_empty())
}
