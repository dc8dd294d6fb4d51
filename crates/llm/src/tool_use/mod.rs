//! One turn of a conversation in which a model may call tools: it calls some, or it answers.
//!
//! Models with native tools are asked natively, all others through the prompt; the result is the
//! same. Calls are validated and repaired here; the caller runs them.

mod parse;
mod prompted;
mod validate;

#[cfg(test)]
mod tests;

use deliberate_core::ellipsize;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::structured_output::unusable_reply;
use crate::{
    ChatMessage, ChatModel, FinishReason, ModelError, ModelReply, ModelRequest, OnStreamEvent,
    StreamEvent, StructuredError, StructuredOutput, ToolCall,
};

pub(crate) use prompted::tools_as_prompt;

/// Maximum number of tool calls in one turn; further calls are dropped.
pub const MAX_TOOL_CALLS: usize = 16;

/// How much of an unusable turn is quoted to the model.
const MAX_QUOTED_CHARS: usize = 2_000;

/// A model's text and its tool calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelTurn {
    /// The answer, if there are no calls; otherwise the text beside the calls, often empty.
    pub text: String,
    /// Calls of the request's tools, each with an object and a unique id.
    pub calls: Vec<ToolCall>,
}

impl ModelTurn {
    /// Returns the turn as a message for the rest of the conversation.
    pub fn to_message(&self) -> ChatMessage {
        ChatMessage::tool_calls(self.text.clone(), self.calls.clone())
    }
}

/// Asks for one turn. If it is unusable, the model is asked once more and told why.
pub async fn ask_turn(
    model: &dyn ChatModel,
    ask: ModelRequest,
    deadline: Instant,
) -> Result<StructuredOutput<ModelTurn>, StructuredError> {
    ask_with_retry(model, ask, deadline, None).await
}

/// Like [`ask_turn`], but passes the text to `on` as it arrives. With the tools in the prompt, only
/// the complete answer is passed.
pub async fn ask_turn_streaming(
    model: &dyn ChatModel,
    ask: ModelRequest,
    deadline: Instant,
    on: OnStreamEvent<'_>,
) -> Result<StructuredOutput<ModelTurn>, StructuredError> {
    ask_with_retry(model, ask, deadline, Some(on)).await
}

/// Why an attempt failed.
enum TurnAttemptError {
    NoReply(ModelError),
    /// The reply is unusable for this reason.
    Unusable(String),
}

/// Which attempt it is: the last one must use what came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AttemptKind {
    First,
    Last,
}

async fn ask_with_retry(
    chat_model: &dyn ChatModel,
    ask: ModelRequest,
    deadline: Instant,
    on: Option<OnStreamEvent<'_>>,
) -> Result<StructuredOutput<ModelTurn>, StructuredError> {
    let mut replies = Vec::with_capacity(1);
    let first = attempt(
        chat_model,
        &ask,
        AttemptKind::First,
        deadline,
        on,
        &mut replies,
    )
    .await;
    let result = match (first, replies.last()) {
        // A model that refuses once refuses again.
        (Err(TurnAttemptError::Unusable(reason)), Some(reply))
            if reply.finish_reason != FinishReason::Refusal =>
        {
            tracing::debug!(provider = chat_model.name(), ask = ask.key, "asking again");
            // The reason quotes the reply.
            tracing::debug!(target: "deliberate::content", reason, "a turn cannot be used");
            if let Some(on) = on {
                on(StreamEvent::Restart);
            }
            let ask = retry_request(ask, reply, &reason);
            attempt(
                chat_model,
                &ask,
                AttemptKind::Last,
                deadline,
                on,
                &mut replies,
            )
            .await
        }
        (first, _) => first,
    };
    let error = match result {
        Ok(value) => {
            let last = replies.last().map(|reply| reply.finish_reason);
            return Ok(StructuredOutput {
                is_cut: value.calls.is_empty() && last == Some(FinishReason::Length),
                value,
                replies,
            });
        }
        Err(TurnAttemptError::NoReply(error)) => error,
        Err(TurnAttemptError::Unusable(reason)) => {
            unusable_reply(chat_model.name(), reason, &replies)
        }
    };
    Err(StructuredError { error, replies })
}

async fn attempt(
    model: &dyn ChatModel,
    ask: &ModelRequest,
    which: AttemptKind,
    deadline: Instant,
    on: Option<OnStreamEvent<'_>>,
    replies: &mut Vec<ModelReply>,
) -> Result<ModelTurn, TurnAttemptError> {
    let reply = match (model.supports_tools(), on) {
        (true, Some(on)) => model.complete_streaming(ask, deadline, on).await,
        (true, None) => model.complete(ask, deadline).await,
        (false, _) => model
            .complete(&tools_as_prompt(ask), deadline)
            .await
            .map(|reply| ModelReply {
                tools_in_prompt: true,
                ..reply
            }),
    };
    let reply = reply.map_err(TurnAttemptError::NoReply)?;
    let turn = parse::parse_turn(&reply, ask, which);
    if let (Ok(turn), Some(on), true) = (&turn, on, reply.tools_in_prompt)
        && !turn.text.is_empty()
    {
        on(StreamEvent::Text(turn.text.clone()));
    }
    replies.push(reply);
    turn.map_err(TurnAttemptError::Unusable)
}

/// Returns the second request: the first one with the reason, as plain text, because results cannot
/// be given to an invalid call.
fn retry_request(mut ask: ModelRequest, reply: &ModelReply, reason: &str) -> ModelRequest {
    ask.key.push_str("/again");
    let mut shown = reply.text.trim().to_owned();
    if shown.is_empty() && !reply.calls.is_empty() {
        shown = prompted::render_calls(&reply.calls);
    }
    let shown = ellipsize(&shown, MAX_QUOTED_CHARS);
    if !shown.is_empty() {
        ask.messages.push(ChatMessage::assistant(shown));
    }
    let cut = if reply.finish_reason == FinishReason::Length {
        format!(
            " It was cut off at the limit of {} tokens: say less at once.",
            ask.max_tokens
        )
    } else {
        String::new()
    };
    let wanted = if validate::tools_allowed(&ask) {
        "Call the functions you need rightly, or answer."
    } else {
        "Answer now, from what you have; nothing can be called any more."
    };
    ask.messages.push(ChatMessage::user(format!(
        "Your last turn can't be used: {reason}.{cut} {wanted}"
    )));
    ask
}
