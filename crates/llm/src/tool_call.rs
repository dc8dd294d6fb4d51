//! Functions a model may call: what it is told of them, what it called, what came of it. Who runs
//! them is not known here.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something a model may call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// Its name: letters, digits, `_` and `-`, at most 64, as the providers have it.
    pub name: String,
    /// What it does and when to call it.
    pub description: String,
    /// The JSON Schema of its arguments: an object.
    pub parameters: Value,
}

/// A call a model wants made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Names the call within its conversation, so that its result finds it.
    pub id: String,
    /// The function.
    pub name: String,
    /// What it is called with: an object, once the call was checked.
    pub arguments: Value,
    /// What the provider wants back with the call, untouched; most want nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Value>,
}

/// What came of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallOutput {
    /// The call.
    pub id: String,
    /// The function.
    pub name: String,
    /// What the model is told.
    pub text: String,
    /// Whether it failed, and `text` says why.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

impl ToolCallOutput {
    /// What came of `call`.
    pub fn success(call: &ToolCall, text: impl Into<String>) -> Self {
        Self {
            id: call.id.clone(),
            name: call.name.clone(),
            text: text.into(),
            is_error: false,
        }
    }

    /// Why `call` failed.
    pub fn error(call: &ToolCall, text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::success(call, text)
        }
    }
}
