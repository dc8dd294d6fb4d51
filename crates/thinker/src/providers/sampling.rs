//! The client's own model, asked by MCP sampling.
//!
//! This crate knows no MCP: the server gives it a [`SamplingPeer`].

use std::{borrow::Cow, sync::Arc};

use futures::future::BoxFuture;
use tokio::time::{Instant, timeout_at};

use super::{plain, system_with_schema};
use crate::{Ask, Finish, Message, Reply, ThinkError, Thinker};

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
    pub messages: Vec<Message>,
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

impl Thinker for Sampling {
    fn name(&self) -> &'static str {
        "sampling"
    }

    fn think<'a>(
        &'a self,
        ask: &'a Ask,
        deadline: Instant,
    ) -> BoxFuture<'a, Result<Reply, ThinkError>> {
        Box::pin(async move {
            let started = Instant::now();
            let ask = plain(ask);
            let request = SamplingRequest {
                system: system_with_schema(&ask.system, &ask.schema),
                messages: ask.messages.clone(),
                max_tokens: ask.max_tokens,
                temperature: ask.temperature,
            };
            let reply = timeout_at(deadline, self.peer.create_message(request))
                .await
                .map_err(|_| ThinkError::Timeout {
                    provider: self.name().to_owned(),
                    after: started.elapsed(),
                })?
                .map_err(|reason| ThinkError::Unavailable {
                    provider: self.name().to_owned(),
                    reason,
                    attempts: 1,
                })?;
            Ok(Reply {
                text: reply.text,
                finish: finish(reply.stop_reason.as_deref()),
                model: reply.model,
                described: matches!(ask, Cow::Owned(_)),
                ..Reply::default()
            })
        })
    }
}

fn finish(stop_reason: Option<&str>) -> Finish {
    match stop_reason {
        Some("maxTokens" | "max_tokens" | "length") => Finish::Length,
        Some("refusal") => Finish::Refusal,
        _ => Finish::Stop,
    }
}
