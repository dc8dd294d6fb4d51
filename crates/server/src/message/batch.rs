//! Batches: several messages in one JSON array. Only revision 2025-03-26 has them.

use rmcp::{
    RoleServer,
    model::{ClientRequest, JsonRpcMessage, ProtocolVersion},
    service::RxJsonRpcMessage,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    INVALID_REQUEST, IncomingMessage, MAX_MESSAGES_PER_LINE, RpcRejection, read_object, reject,
};

/// Tells whether a text is a JSON array instead of one message.
pub(crate) fn is_batch(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    text.trim_ascii_start().first() == Some(&b'[')
}

/// Returns the text of each message of a batch. An array that is no batch is rejected as a whole.
pub(crate) fn split_batch(text: &[u8]) -> Result<Vec<&str>, RpcRejection> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let items: Vec<&RawValue> = serde_json::from_slice(text).map_err(|error| {
        let message = format!("the batch is not valid JSON: {error}");
        RpcRejection::new(None, super::PARSE_ERROR, message)
    })?;
    if items.is_empty() {
        return Err(RpcRejection::invalid_message("the batch is empty"));
    }
    if items.len() > MAX_MESSAGES_PER_LINE {
        let message = format!("a batch has at most {MAX_MESSAGES_PER_LINE} messages");
        return Err(RpcRejection::invalid_message(&message));
    }
    Ok(items.into_iter().map(RawValue::get).collect())
}

/// Parses a line that is a batch; `None` if it is not one. It never fails: every fault becomes a
/// rejection.
pub(crate) fn read_batch_line(line: &[u8]) -> Option<Vec<IncomingMessage>> {
    if !is_batch(line) {
        return None;
    }
    let items = match split_batch(line) {
        Ok(items) => items,
        Err(rejection) => return Some(vec![IncomingMessage::Rejected(rejection)]),
    };
    let messages = items.into_iter().filter_map(|item| {
        if item.starts_with('{') {
            read_object(item)
        } else {
            Some(reject(None, INVALID_REQUEST, "a message is a JSON object"))
        }
    });
    Some(messages.collect())
}

/// The requested revision of an `initialize` request, as a tree of the fields that lead to it.
#[derive(Deserialize)]
struct InitializeEnvelope {
    params: InitializeVersion,
}

#[derive(Deserialize)]
struct InitializeVersion {
    #[serde(rename = "protocolVersion")]
    protocol_version: ProtocolVersion,
}

/// Tells whether the text of an `initialize` request asks for the revision with batches.
pub(crate) fn requests_batches(initialize: &[u8]) -> bool {
    let envelope = serde_json::from_slice::<InitializeEnvelope>(initialize);
    envelope.is_ok_and(|it| it.params.protocol_version == ProtocolVersion::V_2025_03_26)
}

/// Tells whether a message opens a conversation in the revision with batches; `None` if it opens
/// none.
pub(crate) fn opens_with_batches(message: &RxJsonRpcMessage<RoleServer>) -> Option<bool> {
    match message {
        JsonRpcMessage::Request(request) => match &request.request {
            ClientRequest::InitializeRequest(initialize) => {
                Some(initialize.params.protocol_version == ProtocolVersion::V_2025_03_26)
            }
            _ => None,
        },
        _ => None,
    }
}
