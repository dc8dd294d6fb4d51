//! Errors of the registry, as the protocol puts them.

use deliberate_core::cut_to_chars;
use deliberate_toolkit::{Kind, ToolError};
use rmcp::{ErrorData, model::ErrorCode};
use serde_json::json;

use crate::face::answer::sentence;

/// In the range that JSON-RPC leaves to servers.
const SERVER_BUSY: ErrorCode = ErrorCode(-32_000);

/// An error that has to do with an address. The SDK gives "not found" the code of the client's
/// revision.
pub(super) fn about_uri(uri: &str, error: &ToolError) -> ErrorData {
    let data = Some(json!({ "uri": cut_to_chars(uri, 200) }));
    let text = sentence(&error.clone().outward());
    match error {
        ToolError::NotFound { .. } => ErrorData::resource_not_found(text, data),
        ToolError::Forbidden { .. } | ToolError::Invalid(_) | ToolError::LimitReached { .. } => {
            ErrorData::invalid_params(text, data)
        }
        _ => general(error),
    }
}

/// An error that has to do with what the client sent otherwise.
pub(super) fn general(error: &ToolError) -> ErrorData {
    let text = sentence(&error.clone().outward());
    match error {
        ToolError::Invalid(_) | ToolError::Forbidden { .. } | ToolError::NotFound { .. } => {
            ErrorData::invalid_params(text, Some(error.to_json()))
        }
        ToolError::Overloaded { .. } | ToolError::Stopping => busy(text),
        _ => ErrorData::internal_error(text, None),
    }
}

pub(super) fn busy(text: impl Into<String>) -> ErrorData {
    ErrorData::new(SERVER_BUSY, text.into(), None)
}

/// Nobody learns when what stands at that address changes.
pub(super) fn nothing_told(uri: &str) -> ErrorData {
    let data = Some(json!({ "uri": cut_to_chars(uri, 200) }));
    let text = "changes of it are not told; read it again to see them";
    ErrorData::invalid_params(text, data)
}

/// There is nothing at that address.
pub(super) fn nothing_at(uri: &str) -> ErrorData {
    let error = ToolError::NotFound {
        what: Kind::Resource,
        id: cut_to_chars(uri, 200),
    };
    about_uri(uri, &error)
}
