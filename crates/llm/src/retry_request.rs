//! The second request for an answer, after a reply that cannot be used.

use deliberate_core::ellipsize;
use serde_json::Value;

use super::fields_block::fields_instruction;
use crate::{ChatMessage, ChatModel, ModelRequest};

/// How much of an unusable answer is quoted to the model and stored in the invocation log.
pub(crate) const MAX_QUOTED_CHARS: usize = 2_000;

/// How much is quoted to the client's own model, which still sees what it has just written.
const MAX_CHARS_QUOTED_TO_CLIENT: usize = 200;

/// A reply that is asked for again.
pub(crate) struct UnusableReply<'a> {
    pub(crate) text: &'a str,
    pub(crate) reason: &'a str,
    /// Whether it reached the token limit.
    pub(crate) is_cut: bool,
}

/// The form of the answer that is asked for again.
pub(crate) enum AnswerForm<'a> {
    /// Free text, with the fields of this schema after it.
    FreeText(&'a Value),
    /// One JSON object.
    Json,
}

/// Returns the same request again, with the unusable reply, the reason, and the instruction, which a
/// small model has forgotten by then. A reply that reached the token limit gets twice the room.
pub(crate) fn retry_request(
    chat_model: &dyn ChatModel,
    first: &ModelRequest,
    fault: &UnusableReply<'_>,
    form: &AnswerForm<'_>,
) -> ModelRequest {
    let mut again = first.clone();
    again.key.push_str("/again");
    let most = if chat_model.replies_between_calls() {
        MAX_CHARS_QUOTED_TO_CLIENT
    } else {
        MAX_QUOTED_CHARS
    };
    let quoted = ellipsize(fault.text.trim(), most);
    if !quoted.is_empty() {
        again.messages.push(ChatMessage::assistant(quoted));
    }
    if fault.is_cut {
        again.max_tokens = again.max_tokens.saturating_mul(2);
    }
    let (more_room, instruction) = match form {
        AnswerForm::FreeText(schema) => (
            " Now there is twice the room.",
            format!(". {}", fields_instruction(schema)),
        ),
        AnswerForm::Json => (
            " It was cut off; now there is twice the room.",
            " with exactly one JSON object that fits the schema, and nothing else: no fences, no \
             words around it."
                .to_owned(),
        ),
    };
    let more_room = if fault.is_cut { more_room } else { "" };
    again.messages.push(ChatMessage::user(format!(
        "Your last answer can't be used: {}.{more_room} Answer again{instruction}",
        fault.reason,
    )));
    again
}
