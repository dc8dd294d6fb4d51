//! The messages that `prompts/get` returns, each with one part and a role.

use serde_json::{Map, Value};

use deliberate_mcp_client::content::merge_in_order;

use super::{ContentPart, PartKind, ToModelContent as _};

/// A message of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct McpPromptMessage {
    /// The role: `user` or `assistant`; empty if the message was malformed.
    pub role: String,
    /// The content.
    pub part: ContentPart,
    /// The message's other fields.
    pub extra: Map<String, Value>,
    order: Vec<String>,
}

impl McpPromptMessage {
    /// Reads a message. It never fails: a malformed message becomes one opaque part without a role.
    pub fn from_value(message: &Value) -> Self {
        let read = message.as_object().and_then(|fields| {
            let mut extra = fields.clone();
            let Some(Value::String(role)) = extra.shift_remove("role") else {
                return None;
            };
            let content = extra.shift_remove("content")?;
            Some(Self {
                role,
                part: ContentPart::from_value(&content),
                extra,
                order: fields.keys().cloned().collect(),
            })
        });
        read.filter(|it| !it.role.is_empty())
            .unwrap_or_else(|| Self {
                role: String::new(),
                part: PartKind::Opaque(message.clone()).into(),
                extra: Map::new(),
                order: Vec::new(),
            })
    }

    /// Writes the message in the protocol's form, as it was read.
    pub fn to_value(&self) -> Value {
        if self.role.is_empty() {
            return self.part.to_value();
        }
        let mut known = Map::new();
        known.insert("role".to_owned(), Value::String(self.role.clone()));
        known.insert("content".to_owned(), self.part.to_value());
        merge_in_order(known, &self.extra, &self.order)
    }

    /// Reads the messages of a `prompts/get` result.
    pub fn from_result(result: &Value) -> Vec<Self> {
        let messages = result.get("messages").and_then(Value::as_array);
        messages
            .map(|all| all.iter().map(Self::from_value).collect())
            .unwrap_or_default()
    }

    /// Converts to an `OpenAI` chat message.
    pub fn to_openai(&self) -> Value {
        self.to_model_message(&self.part.to_openai())
    }

    /// Converts to an Anthropic message.
    pub fn to_anthropic(&self) -> Value {
        self.to_model_message(&self.part.to_anthropic())
    }

    fn to_model_message(&self, content: &Value) -> Value {
        // Models have two roles; every role other than `assistant` becomes `user`.
        let role = match self.role.as_str() {
            "assistant" => "assistant",
            _ => "user",
        };
        serde_json::json!({"role": role, "content": [content]})
    }
}
