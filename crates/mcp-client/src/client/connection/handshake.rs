//! Negotiates the protocol revision, once per connection, newest first.
//!
//! A server of 2026-07-28 answers `server/discover`. A server of the handshake revisions rejects it
//! or does not answer, and then receives `initialize`.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    McpConnection, McpRequest, RequestFailure, pending_requests::LostResponse,
    reconnect::new_connection_state,
};
use crate::{
    ClientError, ClientErrorKind,
    client::{McpClient, McpClientInner, ServerInfo},
    config::{ProtocolPreference, TransportConfig},
    jsonrpc::{RpcError, code},
    transport::{Connector, McpEra, NegotiatedProtocol, TransportError, http::looks_like_sse_only},
};

/// The revision of the stateless era that this client supports.
pub(crate) const STATELESS_VERSION: &str = "2026-07-28";
pub(crate) const HANDSHAKE_VERSION: &str = "2025-11-25";
const HANDSHAKE_VERSIONS: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The time that a server has to reject `server/discover`. Some servers do not answer unknown
/// methods at all.
const DISCOVER_TIMEOUT: Duration = Duration::from_secs(5);

/// The outcome of `server/discover`.
enum DiscoverOutcome {
    Ready(McpConnection),
    /// The server uses the handshake revisions. The connection can still be used.
    Legacy(McpConnection),
    /// The server seems to use the handshake revisions, and the connection is lost.
    Disconnected,
}

/// Opens a connection that is ready for requests. A server that rejects streamable HTTP may still
/// support the older HTTP+SSE transport at the same address.
pub(crate) async fn establish(
    client: &McpClient,
    before: Option<McpEra>,
) -> Result<McpConnection, ClientError> {
    let Some(older) = &client.inner.fallback_connector else {
        return negotiate(client, before).await;
    };
    if client.inner.uses_fallback_connector.load(Ordering::Relaxed) {
        return initialize(client, open_connection(client, older).await?).await;
    }
    let error = match negotiate(client, before).await {
        Ok(connection) => return Ok(connection),
        Err(error) => error,
    };
    let ClientErrorKind::Transport(refused) = &error.kind else {
        return Err(error);
    };
    if !looks_like_sse_only(refused) {
        return Err(error);
    }
    let connection = async { initialize(client, open_connection(client, older).await?).await };
    // If the fallback transport fails too, the error of the first transport is the useful one.
    let connection = connection.await.map_err(|_| error)?;
    client
        .inner
        .uses_fallback_connector
        .store(true, Ordering::Relaxed);
    Ok(connection)
}

async fn negotiate(
    client: &McpClient,
    before: Option<McpEra>,
) -> Result<McpConnection, ClientError> {
    let connector = &client.inner.connector;
    let speaks = match (client.config().protocol, before) {
        (ProtocolPreference::Auto, Some(McpEra::Handshake)) => ProtocolPreference::Handshake,
        (speaks, _) => speaks,
    };
    if speaks == ProtocolPreference::Handshake {
        return initialize(client, open_connection(client, connector).await?).await;
    }
    let connection = open_connection(client, connector).await?;
    match discover(client, connection, speaks == ProtocolPreference::Auto).await? {
        DiscoverOutcome::Ready(connection) => Ok(connection),
        // Over HTTP each request is independent, and a new transport carries nothing over from the
        // attempt.
        DiscoverOutcome::Legacy(connection)
            if !matches!(client.config().transport, TransportConfig::Http(_)) =>
        {
            let Err(error) = send_initialize(client, &connection).await else {
                return Ok(connection);
            };
            // A server that was slow to start has read `server/discover` by now and settled on the
            // newer era because of it.
            let settled = matches!(&error.kind, ClientErrorKind::Rpc(rpc) if rpc.code == code::UNSUPPORTED_VERSION);
            if !settled || !connection.is_live() {
                return Err(error);
            }
            match discover(client, connection, false).await? {
                DiscoverOutcome::Ready(connection) => Ok(connection),
                DiscoverOutcome::Legacy(_) | DiscoverOutcome::Disconnected => Err(error),
            }
        }
        DiscoverOutcome::Legacy(_) | DiscoverOutcome::Disconnected => {
            initialize(client, open_connection(client, connector).await?).await
        }
    }
}

async fn open_connection(
    client: &McpClient,
    connector: &Arc<dyn Connector>,
) -> Result<McpConnection, ClientError> {
    let shared = new_connection_state(client);
    let deadline = Instant::now() + client.config().limits.connect_timeout;
    let opening = connector.open(shared.incoming_sink(), deadline);
    let link = opening
        .await
        .map_err(|error| ClientError::new(client.name(), ClientErrorKind::Transport(error)))?;
    Ok(McpConnection::new(link, shared))
}

async fn discover(
    client: &McpClient,
    connection: McpConnection,
    may_be_older: bool,
) -> Result<DiscoverOutcome, ClientError> {
    connection.transport.set_protocol(&NegotiatedProtocol {
        version: STATELESS_VERSION.to_owned(),
        era: McpEra::Stateless,
    });
    let limit = client.config().limits.connect_timeout;
    let limit = if may_be_older {
        DISCOVER_TIMEOUT.min(limit / 2)
    } else {
        limit
    };
    let params = request_meta(
        &client.inner.handler.capabilities().to_json(),
        STATELESS_VERSION,
    );
    let params = Map::from_iter([("_meta".to_owned(), params)]);
    let ask = || connection.request(handshake_request("server/discover", params.clone(), limit));
    let mut answer = ask().await;
    // Several servers of different versions may share one address.
    if matches!(&answer, Err(RequestFailure::Lost(LostResponse::Rpc(error))) if supports_our_version(error))
    {
        answer = ask().await;
    }
    let refused = match answer {
        Ok(raw) => {
            let result: Value = serde_json::from_str(raw.get()).unwrap_or_default();
            let versions = result.get("supportedVersions").and_then(Value::as_array);
            let knows = |version: &&Value| version.as_str() == Some(STATELESS_VERSION);
            if versions.is_some_and(|all| all.iter().any(|version| knows(&version))) {
                connection.set_server_info(ServerInfo {
                    era: McpEra::Stateless,
                    version: STATELESS_VERSION.to_owned(),
                    info: result
                        .pointer("/_meta/io.modelcontextprotocol~1serverInfo")
                        .cloned()
                        .unwrap_or_default(),
                    capabilities: result.get("capabilities").cloned().unwrap_or_default(),
                    instructions: instructions(&result),
                });
                return Ok(DiscoverOutcome::Ready(connection));
            }
            malformed_error(
                client,
                "the server supports none of this client's protocol revisions",
            )
        }
        Err(RequestFailure::Lost(LostResponse::Rpc(error)))
            if matches!(error.code, code::MISSING_CAPABILITY | code::HEADER_MISMATCH) =>
        {
            return Err(connection_error(
                client,
                &connection,
                ClientErrorKind::Rpc(error.into()),
            ));
        }
        Err(RequestFailure::Lost(LostResponse::Transport(error)))
            if !is_legacy_rejection(&error) =>
        {
            return Err(connection_error(
                client,
                &connection,
                ClientErrorKind::Transport(error),
            ));
        }
        Err(unanswered) => connection_error(client, &connection, unanswered.into_kind()),
    };
    match may_be_older {
        false => Err(refused),
        true if connection.is_live() => Ok(DiscoverOutcome::Legacy(connection)),
        true => Ok(DiscoverOutcome::Disconnected),
    }
}

/// Returns true if the server lists our revision as supported in the error that rejects it.
fn supports_our_version(error: &RpcError) -> bool {
    let listed = error.data.as_ref().and_then(|data| data.get("supported"));
    let listed = listed.and_then(Value::as_array);
    error.code == code::UNSUPPORTED_VERSION
        && listed.is_some_and(|all| all.iter().any(|version| version == STATELESS_VERSION))
}

/// Returns true if an older server may answer `server/discover` with this error.
fn is_legacy_rejection(error: &TransportError) -> bool {
    match error {
        TransportError::Http { status, .. } => (400..500).contains(status) && *status != 429,
        TransportError::Closed { .. } | TransportError::Garbage { .. } => true,
        _ => false,
    }
}

async fn initialize(
    client: &McpClient,
    connection: McpConnection,
) -> Result<McpConnection, ClientError> {
    send_initialize(client, &connection).await?;
    Ok(connection)
}

/// Sends `initialize` to a server of the handshake revisions.
async fn send_initialize(
    client: &McpClient,
    connection: &McpConnection,
) -> Result<(), ClientError> {
    let params = Map::from_iter([
        ("protocolVersion".to_owned(), json!(HANDSHAKE_VERSION)),
        (
            "capabilities".to_owned(),
            client.inner.handler.capabilities().to_json(),
        ),
        ("clientInfo".to_owned(), client_info()),
    ]);
    let limit = client.config().limits.connect_timeout;
    let answer = connection
        .request(handshake_request("initialize", params, limit))
        .await
        .map_err(|unanswered| connection_error(client, connection, unanswered.into_kind()))?;
    let result: Value = serde_json::from_str(answer.get()).unwrap_or_default();
    let version = result.get("protocolVersion").and_then(Value::as_str);
    let Some(version) = version.filter(|version| HANDSHAKE_VERSIONS.contains(version)) else {
        let version: String = version.unwrap_or("none").chars().take(40).collect();
        let reason = format!(
            "the server answered with protocol revision {version:?}, which this client does not support"
        );
        return Err(malformed_error(client, &reason));
    };
    connection.set_server_info(ServerInfo {
        era: McpEra::Handshake,
        version: version.to_owned(),
        info: result.get("serverInfo").cloned().unwrap_or_default(),
        capabilities: result.get("capabilities").cloned().unwrap_or_default(),
        instructions: instructions(&result),
    });
    let ready = connection.notify("notifications/initialized", &Value::Null);
    ready
        .await
        .map_err(|error| connection_error(client, connection, ClientErrorKind::Transport(error)))
}

fn handshake_request(method: &str, params: Map<String, Value>, limit: Duration) -> McpRequest {
    McpRequest {
        method: method.to_owned(),
        params,
        name: None,
        headers: Vec::new(),
        response_timeout: Some(limit),
        total_timeout: Some(limit),
        progress: None,
        wants_progress: false,
        handler: None,
        // The protocol forbids cancelling the handshake.
        cancellable: false,
    }
}

/// Adds the `_meta` fields that every request of the stateless era carries to `params`.
pub(crate) fn with_meta(inner: &McpClientInner, side: &ServerInfo, mut params: Value) -> Value {
    if let Some(fields) = params.as_object_mut() {
        insert_meta(inner, side, fields);
    }
    params
}

/// Adds the `_meta` fields to the fields of the parameters.
pub(crate) fn insert_meta(
    inner: &McpClientInner,
    side: &ServerInfo,
    params: &mut Map<String, Value>,
) {
    if side.era != McpEra::Stateless {
        return;
    }
    let ours = request_meta(&inner.handler.capabilities().to_json(), &side.version);
    let place = params.entry("_meta").or_insert_with(|| json!({}));
    if let (Some(place), Value::Object(ours)) = (place.as_object_mut(), ours) {
        place.extend(ours);
    }
}

fn request_meta(capabilities: &Value, version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": client_info(),
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

fn client_info() -> Value {
    json!({ "name": "deliberate", "version": env!("CARGO_PKG_VERSION") })
}

fn instructions(result: &Value) -> Option<String> {
    let text = result.get("instructions").and_then(Value::as_str)?;
    Some(text.chars().take(20_000).collect())
}

fn malformed_error(client: &McpClient, reason: &str) -> ClientError {
    let reason = reason.to_owned();
    ClientError::new(client.name(), ClientErrorKind::Malformed { reason })
}

fn connection_error(
    client: &McpClient,
    connection: &McpConnection,
    kind: ClientErrorKind,
) -> ClientError {
    ClientError {
        diagnosis: connection.transport.diagnosis().map(Into::into),
        ..ClientError::new(client.name(), kind)
    }
}
