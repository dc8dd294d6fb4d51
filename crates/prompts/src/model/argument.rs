//! The arguments that a prompt declares.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An argument of a prompt, as declared in its file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ArgumentDefinition {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub required: bool,
    #[serde(rename = "type")]
    pub kind: ArgumentType,
    /// The value if the caller gives none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_value: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<ArgumentValidation>,
    /// The only values it may have; any if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_values: Vec<Value>,
}

/// The type of an argument.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArgumentType {
    #[default]
    String,
    #[serde(alias = "integer")]
    Number,
    Boolean,
    /// A JSON object.
    Object,
    /// A list; text is split at its commas.
    Array,
}

/// The rules for the text of an argument.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ArgumentValidation {
    /// A regular expression that must match somewhere in the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The minimum number of characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<usize>,
    /// The maximum number of characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<usize>,
    /// The only values it may have, in the legacy location.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_values: Vec<Value>,
}
