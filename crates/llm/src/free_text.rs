//! Answers that begin with free text: the model thinks in plain text, and writes the short fields
//! after it, as one JSON object.
//!
//! A schema around the thinking itself costs the answer: a model fills a string with an announcement
//! of what it would do. So only the fields have a schema. A model that leaves them out is asked for
//! them in a second, short request that sees the text; one that writes nothing else is asked once more
//! for the text, because a result without its work is a guess.

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use super::{
    fields_block::fields_instruction,
    free_text_reply::{
        ReplyFault, WrittenText, is_blank, is_meant_as_json, read_fields, read_text,
    },
    json_repair,
    retry_request::{AnswerForm, UnusableReply, retry_request},
    structured_output::{StructuredError, StructuredOutput, unusable_reply},
};
use crate::{
    ChatMessage, ChatModel, FinishReason, ModelError, ModelReply, ModelRequest, PlainText,
};

/// How often a text that reached the token limit is continued.
const MAX_CONTINUATIONS: usize = 2;

/// Token limit of the request for the fields alone; a reply that reaches it gets twice the room once.
const FIELDS_TOKENS: u32 = 600;

/// A text that repeats a part of this many characters is not continued.
const REPEATED_CHARS: usize = 60;

/// Asks for free text and its fields. See [`ask_structured`](crate::ask_structured).
pub(crate) async fn ask_free_text<T: DeserializeOwned>(
    chat_model: &dyn ChatModel,
    ask: &ModelRequest,
    from_plain: Option<fn(String) -> T>,
    deadline: Instant,
) -> Result<StructuredOutput<T>, StructuredError> {
    let mut exchange = Exchange {
        chat_model,
        deadline,
        replies: Vec::with_capacity(1),
    };
    match exchange.ask(ask, from_plain).await {
        Ok((value, is_cut)) => Ok(StructuredOutput {
            value,
            is_cut,
            replies: exchange.replies,
        }),
        Err(error) => Err(StructuredError {
            error,
            replies: exchange.replies,
        }),
    }
}

/// The requests of one answer.
struct Exchange<'m> {
    chat_model: &'m dyn ChatModel,
    deadline: Instant,
    replies: Vec<ModelReply>,
}

impl Exchange<'_> {
    /// Returns the answer, and whether the token limit ended its text.
    async fn ask<T: DeserializeOwned>(
        &mut self,
        ask: &ModelRequest,
        from_plain: Option<fn(String) -> T>,
    ) -> Result<(T, bool), ModelError> {
        let first = free_text_request(ask);
        let written = self.text(&first).await?;
        let again = match read_text(&written, ask) {
            Err(ReplyFault::WithoutText(value)) if !gives_reason(&ask.schema) => {
                // Boxed, as below, so that the future of a call does not carry the size of all of them.
                return Ok(Box::pin(self.ask_for_text(&first, ask, value)).await);
            }
            Err(ReplyFault::FieldsAlone(_)) if self.may_ask_for_text() => {
                text_first_request(&first)
            }
            Err(ReplyFault::Unusable(reason) | ReplyFault::FieldsAlone(reason)) => {
                let fault = UnusableReply {
                    text: &written.text,
                    reason: &reason,
                    is_cut: written.is_cut,
                };
                let form = AnswerForm::FreeText(&ask.schema);
                retry_request(self.chat_model, &first, &fault, &form)
            }
            answer => {
                let complete = self.complete_answer(answer, &written, ask, from_plain);
                return Box::pin(complete).await;
            }
        };
        self.log_repetition(ask);
        let written = self.text(&again).await?;
        let answer = read_text(&written, ask);
        Box::pin(self.complete_answer(answer, &written, ask, from_plain)).await
    }

    /// Asks once more after a reply that has the fields and no reasoning before them. It is not shown to
    /// the model again, which would only find reasons for it. `value` is what it says; it is better than
    /// no answer.
    async fn ask_for_text<T: DeserializeOwned>(
        &mut self,
        first: &ModelRequest,
        ask: &ModelRequest,
        value: T,
    ) -> (T, bool) {
        if !self.may_ask_for_text() {
            return (value, false);
        }
        self.log_repetition(ask);
        let Ok(written) = self.text(&text_first_request(first)).await else {
            return (value, false);
        };
        let answer = read_text(&written, ask);
        let second = self.complete_answer(answer, &written, ask, None).await;
        second.unwrap_or((value, false))
    }

    /// Tells whether a reply of fields alone is asked for anew. The client's own model has thought in
    /// its conversation, and a stored prompt decides itself what a reply contains.
    fn may_ask_for_text(&self) -> bool {
        !self.chat_model.replies_between_calls() && !self.chat_model.has_stored_prompts()
    }

    fn log_repetition(&self, ask: &ModelRequest) {
        let provider = self.chat_model.name();
        tracing::debug!(provider, ask = ask.key, "asking again");
    }

    /// Asks for the fields of the text that was read, if they are missing or wrong.
    async fn complete_answer<T: DeserializeOwned>(
        &mut self,
        answer: Result<T, ReplyFault<T>>,
        written: &WrittenText,
        ask: &ModelRequest,
        from_plain: Option<fn(String) -> T>,
    ) -> Result<(T, bool), ModelError> {
        let (text, reason) = match answer {
            Ok(value) | Err(ReplyFault::WithoutText(value)) => return Ok((value, false)),
            Err(ReplyFault::Unusable(reason) | ReplyFault::FieldsAlone(reason)) => {
                return Err(self.unusable(reason));
            }
            Err(ReplyFault::Fields { text, reason }) => (text, reason),
        };
        let is_cut = written.is_cut;
        if self.chat_model.replies_between_calls()
            && let Some(from_plain) = from_plain
        {
            return Ok((from_plain(text), is_cut));
        }
        tracing::debug!(
            provider = self.chat_model.name(),
            ask = ask.key,
            reason,
            "asking for the fields"
        );
        let fields = self.fields(ask, &text).await?;
        match (read_fields(&text, &fields, ask), from_plain) {
            (Ok(value), _) => Ok((value, is_cut)),
            (Err(_), Some(from_plain)) => Ok((from_plain(text), is_cut || self.is_cut())),
            (Err(reason), None) => Err(self.unusable(reason)),
        }
    }

    /// Asks for the fields of a text, once more if the reply reached the token limit.
    async fn fields(&mut self, ask: &ModelRequest, text: &str) -> Result<String, ModelError> {
        let request = fields_request(ask, text);
        let reply = self.complete(&request).await?;
        if !self.is_cut() || has_whole_object(&reply) {
            return Ok(reply);
        }
        let fault = UnusableReply {
            text: &reply,
            reason: "it ends in the middle",
            is_cut: true,
        };
        let again = retry_request(self.chat_model, &request, &fault, &AnswerForm::Json);
        self.complete(&again).await
    }

    /// Returns the model's text; one that reached the token limit is continued, unless it is empty
    /// (providers reject an empty message) or JSON, which a model begins anew.
    async fn text(&mut self, first: &ModelRequest) -> Result<WrittenText, ModelError> {
        let replies_before = self.replies.len();
        let mut text = self.complete(first).await?;
        for number in 1..=MAX_CONTINUATIONS {
            let so_far = text.trim();
            let has_start = !so_far.is_empty() && !is_meant_as_json(so_far);
            if !self.is_cut() || !has_start || repeats_itself(&text) {
                break;
            }
            let more = continuation_request(first, &text, number);
            text.push_str(&self.complete(&more).await?);
        }
        let replies = self.replies.get(replies_before..).unwrap_or_default();
        let separate = replies.iter().map(|reply| reply.reasoning.trim());
        let separate = separate.filter(|part| !part.is_empty());
        let mut reasoning = separate.collect::<Vec<&str>>().join("\n\n");
        let mut written = unquote(json_repair::strip_thinking(&text).trim());
        let is_cut = self.is_cut();
        // A server that finds no end of the reasoning returns the whole answer as reasoning.
        if is_blank(&written) && !is_cut {
            written = std::mem::take(&mut reasoning);
        }
        if reasoning.is_empty() {
            json_repair::thinking(&text).clone_into(&mut reasoning);
        }
        Ok(WrittenText {
            text: written,
            reasoning,
            is_cut,
        })
    }

    /// Tells whether the last reply reached the token limit.
    fn is_cut(&self) -> bool {
        let last = self.replies.last();
        last.is_some_and(|reply| reply.finish_reason == FinishReason::Length)
    }

    fn unusable(&self, reason: String) -> ModelError {
        unusable_reply(self.chat_model.name(), reason, &self.replies)
    }

    async fn complete(&mut self, ask: &ModelRequest) -> Result<String, ModelError> {
        let reply = self.chat_model.complete(ask, self.deadline).await?;
        let (text, finish) = (reply.text.clone(), reply.finish_reason);
        self.replies.push(reply);
        if finish == FinishReason::Refusal {
            return Err(self.unusable("the model refused to answer".to_owned()));
        }
        Ok(text)
    }
}

/// The field in which a judgment gives its reason.
const REASON_FIELD: &str = "weakest_point";

/// Tells whether the fields are a judgment that gives its reason, so that they stand without a text. A
/// result is a guess without its work, and so is a bare verdict.
fn gives_reason(schema: &Value) -> bool {
    schema.pointer("/properties/answer").is_none() && has_key(schema, REASON_FIELD)
}

fn has_key(schema: &Value, name: &str) -> bool {
    match schema {
        Value::Object(fields) => {
            fields.contains_key(name) || fields.values().any(|it| has_key(it, name))
        }
        Value::Array(items) => items.iter().any(|it| has_key(it, name)),
        _ => false,
    }
}

/// Tells whether a reply that reached the token limit holds an object from its start to its end.
fn has_whole_object(reply: &str) -> bool {
    let parsed = json_repair::parse_with_end(reply, json_repair::Termination::Complete);
    matches!(parsed, Ok(Value::Object(_))) && !json_repair::has_open_bracket(reply)
}

/// The request for the text with the fields after it. The instruction stands at the end of the
/// question, because small models forget what the system prompt says about the form.
fn free_text_request(ask: &ModelRequest) -> ModelRequest {
    let mut first = ModelRequest {
        schema: Value::Null,
        text_field: None,
        plain_text: PlainText::IsTheAnswer,
        ..ask.clone()
    };
    let instruction = fields_instruction(&ask.schema);
    match first.messages.last_mut() {
        Some(last) => last.text = format!("{}\n\n{instruction}", last.text.trim_end()),
        None => first.messages.push(ChatMessage::user(instruction)),
    }
    first
}

/// The request for the same answer with the reasoning before the fields.
fn text_first_request(first: &ModelRequest) -> ModelRequest {
    let mut again = first.clone();
    again.key.push_str("/again");
    if let Some(last) = again.messages.last_mut() {
        last.text.push_str(
            "\n\nBegin with the work in plain text, several sentences or lines of it. Do not begin \
             with the JSON object.",
        );
    }
    again
}

fn continuation_request(first: &ModelRequest, text: &str, number: usize) -> ModelRequest {
    let mut ask = first.clone();
    ask.key = format!("{}/more{number}", first.key);
    ask.messages.push(ChatMessage::assistant(text));
    ask.messages.push(ChatMessage::user(
        "You were cut off. Go on exactly where you stopped, and repeat nothing.",
    ));
    ask
}

/// The short request for the fields of a text.
fn fields_request(ask: &ModelRequest, text: &str) -> ModelRequest {
    let mut second = ModelRequest {
        key: format!("{}/fields", ask.key),
        text_field: None,
        plain_text: PlainText::IsRefused,
        max_tokens: FIELDS_TOKENS.min(ask.max_tokens),
        temperature: 0.0,
        ..ask.clone()
    };
    second.messages.push(ChatMessage::assistant(text));
    second.messages.push(ChatMessage::user(
        "Now give only the fields that sum this up, as one JSON object.",
    ));
    second
}

/// Returns the text of a JSON string; other text stays.
fn unquote(text: &str) -> String {
    let quoted: Result<String, _> = serde_json::from_str(text);
    quoted.map_or_else(|_| text.to_owned(), |inner| inner.trim().to_owned())
}

/// Tells whether the end of a text repeats what stands before it, as models do that never stop.
fn repeats_itself(text: &str) -> bool {
    let start = text.len().saturating_sub(REPEATED_CHARS);
    let end = text.get(text.ceil_char_boundary(start)..).unwrap_or(text);
    text.matches(end).count() > 2
}
