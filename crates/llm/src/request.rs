//! What a model is asked, and what it replies.

use std::{borrow::Cow, collections::BTreeMap};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use crate::{ModelError, ToolCall, ToolCallOutput, ToolDefinition};

/// Asks a model. Implementations keep no state of a call: asking twice is two asks.
pub trait ChatModel: Send + Sync {
    /// Who thinks, for logs and records: `langbase`, `anthropic`, `ollama`, `client`…
    fn name(&self) -> &str;

    /// Asks once, as a caller sees it: retries of what can succeed happen inside, all before
    /// `deadline`. Dropping the future stops the exchange.
    fn complete<'a>(
        &'a self,
        ask: &'a ModelRequest,
        deadline: Instant,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>>;

    /// The same, telling `on` the text as it comes. What was told is the reply's text, unless the
    /// ask failed or the reply is [`ModelReply::tools_in_prompt`], of which nothing is told.
    fn complete_streaming<'a>(
        &'a self,
        ask: &'a ModelRequest,
        deadline: Instant,
        on: OnStreamEvent<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let reply = self.complete(ask, deadline).await?;
            if !reply.tools_in_prompt && !reply.text.is_empty() {
                on(StreamEvent::Text(reply.text.clone()));
            }
            Ok(reply)
        })
    }

    /// Whether it takes the functions of an ask as its provider has them. If not, they have to be
    /// described in words, which [`ask_turn`](super::ask_turn) does.
    fn supports_tools(&self) -> bool {
        false
    }

    /// Finds out whether the provider is there and takes our key, by asking for something that
    /// costs nothing. Fine where there is nothing to find out.
    fn check(&self, _deadline: Instant) -> BoxFuture<'_, Result<(), ModelError>> {
        Box::pin(async { Ok(()) })
    }
}

/// Who hears the pieces of a reply as they come. Called in the midst of the exchange, so it must
/// not block.
pub type OnStreamEvent<'a> = &'a (dyn Fn(StreamEvent) + Send + Sync);

/// A piece of a reply that is still being written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// More text.
    Text(String),
    /// What came so far could not be used: it is asked once more, and the text begins anew.
    Restart,
}

/// One question to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// Names this ask within its call, so that a call that is run again finds its reply.
    pub key: String,
    /// What the ask is for; providers choose a pipe or a model by it.
    pub purpose: Purpose,
    /// The standing instructions.
    pub system: String,
    /// The conversation, oldest first. Never empty.
    pub messages: Vec<ChatMessage>,
    /// The JSON Schema of the wanted answer: an object; `null` if the answer is free text.
    pub schema: Value,
    /// Whether an answer without JSON is an answer.
    pub plain_text: PlainText,
    /// The most the model may write.
    pub max_tokens: u32,
    /// How freely it may write, 0 to 1.
    pub temperature: f32,
    /// The provider's conversation to continue, as an earlier reply named it.
    pub thread: Option<String>,
    /// Values for a provider that keeps templates of its own.
    pub variables: BTreeMap<String, String>,
    /// What the model may call instead of answering.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<ToolDefinition>,
    /// Whether an answer is wanted now, and nothing may be called any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answer_now: bool,
}

impl Default for ModelRequest {
    /// An ask for free text, with nothing said yet.
    fn default() -> Self {
        Self {
            key: "ask".to_owned(),
            purpose: Purpose::new("chat"),
            system: String::new(),
            messages: Vec::new(),
            schema: Value::Null,
            plain_text: PlainText::IsTheAnswer,
            max_tokens: 1_000,
            temperature: 0.3,
            thread: None,
            variables: BTreeMap::new(),
            functions: Vec::new(),
            answer_now: false,
        }
    }
}

/// What an ask is for, in one lower-case word: `linear`, `got_score`…
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Purpose(Cow<'static, str>);

impl Purpose {
    /// A purpose known at compile time.
    pub const fn new(word: &'static str) -> Self {
        Self(Cow::Borrowed(word))
    }

    /// The word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What to do with an answer that has no JSON in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlainText {
    /// It is the answer: text for the field named by the answer's type.
    IsTheAnswer,
    /// It is not usable; ask again.
    IsRefused,
}

/// One message of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// Who speaks.
    pub role: ChatRole,
    /// What is said.
    pub text: String,
    /// What the model called, if it is the model who speaks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// What came of all that the message before called, if it is the user who speaks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ToolCallOutput>,
}

impl ChatMessage {
    /// Something the user says.
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            role: ChatRole::User,
            text: text.into(),
            ..Self::default()
        }
    }

    /// Something the model said.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self {
            role: ChatRole::Assistant,
            text: text.into(),
            ..Self::default()
        }
    }

    /// What the model called, and what it said to it.
    pub fn tool_calls(text: impl Into<String>, calls: Vec<ToolCall>) -> Self {
        Self {
            calls,
            ..Self::assistant(text)
        }
    }

    /// What came of all that the model called last.
    pub fn tool_results(results: Vec<ToolCallOutput>) -> Self {
        Self {
            results,
            ..Self::default()
        }
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatRole {
    /// The one who asks.
    #[default]
    User,
    /// The model.
    Assistant,
}

/// What came back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelReply {
    /// The model's text, as it wrote it.
    pub text: String,
    /// Why it stopped.
    pub finish_reason: FinishReason,
    /// The model that answered, as the provider names it.
    pub model: Option<String>,
    /// The pipe or endpoint that was asked, for the record.
    pub pipe: Option<String>,
    /// The provider's conversation, to continue it.
    pub thread: Option<String>,
    /// What it cost.
    pub usage: TokenUsage,
    /// What it wants called, as it said it: not yet checked.
    pub calls: Vec<ToolCall>,
    /// Whether the functions of the ask were put in words after all, so that what it calls stands
    /// in the text.
    pub tools_in_prompt: bool,
}

/// Why a model stopped writing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FinishReason {
    /// It was done, or the provider did not say.
    #[default]
    Stop,
    /// It ran into the limit of tokens, so the text may be cut off.
    Length,
    /// The provider withheld the answer.
    Refusal,
}

/// Tokens and money.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TokenUsage {
    /// Tokens sent.
    pub prompt_tokens: u64,
    /// Tokens received.
    pub completion_tokens: u64,
    /// US dollars, where the provider says or prices are set.
    pub cost_usd: Option<f64>,
}
