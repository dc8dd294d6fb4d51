//! The result of a tool call, with the server that produced it.

use serde_json::Value;

/// The result of a tool call that may have run at a fallback server.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallResult {
    /// The result as the server wrote it; one with `isError` is a result too.
    pub result: Value,
    /// The server that produced the result.
    pub server: String,
}
