//! What `prompts/get` answers: messages, each one part and who says it.

use serde_json::{Map, Value};

use super::part::{ContentPart, PartKind, merge_in_order};

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct McpPromptMessage {
    /// Who says it: `user` or `assistant`; empty if it was malformed.
    pub role: String,
    /// What is said.
    pub part: ContentPart,
    /// The message's other fields.
    pub extra: Map<String, Value>,
    order: Vec<String>,
}

impl McpPromptMessage {
    /// Reads one message. It never fails: a malformed one is one opaque part without a role.
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

    /// The message as the protocol writes it: the very one that was read.
    pub fn to_value(&self) -> Value {
        if self.role.is_empty() {
            return self.part.to_value();
        }
        let mut known = Map::new();
        known.insert("role".to_owned(), Value::String(self.role.clone()));
        known.insert("content".to_owned(), self.part.to_value());
        merge_in_order(known, &self.extra, &self.order)
    }

    /// The messages of a `prompts/get` result; none if it has none.
    pub fn from_result(result: &Value) -> Vec<Self> {
        let messages = result.get("messages").and_then(Value::as_array);
        messages
            .map(|all| all.iter().map(Self::from_value).collect())
            .unwrap_or_default()
    }

    /// The message as `OpenAI`'s chat takes it.
    pub fn to_openai(&self) -> Value {
        self.to_model_message(&self.part.to_openai())
    }

    /// The message as Anthropic takes it.
    pub fn to_anthropic(&self) -> Value {
        self.to_model_message(&self.part.to_anthropic())
    }

    fn to_model_message(&self, content: &Value) -> Value {
        // Models know two speakers; what is no assistant asks.
        let role = match self.role.as_str() {
            "assistant" => "assistant",
            _ => "user",
        };
        serde_json::json!({"role": role, "content": [content]})
    }
}
