//! The successful outcomes of a call: an answer, or prompts for the client's model.

use deliberate_llm::{ChatMessage, ModelRequest};
use serde::Serialize;
use serde_json::Value;

/// The successful outcome of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallOutcome {
    /// The call has ended with this output.
    Done(Value),
    /// The call is suspended until the client's model replies.
    NeedsReply(NeedsReply),
}

/// The prompts that the client's model has to answer before a suspended call can continue.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NeedsReply {
    /// The id of the suspended call.
    pub id: String,
    /// The prompts, each of which needs a reply.
    pub asks: Vec<ClientPrompt>,
    /// The next step for the client, in a sentence.
    pub next: String,
}

/// A prompt for the client's model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientPrompt {
    /// The key of the model request.
    pub key: String,
    /// The system prompt.
    pub system: String,
    /// The conversation.
    pub messages: Vec<ChatMessage>,
    /// The JSON schema of the reply.
    pub schema: Value,
    /// The token limit of the reply, for a client that forwards the prompt to a model.
    #[serde(skip)]
    pub max_tokens: u32,
    /// The sampling temperature for that model, 0 to 1.
    #[serde(skip)]
    pub temperature: f32,
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
