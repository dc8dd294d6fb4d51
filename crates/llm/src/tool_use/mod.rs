//! One turn of a conversation in which a model may call functions: it calls some, or it answers.
//!
//! Who has functions of their own is asked in their form, everybody else in words; either way the
//! same comes out. What it calls is checked and mended here, and run by whoever asked.

mod parse;
mod prompted;
mod validate;

#[cfg(test)]
mod tests;

use tokio::time::Instant;

use super::{structured_output::unusable_reply, truncate::truncate};
use crate::{
    ChatMessage, ChatModel, FinishReason, ModelError, ModelReply, ModelRequest, OnStreamEvent,
    StreamEvent, StructuredError, StructuredOutput, ToolCall,
};

pub(crate) use prompted::tools_as_prompt;

/// The most functions a model can call in one turn; what it calls beyond that is left out.
pub const MAX_TOOL_CALLS: usize = 16;

/// How much of a bad turn the model is shown again.
const MAX_QUOTED_CHARS: usize = 2_000;

/// What a model said and what it wants called.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelTurn {
    /// Its answer, if it calls nothing; else what it said to its calls, often nothing.
    pub text: String,
    /// What it calls: functions of the ask, each with an object and an id of its own.
    pub calls: Vec<ToolCall>,
}

impl ModelTurn {
    /// The turn as a message of the conversation that goes on.
    pub fn to_message(&self) -> ChatMessage {
        ChatMessage::tool_calls(self.text.clone(), self.calls.clone())
    }
}

/// Asks for one turn. A turn that can't be used is asked for once more, with what was wrong.
pub async fn ask_turn(
    thinker: &dyn ChatModel,
    ask: ModelRequest,
    deadline: Instant,
) -> Result<StructuredOutput<ModelTurn>, StructuredError> {
    ask_with_retry(thinker, ask, deadline, None).await
}

/// The same, telling `on` the text as it comes. Of a model that is asked in words only the answer
/// is told, when it is there.
pub async fn ask_turn_streaming(
    thinker: &dyn ChatModel,
    ask: ModelRequest,
    deadline: Instant,
    on: OnStreamEvent<'_>,
) -> Result<StructuredOutput<ModelTurn>, StructuredError> {
    ask_with_retry(thinker, ask, deadline, Some(on)).await
}

/// Why an attempt gave no turn.
enum TurnAttemptError {
    /// No reply came.
    NoReply(ModelError),
    /// A reply came, and this is wrong with it.
    Unusable(String),
}

/// Which attempt it is: the last has to make do with what came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AttemptKind {
    First,
    Last,
}

async fn ask_with_retry(
    thinker: &dyn ChatModel,
    ask: ModelRequest,
    deadline: Instant,
    on: Option<OnStreamEvent<'_>>,
) -> Result<StructuredOutput<ModelTurn>, StructuredError> {
    let mut replies = Vec::with_capacity(1);
    let first = attempt(
        thinker,
        &ask,
        AttemptKind::First,
        deadline,
        on,
        &mut replies,
    )
    .await;
    let result = match (first, replies.last()) {
        // Who refuses once refuses again.
        (Err(TurnAttemptError::Unusable(reason)), Some(reply))
            if reply.finish_reason != FinishReason::Refusal =>
        {
            tracing::debug!(provider = thinker.name(), ask = ask.key, "asking again");
            // The reason quotes what was said.
            tracing::debug!(target: "deliberate::content", reason, "a turn can't be used");
            if let Some(on) = on {
                on(StreamEvent::Restart);
            }
            let ask = retry_request(ask, reply, &reason);
            attempt(thinker, &ask, AttemptKind::Last, deadline, on, &mut replies).await
        }
        (first, _) => first,
    };
    let error = match result {
        Ok(value) => return Ok(StructuredOutput { value, replies }),
        Err(TurnAttemptError::NoReply(error)) => error,
        Err(TurnAttemptError::Unusable(reason)) => unusable_reply(thinker.name(), reason, &replies),
    };
    Err(StructuredError { error, replies })
}

async fn attempt(
    thinker: &dyn ChatModel,
    ask: &ModelRequest,
    which: AttemptKind,
    deadline: Instant,
    on: Option<OnStreamEvent<'_>>,
    replies: &mut Vec<ModelReply>,
) -> Result<ModelTurn, TurnAttemptError> {
    let reply = match (thinker.supports_tools(), on) {
        (true, Some(on)) => thinker.complete_streaming(ask, deadline, on).await,
        (true, None) => thinker.complete(ask, deadline).await,
        (false, _) => thinker
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

/// The second ask: the same, with what was wrong. In plain words, for who called wrongly can't be
/// given results.
fn retry_request(mut ask: ModelRequest, reply: &ModelReply, reason: &str) -> ModelRequest {
    ask.key.push_str("/again");
    let mut shown = reply.text.trim().to_owned();
    if shown.is_empty() && !reply.calls.is_empty() {
        shown = prompted::render_calls(&reply.calls);
    }
    let shown = truncate(&shown, MAX_QUOTED_CHARS);
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
