//! Converts errors of the registry to protocol errors.

use deliberate_core::truncate_chars;
use deliberate_toolkit::{EntityKind, ToolError};
use rmcp::{ErrorData, model::ErrorCode};
use serde_json::json;

use crate::mcp::call_result::error_sentence;

/// In the range that JSON-RPC reserves for servers.
const SERVER_BUSY: ErrorCode = ErrorCode(-32_000);

/// The error for a resource request. The SDK chooses the code for "not found" by the client's
/// revision.
pub(super) fn resource_error(uri: &str, error: &ToolError) -> ErrorData {
    let data = Some(json!({ "uri": truncate_chars(uri, 200) }));
    let text = error_sentence(&error.clone().redacted());
    match error {
        ToolError::NotFound { .. } => ErrorData::resource_not_found(text, data),
        ToolError::Forbidden { .. } | ToolError::Invalid(_) | ToolError::LimitReached { .. } => {
            ErrorData::invalid_params(text, data)
        }
        _ => to_rpc_error(error),
    }
}

/// The error for any other request.
pub(super) fn to_rpc_error(error: &ToolError) -> ErrorData {
    let text = error_sentence(&error.clone().redacted());
    match error {
        ToolError::Invalid(_) | ToolError::Forbidden { .. } | ToolError::NotFound { .. } => {
            ErrorData::invalid_params(text, Some(error.to_json()))
        }
        ToolError::Overloaded { .. } | ToolError::Stopping => server_busy(text),
        _ => ErrorData::internal_error(text, None),
    }
}

pub(super) fn server_busy(text: impl Into<String>) -> ErrorData {
    ErrorData::new(SERVER_BUSY, text.into(), None)
}

/// The error for a resource that does not support subscriptions.
pub(super) fn not_subscribable(uri: &str) -> ErrorData {
    let data = Some(json!({ "uri": truncate_chars(uri, 200) }));
    let text = "it does not support subscriptions; read it again to see changes";
    ErrorData::invalid_params(text, data)
}

pub(super) fn resource_not_found(uri: &str) -> ErrorData {
    let error = ToolError::NotFound {
        what: EntityKind::RESOURCE,
        id: truncate_chars(uri, 200),
    };
    resource_error(uri, &error)
}
