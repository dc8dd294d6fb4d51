//! Results and errors of requests, and their messages.

use serde_json::{Value, json};

/// The result or the error of a request.
pub(crate) type RpcResult = Result<Value, RpcFailure>;

/// Error codes.
pub(crate) mod code {
    pub(crate) const INVALID_REQUEST: i64 = -32_600;
    pub(crate) const METHOD_NOT_FOUND: i64 = -32_601;
    pub(crate) const INVALID_PARAMS: i64 = -32_602;
    pub(crate) const INTERNAL: i64 = -32_603;
    pub(crate) const RESOURCE_NOT_FOUND: i64 = -32_002;
    pub(crate) const HEADER_MISMATCH: i64 = -32_020;
    pub(crate) const UNSUPPORTED_VERSION: i64 = -32_022;
}

/// A protocol error.
#[derive(Debug)]
pub(crate) struct RpcFailure {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Value,
}

impl RpcFailure {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: Value::Null,
        }
    }

    pub(crate) fn unknown_method(method: &str) -> Self {
        Self::new(code::METHOD_NOT_FOUND, format!("no method {method:?}"))
    }
}

/// Builds the message that answers a request.
pub(crate) fn response_message(id: &Value, answer: &RpcResult) -> Value {
    match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(refusal) => {
            let mut error = json!({ "code": refusal.code, "message": refusal.message });
            if !refusal.data.is_null() {
                error["data"] = refusal.data.clone();
            }
            json!({ "jsonrpc": "2.0", "id": id, "error": error })
        }
    }
}

/// Builds a tool result with one text.
pub(crate) fn text_result(text: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": text.into() }] })
}
