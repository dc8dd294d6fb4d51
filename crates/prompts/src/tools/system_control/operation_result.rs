//! The result of an operation.

use std::fmt::Display;

use deliberate_core::Change;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// The reply of `system_control`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ControlReply {
    /// The text to read.
    pub said: String,
    /// The same as fields, which differ by operation.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// The result of an operation.
pub(super) struct OperationResult {
    pub(super) reply: ControlReply,
    pub(super) changes: Vec<Change>,
}

impl OperationResult {
    /// Creates a result from a text and the fields of an object.
    pub(super) fn new(said: impl Into<String>, fields: Value) -> Self {
        let fields = match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        let text = said.into().trim_end().to_owned();
        Self {
            reply: ControlReply { said: text, fields },
            changes: Vec::new(),
        }
    }

    /// Adds the fields of another object.
    pub(super) fn with_fields(mut self, more: Value) -> Self {
        if let Value::Object(more) = more {
            self.reply.fields.extend(more);
        }
        self
    }

    /// Adds a change to commit.
    pub(super) fn with_change(mut self, change: Change) -> Self {
        self.changes.push(change);
        self
    }
}

/// Formats a number with its noun, like `1 thing` or `2 things`.
pub(super) fn pluralize(number: usize, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{ending}")
}

/// Lines of text.
#[derive(Default)]
pub(super) struct TextLines(String);

impl TextLines {
    pub(super) fn add(&mut self, line: impl Display) {
        self.0.push_str(&line.to_string());
        self.0.push('\n');
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }
}
