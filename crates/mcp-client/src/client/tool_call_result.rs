//! The result of a tool call, with the server that produced it.

use serde_json::{Value, json};

/// The result of a tool call that may have run at a fallback server.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallResult {
    /// The result as the server wrote it; one with `isError` is a result too.
    pub result: Value,
    /// The server that produced the result.
    pub server: String,
}

impl ToolCallResult {
    /// Removes structured content that violates the tool's own output schema, because clients reject
    /// the whole result for it. Its other content is kept, and a note says what is missing; as an
    /// error, because clients require valid structured content of a success.
    pub fn without_structured_content(mut self, violation: &str) -> Self {
        let Some(fields) = self.result.as_object_mut() else {
            return self;
        };
        let invalid = fields.shift_remove("structuredContent").unwrap_or_default();
        let note = format!(
            "The tool answered, but its structured content is left out: {violation}. Check before \
             calling it again."
        );
        let content = fields
            .entry("content")
            .or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(blocks) = content {
            if blocks.is_empty() {
                blocks.push(json!({ "type": "text", "text": invalid.to_string() }));
            }
            blocks.push(json!({ "type": "text", "text": note }));
        }
        fields.insert("isError".to_owned(), true.into());
        self
    }
}
