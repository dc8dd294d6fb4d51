//! Tools that a model may call: definitions, calls and results. This file does not know who runs
//! them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool that a model may call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// Name: letters, digits, `_` and `-`, at most 64, as providers require.
    pub name: String,
    /// What the tool does and when to call it.
    pub description: String,
    /// JSON Schema of the arguments, an object.
    pub parameters: Value,
}

/// A tool call of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Identifies the call within its conversation, so that its result can be matched.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments: an object, once the call is validated.
    pub arguments: Value,
    /// Data that the provider expects back with the call, unchanged; most providers have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Value>,
}

/// Result of a tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallOutput {
    /// Id of the call.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Text for the model.
    pub text: String,
    /// Whether the call failed; `text` then gives the reason.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Pictures for the model. Providers without tool use, and models that see none, get the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageData>,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageData {
    /// Media type, such as `image/png`.
    pub mime: String,
    /// Content in base64.
    pub data: String,
}

impl ToolCallOutput {
    /// Creates the result of a successful call.
    pub fn success(call: &ToolCall, text: impl Into<String>) -> Self {
        Self {
            id: call.id.clone(),
            name: call.name.clone(),
            text: text.into(),
            is_error: false,
            images: Vec::new(),
        }
    }

    /// Creates the result of a failed call.
    pub fn error(call: &ToolCall, text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::success(call, text)
        }
    }
}
