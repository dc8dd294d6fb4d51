//! The client's own model, asked by MCP sampling.
//!
//! This crate knows no MCP: the server gives it a [`SamplingPeer`].

use std::{borrow::Cow, sync::Arc};

use futures::future::BoxFuture;
use tokio::time::{Instant, timeout_at};

use super::{system_with_schema, without_native_tools};
use crate::{ChatMessage, ChatModel, FinishReason, ModelError, ModelReply, ModelRequest};

/// A client that lets its model be asked.
pub trait SamplingPeer: Send + Sync {
    /// Asks the client's model once. Dropping the future gives the request up. The error is a
    /// sentence for a person.
    fn create_message(
        &self,
        request: SamplingRequest,
    ) -> BoxFuture<'_, Result<SamplingReply, String>>;
}

/// What a client is asked for, as `sampling/createMessage` has it.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplingRequest {
    /// The standing instructions, with the schema of the answer.
    pub system: String,
    /// The conversation, oldest first.
    pub messages: Vec<ChatMessage>,
    /// The most the model may write.
    pub max_tokens: u32,
    /// How freely it may write, 0 to 1.
    pub temperature: f32,
}

/// What a client answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SamplingReply {
    /// The text of the message.
    pub text: String,
    /// The model, as the client names it.
    pub model: Option<String>,
    /// Why it stopped: `endTurn`, `maxTokens`…
    pub stop_reason: Option<String>,
}

/// Thinks with the client's model.
pub struct Sampling {
    peer: Arc<dyn SamplingPeer>,
}

impl std::fmt::Debug for Sampling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sampling").finish_non_exhaustive()
    }
}

impl Sampling {
    /// Asks through `peer`.
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
                .map_err(|reason| ModelError::Unavailable {
                    provider: self.name().to_owned(),
                    reason,
                    attempts: 1,
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
