//! What a prompt can be given.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One argument of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ArgumentDefinition {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the prompt can't do without.
    pub required: bool,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: ArgumentType,
    /// What it is if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_value: Option<Value>,
    /// What it must be like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<ArgumentValidation>,
    /// The only values it may have; any if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_values: Vec<Value>,
}

/// What an argument is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArgumentType {
    /// Text.
    #[default]
    String,
    /// A number.
    #[serde(alias = "integer")]
    Number,
    /// True or false.
    Boolean,
    /// A JSON object.
    Object,
    /// A list; text is cut at its commas.
    Array,
}

/// What the text of an argument must be like.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ArgumentValidation {
    /// A regular expression that must match somewhere in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The fewest characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<usize>,
    /// The most characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<usize>,
    /// The only values it may have; the older place for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_values: Vec<Value>,
}
