//! JSON-RPC messages as MCP exchanges them. Payloads stay as the other side wrote them: a forwarded
//! message keeps every field and the order of its fields.

use std::borrow::Cow;

use deliberate_json_schema::unmark_large_integers;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, value::RawValue};

/// The maximum number of characters that are shown of a malformed error.
const MAX_SHOWN_CHARS: usize = 200;

/// The id of one of our requests on its connection.
pub type RequestId = u64;

/// The error codes that both sides know.
pub mod code {
    /// The message is not JSON.
    pub const PARSE: i64 = -32_700;
    /// The message is not a request.
    pub const INVALID_REQUEST: i64 = -32_600;
    /// The method does not exist.
    pub const METHOD_NOT_FOUND: i64 = -32_601;
    /// The parameters are invalid.
    pub const INVALID_PARAMS: i64 = -32_602;
    /// The other side failed.
    pub const INTERNAL: i64 = -32_603;
    /// The resource does not exist (handshake revisions).
    pub const RESOURCE_NOT_FOUND: i64 = -32_002;
    /// A header contradicts the body (2026-07-28).
    pub const HEADER_MISMATCH: i64 = -32_020;
    /// The request needs a capability that the client did not declare (2026-07-28).
    pub const MISSING_CAPABILITY: i64 = -32_021;
    /// The server does not support the revision (2026-07-28).
    pub const UNSUPPORTED_VERSION: i64 = -32_022;
    /// The user has to open a URL first.
    pub const URL_ELICITATION: i64 = -32_042;
}

/// A message from a server.
#[derive(Debug, Clone)]
pub enum RpcMessage {
    /// An answer to one of our requests.
    Response {
        /// The id of our request.
        id: RequestId,
        /// The result as it was written, or the error.
        outcome: Result<Box<RawValue>, RpcError>,
    },
    /// A request from the server.
    Request {
        /// The id to repeat in the answer.
        id: Value,
        /// The method.
        method: String,
        /// The parameters.
        params: Value,
    },
    /// A notification from the server.
    Notification {
        /// The method.
        method: String,
        /// The parameters.
        params: Value,
    },
}

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpcError {
    /// The error code.
    pub code: i64,
    /// A one-sentence description.
    #[serde(default)]
    pub message: String,
    /// Additional data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// The error of bytes that are not a JSON-RPC message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonRpcParseError(pub String);

#[derive(Deserialize)]
struct MessageEnvelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "keep_null")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Distinguishes a result of `null` from a missing result.
fn keep_null<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// Parses a message, or the messages of a batch (revision 2025-03-26 had batches).
pub fn parse_messages(bytes: &[u8]) -> Result<Vec<RpcMessage>, JsonRpcParseError> {
    let unreadable =
        |error: serde_json::Error| JsonRpcParseError(format!("not a JSON-RPC message: {error}"));
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        let batch: Vec<&RawValue> = serde_json::from_slice(bytes).map_err(unreadable)?;
        return batch
            .into_iter()
            .map(|one| {
                serde_json::from_str(one.get())
                    .map_err(unreadable)
                    .and_then(parse_message)
            })
            .collect();
    }
    let envelope = serde_json::from_slice(bytes).map_err(unreadable)?;
    Ok(vec![parse_message(envelope)?])
}

fn parse_message(envelope: MessageEnvelope<'_>) -> Result<RpcMessage, JsonRpcParseError> {
    let value = |raw: Option<&RawValue>| match raw {
        Some(raw) => serde_json::from_str(raw.get())
            .map_err(|error| JsonRpcParseError(format!("the parameters cannot be read: {error}"))),
        None => Ok(Value::Null),
    };
    match (envelope.method, envelope.id.filter(|id| id.get() != "null")) {
        (Some(method), Some(id)) => Ok(RpcMessage::Request {
            id: value(Some(id))?,
            method: method.into_owned(),
            params: value(envelope.params)?,
        }),
        (Some(method), None) => Ok(RpcMessage::Notification {
            method: method.into_owned(),
            params: value(envelope.params)?,
        }),
        (None, Some(id)) => {
            let id = parse_request_id(id).ok_or_else(|| {
                JsonRpcParseError("the answer has an id that this client did not send".to_owned())
            })?;
            let outcome = match (envelope.result, envelope.error) {
                (Some(result), None) => Ok(result.to_owned()),
                (_, Some(error)) => Err(parse_rpc_error(error)),
                (None, None) => {
                    return Err(JsonRpcParseError(
                        "neither a result nor an error".to_owned(),
                    ));
                }
            };
            Ok(RpcMessage::Response { id, outcome })
        }
        (None, None) => match envelope.error {
            Some(error) => Err(JsonRpcParseError(format!(
                "an error without an id: {}",
                parse_rpc_error(error).message
            ))),
            None => Err(JsonRpcParseError("neither a method nor an id".to_owned())),
        },
    }
}

/// Reads an error in any form: some servers send a string in place of the object.
fn parse_rpc_error(raw: &RawValue) -> RpcError {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| {
        let message = match serde_json::from_str(raw.get()) {
            Ok(Value::String(text)) => text,
            _ => raw.get().chars().take(MAX_SHOWN_CHARS).collect(),
        };
        RpcError::new(code::INTERNAL, message)
    })
}

/// Reads the id of an answer. Our ids are numbers; some servers return them as strings.
fn parse_request_id(id: &RawValue) -> Option<RequestId> {
    id.get().trim_matches('"').parse().ok()
}

/// Encodes a request.
pub fn encode_request(id: RequestId, method: &str, params: &Value) -> Vec<u8> {
    #[derive(Serialize)]
    struct RequestMessage<'a> {
        jsonrpc: &'static str,
        id: RequestId,
        method: &'a str,
        #[serde(skip_serializing_if = "Value::is_null")]
        params: &'a Value,
    }
    to_bytes(&RequestMessage {
        jsonrpc: "2.0",
        id,
        method,
        params,
    })
}

/// Encodes a notification.
pub fn encode_notification(method: &str, params: &Value) -> Vec<u8> {
    #[derive(Serialize)]
    struct NotificationMessage<'a> {
        jsonrpc: &'static str,
        method: &'a str,
        #[serde(skip_serializing_if = "Value::is_null")]
        params: &'a Value,
    }
    to_bytes(&NotificationMessage {
        jsonrpc: "2.0",
        method,
        params,
    })
}

/// Encodes an answer to a request from the server.
pub fn encode_response(id: &Value, outcome: &Result<Value, RpcError>) -> Vec<u8> {
    #[derive(Serialize)]
    struct ResponseMessage<'a> {
        jsonrpc: &'static str,
        id: &'a Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<&'a Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a RpcError>,
    }
    to_bytes(&ResponseMessage {
        jsonrpc: "2.0",
        id,
        result: outcome.as_ref().ok(),
        error: outcome.as_ref().err(),
    })
}

/// Serializes a message, with the integers for which marks stand; serialization of these types
/// cannot fail.
fn to_bytes(message: &impl Serialize) -> Vec<u8> {
    let text = serde_json::to_string(message).unwrap_or_default();
    unmark_large_integers(text).into_bytes()
}

impl RpcError {
    /// Creates an error.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }
}

#[cfg(test)]
mod tests;
