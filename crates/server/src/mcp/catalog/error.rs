//! Errors of the registry, as the protocol puts them.

use deliberate_core::truncate_chars;
use deliberate_toolkit::{EntityKind, ToolError};
use rmcp::{ErrorData, model::ErrorCode};
use serde_json::json;

use crate::mcp::call_result::error_sentence;

/// In the range that JSON-RPC leaves to servers.
const SERVER_BUSY: ErrorCode = ErrorCode(-32_000);

/// An error that has to do with an address. The SDK gives "not found" the code of the client's
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

/// An error that has to do with what the client sent otherwise.
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

/// Nobody learns when what stands at that address changes.
pub(super) fn not_subscribable(uri: &str) -> ErrorData {
    let data = Some(json!({ "uri": truncate_chars(uri, 200) }));
    let text = "changes of it are not told; read it again to see them";
    ErrorData::invalid_params(text, data)
}

/// There is nothing at that address.
pub(super) fn resource_not_found(uri: &str) -> ErrorData {
    let error = ToolError::NotFound {
        what: EntityKind::Resource,
        id: truncate_chars(uri, 200),
    };
    resource_error(uri, &error)
}
