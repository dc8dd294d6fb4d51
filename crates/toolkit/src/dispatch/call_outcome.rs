//! How a call ends that ends well: with its answer, or with what its client has to think about.

use deliberate_llm::{ChatMessage, ModelRequest};
use serde::Serialize;
use serde_json::Value;

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub enum CallOutcome {
    /// With its output.
    Done(Value),
    /// It waits for the client's model to think.
    NeedsReply(NeedsReply),
}

/// What the client's model has to think about before a call can go on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NeedsReply {
    /// Names the suspended call.
    pub id: String,
    /// What to think about, each with a reply of its own.
    pub asks: Vec<ClientPrompt>,
    /// What to do, in a sentence.
    pub next: String,
}

/// One ask, as a client's model reads it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientPrompt {
    /// Names it.
    pub key: String,
    /// The instructions.
    pub system: String,
    /// What it is about.
    pub messages: Vec<ChatMessage>,
    /// What the reply must look like.
    pub schema: Value,
    /// The most the reply may have, for a client that asks a model with it.
    #[serde(skip)]
    pub max_tokens: u32,
    /// How freely that model may write, 0 to 1.
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
