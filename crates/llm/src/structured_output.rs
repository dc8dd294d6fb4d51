//! Typed answers from a [`ChatModel`]: asks, parses, coerces, validates, and asks once more if
//! needed.

use deliberate_core::has_more_values;
use deliberate_json_schema::{TrustedSchema, ViolationKind};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use super::{
    free_text::ask_free_text,
    json_repair::{self, Termination},
    retry_request::{AnswerForm, MAX_QUOTED_CHARS, UnusableReply, retry_request},
    truncate::truncate,
};
use crate::{ChatModel, FinishReason, ModelError, ModelReply, ModelRequest, PlainText, coerce};

/// How many validation errors of an answer are named.
const MAX_FAULTS: usize = 3;
/// Longest description of a validation error.
const MAX_FAULT_CHARS: usize = 300;
/// The most values in an answer whose validation errors are named. The library builds an error for each
/// violation before the first one can be read, so this bounds memory.
const MAX_VALUES_WITH_FAULTS: usize = 10_000;

/// A typed answer with the replies it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct StructuredOutput<T> {
    /// The answer.
    pub value: T,
    /// Whether the token limit ended the answer before the model had finished it.
    pub is_cut: bool,
    /// One or two replies: usage, model and thread of each.
    pub replies: Vec<ModelReply>,
}

/// Failure to get a typed answer, with the replies that were received.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct StructuredError {
    /// The cause.
    #[source]
    pub error: ModelError,
    /// Replies that were received but unusable: none, one or two.
    pub replies: Vec<ModelReply>,
}

/// Asks for a `T` whose schema is that of the request.
///
/// With a [text field](ModelRequest::text_field) the model thinks in free text first and writes the
/// fields of the schema after it. A text that reached the token limit is continued; a model that
/// left the fields out is asked for them once more, with a schema.
///
/// If the answer cannot be parsed or is invalid, the model is asked once more and told why.
/// `from_plain` converts an answer without JSON, if the request accepts one.
pub async fn ask_structured<T: DeserializeOwned>(
    chat_model: &dyn ChatModel,
    ask: ModelRequest,
    from_plain: Option<fn(String) -> T>,
    deadline: Instant,
) -> Result<StructuredOutput<T>, StructuredError> {
    let from_plain = from_plain.filter(|_| ask.plain_text == PlainText::IsTheAnswer);
    if ask.text_field.is_some() {
        return ask_free_text(chat_model, &ask, from_plain, deadline).await;
    }
    let mut replies = Vec::with_capacity(1);
    let first = attempt(chat_model, &ask, from_plain, deadline, &mut replies).await;
    let result = match (first, replies.last()) {
        // A model that refuses once refuses again.
        (Err(StructuredAttemptError::Unusable(reason)), Some(reply))
            if reply.finish_reason != FinishReason::Refusal =>
        {
            tracing::debug!(provider = chat_model.name(), ask = ask.key, "asking again");
            // The reason quotes the answer.
            tracing::debug!(target: "deliberate::content", reason, "an answer cannot be used");
            let fault = UnusableReply {
                text: &reply.text,
                reason: &reason,
                is_cut: reply.finish_reason == FinishReason::Length,
            };
            let ask = retry_request(chat_model, &ask, &fault, &AnswerForm::Json);
            attempt(chat_model, &ask, from_plain, deadline, &mut replies).await
        }
        (first, _) => first,
    };
    let error = match result {
        Ok(value) => {
            return Ok(StructuredOutput {
                value,
                is_cut: replies.last().is_some_and(ends_in_the_middle),
                replies,
            });
        }
        Err(StructuredAttemptError::NoReply(error)) => error,
        Err(StructuredAttemptError::Unusable(reason)) => {
            unusable_reply(chat_model.name(), reason, &replies)
        }
    };
    Err(StructuredError { error, replies })
}

/// Tells whether the token limit ended a reply inside its object.
fn ends_in_the_middle(reply: &ModelReply) -> bool {
    reply.finish_reason == FinishReason::Length && json_repair::has_open_bracket(&reply.text)
}

/// Builds the error for an unusable last reply.
pub(crate) fn unusable_reply(provider: &str, reason: String, replies: &[ModelReply]) -> ModelError {
    ModelError::InvalidResponse {
        provider: provider.to_owned(),
        reason,
        answer: replies
            .last()
            .map_or_else(String::new, |reply| truncate(&reply.text, MAX_QUOTED_CHARS)),
    }
}

/// Why an attempt failed.
enum StructuredAttemptError {
    NoReply(ModelError),
    /// The reply is unusable for this reason.
    Unusable(String),
}

async fn attempt<T: DeserializeOwned>(
    model: &dyn ChatModel,
    ask: &ModelRequest,
    from_plain: Option<fn(String) -> T>,
    deadline: Instant,
    replies: &mut Vec<ModelReply>,
) -> Result<T, StructuredAttemptError> {
    let reply = model
        .complete(ask, deadline)
        .await
        .map_err(StructuredAttemptError::NoReply)?;
    let read = parse_reply(&reply, ask, from_plain);
    replies.push(reply);
    read.map_err(StructuredAttemptError::Unusable)
}

/// Parses a reply to a `T` or returns the reason why it is unusable.
fn parse_reply<T: DeserializeOwned>(
    reply: &ModelReply,
    ask: &ModelRequest,
    from_plain: Option<fn(String) -> T>,
) -> Result<T, String> {
    let schema = &ask.schema;
    if reply.finish_reason == FinishReason::Refusal {
        return Err("the model refused to answer".to_owned());
    }
    let text = json_repair::strip_thinking(&reply.text).trim();
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    let end = match reply.finish_reason {
        FinishReason::Length => Termination::Truncated,
        FinishReason::Stop | FinishReason::Refusal => Termination::Complete,
    };
    let is_cut = |of_text: fn(&str) -> bool| {
        reply.finish_reason == FinishReason::Length || of_text(&reply.text)
    };
    match (json_repair::parse_with_end(&reply.text, end), from_plain) {
        // A truncated answer is asked for again, with a shorter length.
        (Err(_), _) if is_cut(json_repair::is_truncated) => Err("it ends in the middle".to_owned()),
        (Ok(value @ (Value::Object(_) | Value::Array(_))), _) => {
            let value = coerce(ask.normalize(value), schema);
            // Where plain text is accepted, a partial object is accepted too. In a truncated
            // structure, the missing part may be what the rest depends on.
            if ask.plain_text == PlainText::IsRefused
                && is_cut(json_repair::has_open_bracket)
                && is_missing_required(&value, schema)
            {
                return Err("it ends in the middle".to_owned());
            }
            deserialize_checked(&value, schema)
        }
        (Ok(Value::String(text)), Some(from_plain)) if !text.trim().is_empty() => {
            Ok(from_plain(text.trim().to_owned()))
        }
        (_, Some(from_plain)) if !looks_like_json(text) => Ok(from_plain(text.to_owned())),
        (Ok(_), _) => Err("it is not a JSON object".to_owned()),
        (Err(_), _) if looks_like_json(text) => {
            Err("it begins like JSON but can't be read as JSON".to_owned())
        }
        (Err(_), _) => Err("there is no JSON object in it".to_owned()),
    }
}

/// Returns whether an unparsable text was meant as JSON, so that it is no plain-text answer.
pub(crate) fn looks_like_json(text: &str) -> bool {
    let list = text.strip_prefix('[').map(str::trim_start);
    let object = list.unwrap_or(text).strip_prefix('{');
    matches!(text, "null" | "[]") || object.is_some_and(begins_with_name) || text.starts_with("```")
}

/// Returns whether what follows an opening brace is the name of a field: `{x | x > 3}` is a set.
fn begins_with_name(text: &str) -> bool {
    let text = text.trim_start();
    if text.is_empty() || text.starts_with(['"', '\'', '}']) {
        return true;
    }
    let rest = text.trim_start_matches(|letter: char| letter.is_alphanumeric() || letter == '_');
    rest.len() < text.len() && rest.trim_start().starts_with(':')
}

pub(crate) fn deserialize_checked<T: DeserializeOwned>(
    value: &Value,
    schema: &Value,
) -> Result<T, String> {
    match T::deserialize(value) {
        // serde does not check lengths: an empty field is no answer.
        Ok(typed) => empty_field(value, schema).map_or(Ok(typed), |field| {
            Err(format!("field `{field}`: it is empty"))
        }),
        Err(error) => {
            let mut reasons = schema_faults(value, schema);
            // The text quotes the value that is wrong.
            let error = truncate(&error.to_string(), MAX_FAULT_CHARS);
            // The schema describes missing fields and wrong types better; only serde knows the
            // rules that the type has beyond its schema.
            let known = ["missing field", "invalid type"];
            if reasons.is_empty() || !known.iter().any(|known| error.starts_with(known)) {
                reasons.insert(0, error);
            }
            Err(reasons.join("; "))
        }
    }
}

/// Returns a field that is empty although its schema requires content.
fn empty_field(value: &Value, schema: &Value) -> Option<String> {
    let fields = schema.get("properties")?.as_object()?;
    fields.iter().find_map(|(name, rule)| {
        let least = |keyword: &str| rule.get(keyword).and_then(Value::as_u64).unwrap_or(0);
        let empty = match value.get(name)? {
            Value::String(text) => text.is_empty() && least("minLength") > 0,
            Value::Array(items) => items.is_empty() && least("minItems") > 0,
            _ => false,
        };
        empty.then(|| name.clone())
    })
}

/// Returns the schema violations of a value, field by field; none of a value with very many values.
/// Unknown fields are allowed.
fn schema_faults(value: &Value, schema: &Value) -> Vec<String> {
    if has_more_values(value, MAX_VALUES_WITH_FAULTS) {
        return Vec::new();
    }
    let Ok(schema) = TrustedSchema::new(schema) else {
        return Vec::new();
    };
    let violations = schema.violations(value);
    violations
        .filter(|violated| !matches!(violated.kind(), ViolationKind::UnknownFields(_)))
        .take(MAX_FAULTS)
        .map(|violated| {
            let path = violated.path();
            let place = if path.is_empty() {
                "the answer".to_owned()
            } else {
                format!("field `{}`", path.trim_start_matches('/').replace('/', "."))
            };
            truncate(&format!("{place}: {violated}"), MAX_FAULT_CHARS)
        })
        .collect()
}

/// Returns whether a required property is missing where a truncated value ends, at any depth.
fn is_missing_required(value: &Value, schema: &Value) -> bool {
    let end = without_earlier_items(value);
    if has_more_values(&end, MAX_VALUES_WITH_FAULTS) {
        return false;
    }
    TrustedSchema::new(schema).is_ok_and(|schema| {
        let mut violations = schema.violations(&end);
        violations.any(|violated| matches!(violated.kind(), ViolationKind::MissingField(_)))
    })
}

/// Returns a value with only the last item of each list: what is missing in a truncated value is
/// missing there.
fn without_earlier_items(value: &Value) -> Value {
    match value {
        Value::Array(items) => items
            .last()
            .map(without_earlier_items)
            .into_iter()
            .collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), without_earlier_items(value)))
            .collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Scores {
        #[expect(dead_code, reason = "only whether it can be read counts")]
        scores: Vec<f64>,
    }

    fn schema() -> Value {
        let score = json!({ "anyOf": [{ "type": "number" }, { "type": "integer" }] });
        json!({
            "type": "object",
            "properties": { "scores": { "type": "array", "items": score } },
            "required": ["scores"],
        })
    }

    #[test]
    fn the_errors_of_a_very_long_list_are_not_collected() {
        let reason = |count: usize| {
            let answer = json!({ "scores": vec!["wrong"; count] });
            deserialize_checked::<Scores>(&answer, &schema()).unwrap_err()
        };
        assert!(reason(10).contains("field `scores.0`"), "{}", reason(10));
        let long = reason(1_000_000);
        assert!(long.starts_with("invalid type: string"), "{long}");
        assert!(!long.contains("field `"), "{long}");
    }

    #[test]
    fn a_long_list_that_was_cut_is_incomplete_where_its_last_item_is() {
        let score = json!({ "type": "object", "required": ["score"] });
        let schema = json!({ "type": "object", "required": ["scores"], "properties": {
            "scores": { "type": "array", "items": score },
        } });
        let is_missing = |value: Value| is_missing_required(&value, &schema);
        assert!(is_missing(json!({})));
        for count in [1, 1_000_000] {
            let mut scores = vec![json!({ "score": 1, "unknown": "x" }); count];
            assert!(!is_missing(json!({ "scores": scores })));
            scores.push(json!({}));
            assert!(is_missing(json!({ "scores": scores })));
        }
    }
}
