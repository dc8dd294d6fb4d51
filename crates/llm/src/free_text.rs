//! Answers that begin with free text: the model thinks in plain text, and writes the short fields
//! after it, as one JSON object.
//!
//! A schema around the thinking itself costs the answer: a model fills a string with an announcement
//! of what it would do. So only the fields have a schema. A model that leaves them out is asked for
//! them in a second, short request that sees the text.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{
    fields_block::{fields_instruction, split_fields},
    json_repair,
    structured_output::{StructuredError, StructuredOutput, deserialize_checked, unusable_reply},
};
use crate::{
    ChatMessage, ChatModel, FinishReason, ModelError, ModelReply, ModelRequest, PlainText, coerce,
};

/// How often a text that reached the token limit is continued.
const MAX_CONTINUATIONS: usize = 2;

/// Token limit of the request for the fields alone.
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
        Ok(value) => Ok(StructuredOutput {
            value,
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
    async fn ask<T: DeserializeOwned>(
        &mut self,
        ask: &ModelRequest,
        from_plain: Option<fn(String) -> T>,
    ) -> Result<T, ModelError> {
        let text = self.text(ask).await?;
        let field = ask.text_field.as_deref().unwrap_or_default();
        let (text, fields) = split_fields(&text, &ask.schema, field);
        let reason = match fields {
            Some(fields) => match read_answer(&text, fields, ask, field) {
                Ok(value) => return Ok(value),
                Err(reason) => reason,
            },
            None => "the fields are missing".to_owned(),
        };
        let plain = |text: String| from_plain.map(|convert| convert(text));
        let is_blank = text.trim().is_empty();
        if self.chat_model.replies_between_calls()
            && !is_blank
            && let Some(value) = plain(text.clone())
        {
            return Ok(value);
        }
        tracing::debug!(
            provider = self.chat_model.name(),
            ask = ask.key,
            "asking for the missing part"
        );
        let (text, fields) = if is_blank {
            let reply = self.complete(&retry_request(ask, &reason)).await?;
            split_fields(json_repair::strip_thinking(&reply), &ask.schema, field)
        } else {
            let reply = self.complete(&fields_request(ask, &text)).await?;
            let end = json_repair::Termination::Complete;
            let fields = match json_repair::parse_with_end(&reply, end) {
                Ok(Value::Object(fields)) => Some(fields),
                _ => None,
            };
            (text, fields)
        };
        let answer = fields
            .ok_or_else(|| "there is no JSON object in it".to_owned())
            .and_then(|fields| read_answer(&text, fields, ask, field));
        match answer {
            Ok(value) => Ok(value),
            Err(reason) => match plain(text.clone()).filter(|_| !text.trim().is_empty()) {
                Some(value) => Ok(value),
                None => Err(unusable_reply(
                    self.chat_model.name(),
                    reason,
                    &self.replies,
                )),
            },
        }
    }

    /// Returns the model's text; one that reached the token limit is continued.
    async fn text(&mut self, ask: &ModelRequest) -> Result<String, ModelError> {
        let first = free_text_request(ask);
        let mut text = self.complete(&first).await?;
        for number in 1..=MAX_CONTINUATIONS {
            let length = self
                .replies
                .last()
                .is_some_and(|reply| reply.finish_reason == FinishReason::Length);
            if !length || repeats_itself(&text) {
                break;
            }
            let more = continuation_request(&first, &text, number);
            text.push_str(&self.complete(&more).await?);
        }
        Ok(json_repair::strip_thinking(&text).trim().to_owned())
    }

    async fn complete(&mut self, ask: &ModelRequest) -> Result<String, ModelError> {
        let reply = self.chat_model.complete(ask, self.deadline).await?;
        let (text, finish) = (reply.text.clone(), reply.finish_reason);
        self.replies.push(reply);
        if finish == FinishReason::Refusal {
            let reason = "the model refused to answer".to_owned();
            return Err(unusable_reply(
                self.chat_model.name(),
                reason,
                &self.replies,
            ));
        }
        Ok(text)
    }
}

/// Builds the value from the text and the fields, and checks it.
fn read_answer<T: DeserializeOwned>(
    text: &str,
    fields: Map<String, Value>,
    ask: &ModelRequest,
    field: &str,
) -> Result<T, String> {
    let Value::Object(mut fields) = ask.normalize(Value::Object(fields)) else {
        return Err("it is not a JSON object".to_owned());
    };
    let mut has_text = fields.get(field).is_some_and(|it| !it.is_null());
    if !text.trim().is_empty() {
        fields.insert(field.to_owned(), text.into());
        has_text = true;
    } else if !has_text && let Some(answer) = fields.get("answer").filter(|it| it.is_string()) {
        // The model wrote the result without the reasoning.
        fields.insert(field.to_owned(), answer.clone());
        has_text = true;
    }
    let value = coerce(Value::Object(fields), &ask.schema);
    deserialize_checked(&value, &ask.schema).map_err(|reason| {
        // The schema does not name the text, so its faults do not say that it is missing.
        if has_text {
            reason
        } else {
            format!("there is no text before the fields; {reason}")
        }
    })
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

fn continuation_request(first: &ModelRequest, text: &str, number: usize) -> ModelRequest {
    let mut ask = first.clone();
    ask.key = format!("{}/more{number}", first.key);
    ask.messages.push(ChatMessage::assistant(text));
    ask.messages.push(ChatMessage::user(
        "You were cut off. Go on exactly where you stopped, and repeat nothing.",
    ));
    ask
}

/// The request for another answer, because the first has no text. It has no schema, which would
/// allow the fields only.
fn retry_request(ask: &ModelRequest, reason: &str) -> ModelRequest {
    let mut second = free_text_request(ask);
    second.key = format!("{}/fields", ask.key);
    second.messages.push(ChatMessage::user(format!(
        "Your last answer can't be used: {reason}."
    )));
    second
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

/// Tells whether the end of a text repeats what stands before it, as models do that never stop.
fn repeats_itself(text: &str) -> bool {
    let start = text.len().saturating_sub(REPEATED_CHARS);
    let end = text.get(text.ceil_char_boundary(start)..).unwrap_or(text);
    text.matches(end).count() > 2
}
