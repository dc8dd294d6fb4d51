//! How a server speaks: found out once a connection, newest first.
//!
//! A server of 2026-07-28 answers `server/discover`; one of the handshake revisions refuses it, or
//! says nothing, and is then greeted with `initialize`.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    Client, Inner, ServerSide,
    connect::shared,
    connection::{Asking, Connection, Unanswered},
    pending::Lost,
};
use crate::{
    Error, ErrorKind,
    config::{Reach, Speaks},
    transport::{Agreed, Connector, Era, TransportError, http::looks_like_sse_only},
    wire::{RpcError, code},
};

/// The revision of the stateless era that we speak.
pub(super) const STATELESS_VERSION: &str = "2026-07-28";
/// The newest handshake revision.
pub(super) const HANDSHAKE_VERSION: &str = "2025-11-25";
/// All handshake revisions.
const HANDSHAKE_VERSIONS: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// How long a server may take to say that it does not know `server/discover`. Some say nothing.
const PROBE: Duration = Duration::from_secs(5);

/// What came of asking a server to describe itself.
enum Discovered {
    Ready(Connection),
    /// It is of the other era. The connection can still be used.
    Older(Connection),
    /// It is of the other era, as it seems, and the connection is gone.
    Gone,
}

/// A connection that is ready for requests. A server that refuses streamable HTTP may still speak
/// the transport that was before it, at the same address.
pub(super) async fn connected(client: &Client, before: Option<Era>) -> Result<Connection, Error> {
    let Some(older) = &client.0.older else {
        return newest(client, before).await;
    };
    if client.0.is_older.load(Ordering::Relaxed) {
        return initialized(client, opened(client, older).await?).await;
    }
    let error = match newest(client, before).await {
        Ok(connection) => return Ok(connection),
        Err(error) => error,
    };
    let ErrorKind::Transport(refused) = &error.kind else {
        return Err(error);
    };
    if !looks_like_sse_only(refused) {
        return Err(error);
    }
    let connection = async { initialized(client, opened(client, older).await?).await };
    // What the first way said is what matters if the second leads nowhere either.
    let connection = connection.await.map_err(|_| error)?;
    client.0.is_older.store(true, Ordering::Relaxed);
    Ok(connection)
}

async fn newest(client: &Client, before: Option<Era>) -> Result<Connection, Error> {
    let connector = &client.0.connector;
    let speaks = match (client.config().speaks, before) {
        (Speaks::Auto, Some(Era::Handshake)) => Speaks::Handshake,
        (speaks, _) => speaks,
    };
    if speaks == Speaks::Handshake {
        return initialized(client, opened(client, connector).await?).await;
    }
    let connection = opened(client, connector).await?;
    match discovered(client, connection, speaks == Speaks::Auto).await? {
        Discovered::Ready(connection) => Ok(connection),
        // Over HTTP each request stands alone, and a new link knows nothing of the attempt.
        Discovered::Older(connection) if !matches!(client.config().reach, Reach::Http(_)) => {
            let Err(error) = greeted(client, &connection).await else {
                return Ok(connection);
            };
            // A server that was slow to start has read the first question by now, and settled on
            // the newer era by it.
            let settled =
                matches!(&error.kind, ErrorKind::Rpc(rpc) if rpc.code == code::UNSUPPORTED_VERSION);
            if !settled || !connection.is_live() {
                return Err(error);
            }
            match discovered(client, connection, false).await? {
                Discovered::Ready(connection) => Ok(connection),
                Discovered::Older(_) | Discovered::Gone => Err(error),
            }
        }
        Discovered::Older(_) | Discovered::Gone => {
            initialized(client, opened(client, connector).await?).await
        }
    }
}

async fn opened(client: &Client, connector: &Arc<dyn Connector>) -> Result<Connection, Error> {
    let shared = shared(client);
    let deadline = Instant::now() + client.config().limits.connect;
    let opening = connector.open(shared.inbox(), deadline);
    let link = opening
        .await
        .map_err(|error| Error::new(client.name(), ErrorKind::Transport(error)))?;
    Ok(Connection::new(link, shared))
}

async fn discovered(
    client: &Client,
    connection: Connection,
    may_be_older: bool,
) -> Result<Discovered, Error> {
    connection.link.agreed(&Agreed {
        version: STATELESS_VERSION.to_owned(),
        era: Era::Stateless,
    });
    let limit = client.config().limits.connect;
    let limit = if may_be_older {
        PROBE.min(limit / 2)
    } else {
        limit
    };
    let params = meta(&client.0.handler.offers().to_json(), STATELESS_VERSION);
    let params = Map::from_iter([("_meta".to_owned(), params)]);
    let ask = || connection.request(asking("server/discover", params.clone(), limit));
    let mut answer = ask().await;
    // Behind one address there may be several servers, not all of the same age.
    if matches!(&answer, Err(Unanswered::Lost(Lost::Rpc(error))) if lists_ours(error)) {
        answer = ask().await;
    }
    let refused = match answer {
        Ok(raw) => {
            let result: Value = serde_json::from_str(raw.get()).unwrap_or_default();
            let versions = result.get("supportedVersions").and_then(Value::as_array);
            let knows = |version: &&Value| version.as_str() == Some(STATELESS_VERSION);
            if versions.is_some_and(|all| all.iter().any(|version| knows(&version))) {
                connection.agree(ServerSide {
                    era: Era::Stateless,
                    version: STATELESS_VERSION.to_owned(),
                    info: result
                        .pointer("/_meta/io.modelcontextprotocol~1serverInfo")
                        .cloned()
                        .unwrap_or_default(),
                    capabilities: result.get("capabilities").cloned().unwrap_or_default(),
                    instructions: instructions(&result),
                });
                return Ok(Discovered::Ready(connection));
            }
            malformed(client, "it knows none of the revisions that we do")
        }
        Err(Unanswered::Lost(Lost::Rpc(error)))
            if matches!(error.code, code::MISSING_CAPABILITY | code::HEADER_MISMATCH) =>
        {
            return Err(failed(client, &connection, ErrorKind::Rpc(error.into())));
        }
        Err(Unanswered::Lost(Lost::Transport(error))) if !is_refusal(&error) => {
            return Err(failed(client, &connection, ErrorKind::Transport(error)));
        }
        Err(unanswered) => failed(client, &connection, unanswered.into_kind()),
    };
    match may_be_older {
        false => Err(refused),
        true if connection.is_live() => Ok(Discovered::Older(connection)),
        true => Ok(Discovered::Gone),
    }
}

/// Whether a server that refuses our revision says that it knows it.
fn lists_ours(error: &RpcError) -> bool {
    let listed = error.data.as_ref().and_then(|data| data.get("supported"));
    let listed = listed.and_then(Value::as_array);
    error.code == code::UNSUPPORTED_VERSION
        && listed.is_some_and(|all| all.iter().any(|version| version == STATELESS_VERSION))
}

/// Whether an older server may answer so when it is asked to describe itself.
fn is_refusal(error: &TransportError) -> bool {
    match error {
        TransportError::Http { status, .. } => (400..500).contains(status) && *status != 429,
        TransportError::Closed { .. } | TransportError::Garbage { .. } => true,
        _ => false,
    }
}

async fn initialized(client: &Client, connection: Connection) -> Result<Connection, Error> {
    greeted(client, &connection).await?;
    Ok(connection)
}

/// Greets a server of the handshake revisions.
async fn greeted(client: &Client, connection: &Connection) -> Result<(), Error> {
    let params = Map::from_iter([
        ("protocolVersion".to_owned(), json!(HANDSHAKE_VERSION)),
        (
            "capabilities".to_owned(),
            client.0.handler.offers().to_json(),
        ),
        ("clientInfo".to_owned(), client_info()),
    ]);
    let limit = client.config().limits.connect;
    let answer = connection
        .request(asking("initialize", params, limit))
        .await
        .map_err(|unanswered| failed(client, connection, unanswered.into_kind()))?;
    let result: Value = serde_json::from_str(answer.get()).unwrap_or_default();
    let version = result.get("protocolVersion").and_then(Value::as_str);
    let Some(version) = version.filter(|version| HANDSHAKE_VERSIONS.contains(version)) else {
        let version: String = version.unwrap_or("none").chars().take(40).collect();
        let reason = format!("it speaks revision {version:?}, which we do not know");
        return Err(malformed(client, &reason));
    };
    connection.agree(ServerSide {
        era: Era::Handshake,
        version: version.to_owned(),
        info: result.get("serverInfo").cloned().unwrap_or_default(),
        capabilities: result.get("capabilities").cloned().unwrap_or_default(),
        instructions: instructions(&result),
    });
    let ready = connection.notify("notifications/initialized", &Value::Null);
    ready
        .await
        .map_err(|error| failed(client, connection, ErrorKind::Transport(error)))
}

fn asking(method: &str, params: Map<String, Value>, limit: Duration) -> Asking {
    Asking {
        method: method.to_owned(),
        params,
        name: None,
        headers: Vec::new(),
        answer: Some(limit),
        longest: Some(limit),
        progress: None,
        wants_progress: false,
        handler: None,
        // The protocol forbids to cancel the handshake.
        cancellable: false,
    }
}

/// `params` with what every request of the stateless era carries.
pub(super) fn with_meta(inner: &Inner, side: &ServerSide, mut params: Value) -> Value {
    if let Some(fields) = params.as_object_mut() {
        put_meta(inner, side, fields);
    }
    params
}

/// The same, for the fields of the parameters.
pub(super) fn put_meta(inner: &Inner, side: &ServerSide, params: &mut Map<String, Value>) {
    if side.era != Era::Stateless {
        return;
    }
    let ours = meta(&inner.handler.offers().to_json(), &side.version);
    let place = params.entry("_meta").or_insert_with(|| json!({}));
    if let (Some(place), Value::Object(ours)) = (place.as_object_mut(), ours) {
        place.extend(ours);
    }
}

fn meta(capabilities: &Value, version: &str) -> Value {
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

fn malformed(client: &Client, reason: &str) -> Error {
    let reason = reason.to_owned();
    Error::new(client.name(), ErrorKind::Malformed { reason })
}

fn failed(client: &Client, connection: &Connection, kind: ErrorKind) -> Error {
    Error {
        diagnosis: connection.link.diagnosis().map(Into::into),
        ..Error::new(client.name(), kind)
    }
}
