//! The successful outcomes of a call: an answer, or prompts for the client's model.

use deliberate_llm::{ChatMessage, ModelRequest};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use super::compact_prompts::CompactPrompts;

/// The successful outcome of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallOutcome {
    /// The call has ended with this output.
    Done(Value),
    /// The call is suspended until the client's model replies.
    NeedsReply(NeedsReply),
}

/// The prompts that the client's model has to answer before a suspended call can continue. They are
/// serialized without what the first of them share, which stands once before them.
#[derive(Debug, Clone, PartialEq)]
pub struct NeedsReply {
    /// The id of the suspended call.
    pub id: String,
    /// The prompts, each of which needs a reply.
    pub asks: Vec<ClientPrompt>,
    /// The next step for the client, in a sentence.
    pub next: String,
}

impl NeedsReply {
    /// Returns the prompts without what the first of them share.
    pub fn compact(&self) -> CompactPrompts {
        CompactPrompts::new(&self.asks)
    }
}

impl Serialize for NeedsReply {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let CompactPrompts { shared, asks } = self.compact();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        if let Some(system) = shared {
            map.serialize_entry("system", &system)?;
        }
        map.serialize_entry("asks", &asks)?;
        map.serialize_entry("next", &self.next)?;
        map.end()
    }
}

/// A prompt for the client's model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientPrompt {
    /// The key of the model request.
    pub key: String,
    /// The system prompt; empty if it stands before several prompts that share it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// The conversation.
    pub messages: Vec<ChatMessage>,
    /// The JSON schema of the reply; null for text with its fields, which the system prompt names.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub schema: Value,
    /// The token limit of the reply, for a client that forwards the prompt to a model.
    #[serde(skip)]
    pub max_tokens: u32,
    /// The sampling temperature for that model, 0 to 1.
    #[serde(skip)]
    pub temperature: f64,
}

impl From<ModelRequest> for ClientPrompt {
    fn from(ask: ModelRequest) -> Self {
        Self {
            key: ask.key,
            system: ask.system,
            messages: ask.messages,
            schema: ask.schema,
            max_tokens: ask.max_tokens,
            temperature: ask.temperature,
        }
    }
}
