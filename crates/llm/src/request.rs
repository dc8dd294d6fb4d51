//! Model requests and replies, and the trait of all models.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use crate::{ModelError, ToolCall, ToolCallOutput, ToolDefinition};

/// A model that answers requests. Implementations keep no state of a call: two requests are
/// independent.
pub trait ChatModel: Send + Sync {
    /// Returns the provider's name for logs and the invocation log: `langbase`, `anthropic`,
    /// `ollama`, `client`…
    fn name(&self) -> &str;

    /// Sends one request. Retries happen inside, all before `deadline`. Dropping the future cancels
    /// the exchange.
    fn complete<'a>(
        &'a self,
        ask: &'a ModelRequest,
        deadline: Instant,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>>;

    /// Like [`ChatModel::complete`], but passes the text to `on` as it arrives. That text is the
    /// reply's text, unless the request fails or the reply has [`ModelReply::tools_in_prompt`], for
    /// which nothing is streamed.
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

    /// Returns whether the provider accepts tools natively. If not, [`ask_turn`](super::ask_turn)
    /// describes them in the prompt.
    fn supports_tools(&self) -> bool {
        false
    }

    /// Returns whether pictures of tool results reach the model. It may still be one that sees none.
    fn accepts_images(&self) -> bool {
        false
    }

    /// Returns whether the replies come between calls, from the client's own model. Such a model is
    /// asked as rarely as possible, because each request costs its client a call.
    fn replies_between_calls(&self) -> bool {
        false
    }

    /// Returns whether a prompt that is stored at the provider may decide what a reply contains,
    /// whatever is asked. Such a reply may answer several requests at once, so that a second request
    /// is sent only after the first reply shows that it is needed.
    fn has_stored_prompts(&self) -> bool {
        false
    }

    /// Returns how long the provider refuses requests because of their rate, if that is so long that
    /// they fail at once.
    fn rate_limited_for(&self) -> Option<Duration> {
        None
    }

    /// Checks that the provider is reachable and accepts the API key, with a request that costs
    /// nothing. Succeeds where there is nothing to check.
    fn check(&self, _deadline: Instant) -> BoxFuture<'_, Result<(), ModelError>> {
        Box::pin(async { Ok(()) })
    }

    /// Returns what a person should know about who can see the requests at the provider, each a
    /// sentence with the next step. Costs nothing.
    fn privacy_notes(&self, _deadline: Instant) -> BoxFuture<'_, Result<Vec<String>, ModelError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// Callback for the pieces of a streamed reply. It is called during the exchange, so it must not
/// block.
pub type OnStreamEvent<'a> = &'a (dyn Fn(StreamEvent) + Send + Sync);

/// A piece of a streamed reply.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// More text.
    Text(String),
    /// The text so far was unusable: the request is repeated and the text starts over.
    Restart,
}

/// One request to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// Identifies the request within its call, so that a call that is run again finds its reply.
    pub key: String,
    /// Purpose of the request; providers choose a pipe or a model by it.
    pub purpose: Purpose,
    /// System prompt.
    pub system: String,
    /// Conversation, oldest message first. Never empty.
    pub messages: Vec<ChatMessage>,
    /// JSON Schema of the answer, an object; `null` if the answer is free text.
    pub schema: Value,
    /// Field of the answer that the model writes as free text, before the other fields. `None` if
    /// the whole answer is one JSON object. See [`ask_structured`](crate::ask_structured).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_field: Option<Cow<'static, str>>,
    /// Rewrites an answer in another shape before it is read.
    #[serde(skip)]
    pub normalizer: Option<ReplyNormalizer>,
    /// Whether an answer without JSON is accepted.
    pub plain_text: PlainText,
    /// Maximum number of tokens the model may write.
    pub max_tokens: u32,
    /// Sampling temperature, 0 to 1.
    pub temperature: f64,
    /// Provider's conversation to continue, as named by an earlier reply.
    pub thread: Option<String>,
    /// Values for a provider that stores templates itself.
    pub variables: BTreeMap<String, String>,
    /// Tools that the model may call instead of answering.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<ToolDefinition>,
    /// Whether the model must answer now, without further calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answer_now: bool,
    /// Random part of the tags around results of tools, for models that are told of them in words.
    #[serde(skip)]
    pub fence_nonce: u32,
}

impl Default for ModelRequest {
    /// Returns an empty request for free text.
    fn default() -> Self {
        Self {
            key: "ask".to_owned(),
            purpose: Purpose::new("chat"),
            system: String::new(),
            messages: Vec::new(),
            schema: Value::Null,
            text_field: None,
            normalizer: None,
            plain_text: PlainText::IsTheAnswer,
            max_tokens: 1_000,
            temperature: 0.3,
            thread: None,
            variables: BTreeMap::new(),
            functions: Vec::new(),
            answer_now: false,
            fence_nonce: 0,
        }
    }
}

/// Rewrites the JSON of an answer to the fields that were asked for; it gets the purpose of the
/// request. Some pipes answer in a shape of their own, whatever is asked.
#[derive(Clone, Copy)]
pub struct ReplyNormalizer(pub fn(&str, Value) -> Value);

impl std::fmt::Debug for ReplyNormalizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReplyNormalizer").finish_non_exhaustive()
    }
}

// Requests are compared by what they ask; how the answer is read is not part of it.
impl PartialEq for ReplyNormalizer {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl ModelRequest {
    /// Returns the JSON of an answer in the shape that was asked for.
    pub(crate) fn normalize(&self, answer: Value) -> Value {
        match self.normalizer {
            Some(ReplyNormalizer(rewrite)) => rewrite(self.purpose.as_str(), answer),
            None => answer,
        }
    }
}

/// Purpose of a request, one lower-case word: `linear`, `got_score`…
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Purpose(Cow<'static, str>);

impl Purpose {
    /// Creates a purpose known at compile time.
    pub const fn new(word: &'static str) -> Self {
        Self(Cow::Borrowed(word))
    }

    /// Returns the word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Treatment of an answer without JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlainText {
    /// The text is the answer, in the field that the answer's type names.
    IsTheAnswer,
    /// The text is rejected and the model is asked again.
    IsRefused,
}

/// One message of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// Author of the message.
    pub role: ChatRole,
    /// Text of the message.
    pub text: String,
    /// Tool calls, in a message of the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Results of all calls of the message before, in a message of the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ToolCallOutput>,
}

impl ChatMessage {
    /// Creates a message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            role: ChatRole::User,
            text: text.into(),
            ..Self::default()
        }
    }

    /// Creates a message of the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self {
            role: ChatRole::Assistant,
            text: text.into(),
            ..Self::default()
        }
    }

    /// Creates a message of the model with tool calls.
    pub fn tool_calls(text: impl Into<String>, calls: Vec<ToolCall>) -> Self {
        Self {
            calls,
            ..Self::assistant(text)
        }
    }

    /// Creates a message with the results of the last calls.
    pub fn tool_results(results: Vec<ToolCallOutput>) -> Self {
        Self {
            results,
            ..Self::default()
        }
    }
}

/// Author of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatRole {
    /// The user.
    #[default]
    User,
    /// The model.
    Assistant,
}

/// A model's reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelReply {
    /// The model's text, unchanged.
    pub text: String,
    /// What the model thought before it wrote the text, if the provider returns that separately;
    /// else empty.
    pub reasoning: String,
    /// Number of output tokens that went into the reasoning.
    pub reasoning_tokens: u64,
    /// Why the model stopped.
    pub finish_reason: FinishReason,
    /// Model that answered, as named by the provider.
    pub model: Option<String>,
    /// Pipe or endpoint that was asked, for the invocation log.
    pub pipe: Option<String>,
    /// Provider's conversation, to continue it.
    pub thread: Option<String>,
    /// Tokens used and their cost.
    pub usage: TokenUsage,
    /// Tool calls as the model wrote them, not yet validated.
    pub calls: Vec<ToolCall>,
    /// Whether the request's tools were described in the prompt after all, so that calls are in the
    /// text.
    pub tools_in_prompt: bool,
}

/// Why a model stopped writing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FinishReason {
    /// The model finished, or the provider gave no reason.
    #[default]
    Stop,
    /// The token limit was reached, so the text may be truncated.
    Length,
    /// The provider withheld the answer.
    Refusal,
}

/// Token counts and cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TokenUsage {
    /// Number of input tokens.
    pub prompt_tokens: u64,
    /// Number of output tokens.
    pub completion_tokens: u64,
    /// Cost in US dollars, if the provider reports it or prices are set.
    pub cost_usd: Option<f64>,
}
