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
    retry_request::{AnswerForm, UnusableReply, retry_request},
    structured_output::{
        StructuredError, StructuredOutput, deserialize_checked, looks_like_json, unusable_reply,
    },
    truncate::truncate_start,
};
use crate::{
    ChatMessage, ChatModel, FinishReason, ModelError, ModelReply, ModelRequest, PlainText, coerce,
};

/// How often a text that reached the token limit is continued.
const MAX_CONTINUATIONS: usize = 2;

/// Token limit of the request for the fields alone; a reply that reaches it gets twice the room once.
const FIELDS_TOKENS: u32 = 600;

/// Longest reasoning that becomes the text of an answer. The end is taken, which holds the result.
const MAX_REASONING_CHARS: usize = 20_000;

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

/// What a model wrote in one turn.
struct WrittenText {
    text: String,
    /// What it thought before it wrote the text, if its provider returns that; else empty.
    reasoning: String,
    /// Whether the token limit ended the text.
    is_cut: bool,
}

impl Exchange<'_> {
    /// Returns the answer, and whether the token limit ended its text.
    async fn ask<T: DeserializeOwned>(
        &mut self,
        ask: &ModelRequest,
        from_plain: Option<fn(String) -> T>,
    ) -> Result<(T, bool), ModelError> {
        let first = free_text_request(ask);
        let mut written = self.text(&first).await?;
        let mut answer = read_text(&written, ask);
        if let Err(ReplyFault::Unusable(reason)) = &answer {
            tracing::debug!(
                provider = self.chat_model.name(),
                ask = ask.key,
                "asking again"
            );
            let fault = UnusableReply {
                text: &written.text,
                reason,
                is_cut: written.is_cut,
            };
            let form = AnswerForm::FreeText(&ask.schema);
            let again = retry_request(self.chat_model, &first, &fault, &form);
            written = self.text(&again).await?;
            answer = read_text(&written, ask);
        }
        let (text, reason) = match answer {
            Ok(value) => return Ok((value, false)),
            Err(ReplyFault::Unusable(reason)) => return Err(self.unusable(reason)),
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

/// Reads a text and the fields after it.
fn read_text<T: DeserializeOwned>(
    written: &WrittenText,
    ask: &ModelRequest,
) -> Result<T, ReplyFault> {
    let unusable = |reason: &str| Err(ReplyFault::Unusable(reason.to_owned()));
    if is_blank(&written.text) {
        let is_exhausted = written.is_cut && !is_blank(&written.reasoning);
        return unusable(if is_exhausted {
            "the thinking took all the room, so that no answer came"
        } else {
            "it is empty"
        });
    }
    if written.is_cut && is_meant_as_json(&written.text) {
        return unusable("it ends in the middle");
    }
    let field = ask.text_field.as_deref().unwrap_or_default();
    let (text, fields) = split_fields(&written.text, &ask.schema, field, |it| ask.normalize(it));
    let Some(fields) = fields else {
        if is_meant_as_json(&text) {
            return unusable("it begins like JSON but can't be read as JSON");
        }
        let reason = "the fields are missing".to_owned();
        return Err(ReplyFault::Fields { text, reason });
    };
    if !text.trim().is_empty()
        && fields
            .iter()
            .any(|field| is_required(field.0, &ask.schema) && is_description(field, &ask.schema))
    {
        let reason = "a field repeats its description".to_owned();
        return Err(ReplyFault::Fields { text, reason });
    }
    read_answer(&text, &written.reasoning, fields, ask).map_err(|reason| {
        if text.trim().is_empty() {
            return ReplyFault::Unusable(reason);
        }
        ReplyFault::Fields { text, reason }
    })
}

/// Tells whether an answer is incomplete without this field. A field that is not required costs no
/// second request.
fn is_required(name: &str, schema: &Value) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|it| it == name))
}

/// Tells whether the value of a field is the field's own description, which small models copy from the
/// instruction.
fn is_description((name, value): (&String, &Value), schema: &Value) -> bool {
    let description = schema
        .get("properties")
        .and_then(|properties| properties.get(name)?.get("description")?.as_str());
    let written = value.as_str().map(str::trim);
    written.is_some_and(|it| !it.is_empty()) && written == description.map(str::trim)
}

/// What is wrong with a reply.
enum ReplyFault {
    /// The whole reply is unusable, for this reason.
    Unusable(String),
    /// The text can be used, but its fields are missing or wrong.
    Fields { text: String, reason: String },
}

/// Reads the reply to the request for the fields of `text`.
fn read_fields<T: DeserializeOwned>(
    text: &str,
    reply: &str,
    ask: &ModelRequest,
) -> Result<T, String> {
    match json_repair::parse_with_end(reply, json_repair::Termination::Complete) {
        Ok(Value::Object(fields)) => read_answer(text, "", fields, ask),
        Ok(_) => Err("it is not a JSON object".to_owned()),
        Err(_) => Err("there is no JSON object in it".to_owned()),
    }
}

/// Tells whether a reply that reached the token limit holds an object from its start to its end.
fn has_whole_object(reply: &str) -> bool {
    let parsed = json_repair::parse_with_end(reply, json_repair::Termination::Complete);
    matches!(parsed, Ok(Value::Object(_))) && !json_repair::has_open_bracket(reply)
}

/// Builds the value from the text and the fields, and checks it. Without a text of the model's own,
/// its reasoning is the text.
fn read_answer<T: DeserializeOwned>(
    text: &str,
    reasoning: &str,
    fields: Map<String, Value>,
    ask: &ModelRequest,
) -> Result<T, String> {
    let field = ask.text_field.as_deref().unwrap_or_default();
    let Value::Object(mut fields) = ask.normalize(Value::Object(fields)) else {
        return Err("it is not a JSON object".to_owned());
    };
    fields.retain(|name, value| !is_description((name, value), &ask.schema));
    let read = |fields: &Map<String, Value>| {
        let value = coerce(Value::Object(fields.clone()), &ask.schema);
        deserialize_checked(&value, &ask.schema)
    };
    if !text.trim().is_empty() {
        fields.insert(field.to_owned(), text.into());
        return read(&fields);
    }
    let reason = match read(&fields) {
        Ok(value) => return Ok(value),
        Err(reason) => reason,
    };
    if fields.get(field).is_some_and(|it| !it.is_null()) {
        return Err(reason);
    }
    let own = text_under_another_name(&fields, &ask.schema);
    let thought = || (!is_blank(reasoning)).then(|| truncate_start(reasoning, MAX_REASONING_CHARS));
    // Without any of them, the model wrote the result without the reasoning.
    let answer = fields.get("answer").and_then(Value::as_str);
    let own = own.or_else(thought).or_else(|| answer.map(str::to_owned));
    if let Some(own) = own {
        fields.insert(field.to_owned(), own.into());
        return read(&fields);
    }
    // The schema does not name the text, so its faults do not say that it is missing.
    Err(format!("there is no text before the fields; {reason}"))
}

/// The longest text among the fields that the schema does not have: the reasoning, under a name of
/// the model's own, such as `reasoning` or `steps`.
fn text_under_another_name(fields: &Map<String, Value>, schema: &Value) -> Option<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let is_property = |name: &String| properties.is_some_and(|known| known.contains_key(name));
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let lines: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            lines.map(|lines| lines.join("\n"))
        }
        _ => None,
    };
    fields
        .iter()
        .filter(|(name, _)| !is_property(name))
        .filter_map(|(_, value)| text(value))
        .filter(|text| !is_blank(text))
        .max_by_key(String::len)
}

/// Tells whether a text shows nothing: only whitespace, control and zero-width characters.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|letter| {
        letter.is_whitespace()
            || letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
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

/// Tells whether a reply was meant as JSON. A fence around anything else holds code, which is text.
fn is_meant_as_json(text: &str) -> bool {
    let Some(fenced) = text.strip_prefix("```") else {
        return looks_like_json(text);
    };
    let body = fenced.strip_prefix("json").unwrap_or(fenced).trim_start();
    body.is_empty() || looks_like_json(body)
}

/// Tells whether the end of a text repeats what stands before it, as models do that never stop.
fn repeats_itself(text: &str) -> bool {
    let start = text.len().saturating_sub(REPEATED_CHARS);
    let end = text.get(text.ceil_char_boundary(start)..).unwrap_or(text);
    text.matches(end).count() > 2
}
