//! The client's own model, asked through MCP sampling.
//!
//! This crate does not know MCP: the server passes in a [`SamplingPeer`].

use std::{borrow::Cow, sync::Arc};

use deliberate_core::ellipsize;
use futures::future::BoxFuture;
use tokio::time::{Instant, timeout_at};

use super::{system_with_schema, without_native_tools};
use crate::{ChatMessage, ChatModel, FinishReason, ModelError, ModelReply, ModelRequest};

/// Longest reason of a client for an error.
const MAX_REASON_CHARS: usize = 500;

/// A client that offers its model through sampling.
pub trait SamplingPeer: Send + Sync {
    /// Sends one sampling request. Dropping the future cancels it.
    fn create_message(
        &self,
        request: SamplingRequest,
    ) -> BoxFuture<'_, Result<SamplingReply, SamplingError>>;
}

/// Failure of a sampling request. The texts are sentences for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SamplingError {
    /// The client answered with an error: it does not sample, or its user rejected the request.
    Declined(String),
    /// The client did not answer, or not with a message.
    Failed(String),
}

/// Parameters of `sampling/createMessage`.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplingRequest {
    /// System prompt, with the schema of the answer.
    pub system: String,
    /// Conversation, oldest message first.
    pub messages: Vec<ChatMessage>,
    /// Maximum number of tokens the model may write.
    pub max_tokens: u32,
    /// Sampling temperature, 0 to 1.
    pub temperature: f64,
}

/// Result of `sampling/createMessage`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SamplingReply {
    /// Text of the message.
    pub text: String,
    /// Model, as named by the client.
    pub model: Option<String>,
    /// Stop reason: `endTurn`, `maxTokens`…
    pub stop_reason: Option<String>,
}

/// Chat model of the client, reached through sampling.
pub struct Sampling {
    peer: Arc<dyn SamplingPeer>,
}

impl std::fmt::Debug for Sampling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sampling").finish_non_exhaustive()
    }
}

impl Sampling {
    /// Creates a model that sends its requests to `peer`.
    pub fn new(peer: Arc<dyn SamplingPeer>) -> Self {
        Self { peer }
    }
}

impl ChatModel for Sampling {
    fn name(&self) -> &'static str {
        "sampling"
    }

    fn complete<'a>(
        &'a self,
        ask: &'a ModelRequest,
        deadline: Instant,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let started = Instant::now();
            let ask = without_native_tools(ask);
            let request = SamplingRequest {
                system: system_with_schema(&ask.system, &ask.schema),
                messages: ask.messages.clone(),
                max_tokens: ask.max_tokens,
                temperature: ask.temperature,
            };
            let reply = timeout_at(deadline, self.peer.create_message(request))
                .await
                .map_err(|_| ModelError::Timeout {
                    provider: self.name().to_owned(),
                    after: started.elapsed(),
                })?
                .map_err(|error| match error {
                    SamplingError::Declined(reason) => ModelError::Declined {
                        reason: ellipsize(&reason, MAX_REASON_CHARS),
                    },
                    SamplingError::Failed(reason) => ModelError::Unavailable {
                        provider: self.name().to_owned(),
                        reason: ellipsize(&reason, MAX_REASON_CHARS),
                        attempts: 1,
                    },
                })?;
            Ok(ModelReply {
                text: reply.text,
                finish_reason: parse_finish_reason(reply.stop_reason.as_deref()),
                model: reply.model,
                tools_in_prompt: matches!(ask, Cow::Owned(_)),
                ..ModelReply::default()
            })
        })
    }
}

fn parse_finish_reason(stop_reason: Option<&str>) -> FinishReason {
    match stop_reason {
        Some("maxTokens" | "max_tokens" | "length") => FinishReason::Length,
        Some("refusal") => FinishReason::Refusal,
        _ => FinishReason::Stop,
    }
}
