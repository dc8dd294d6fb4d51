//! A typed answer on top of [`Thinker`]: asked, read, fitted, and asked once more if need be.

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    Ask, Finish, Message, PlainText, Reply, ThinkError, Thinker, fit,
    lenient::{self, End},
    shorten::shortened,
};

/// How much of a bad answer the model is shown again, and the record of the call keeps.
const MAX_SHOWN_CHARS: usize = 2_000;
/// How many faults of an answer are named.
const MAX_FAULTS: usize = 3;

/// An answer, and what was exchanged for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<T> {
    /// What was asked for.
    pub value: T,
    /// The replies, one or two: usage, model and thread of each.
    pub replies: Vec<Reply>,
}

/// There is no answer; what was exchanged still counts.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct Failed {
    /// Why not.
    #[source]
    pub error: ThinkError,
    /// The replies that came and could not be used: none, one or two.
    pub replies: Vec<Reply>,
}

/// Asks for a `T`, whose schema is that of the ask.
///
/// An answer that can't be read or does not fit is asked for once more, with what was wrong.
/// `from_plain` makes a `T` of an answer without JSON, if the ask says that it is one.
pub async fn ask_for<T: DeserializeOwned>(
    thinker: &dyn Thinker,
    ask: Ask,
    from_plain: Option<fn(String) -> T>,
    deadline: Instant,
) -> Result<Answer<T>, Failed> {
    let from_plain = from_plain.filter(|_| ask.plain_text == PlainText::IsTheAnswer);
    let mut replies = Vec::with_capacity(1);
    let first = attempt(thinker, &ask, from_plain, deadline, &mut replies).await;
    let result = match (first, replies.last()) {
        // Who refuses once refuses again.
        (Err(Unmet::Unusable(reason)), Some(reply)) if reply.finish != Finish::Refusal => {
            tracing::debug!(provider = thinker.name(), ask = ask.key, "asking again");
            // The reason quotes the answer.
            tracing::debug!(target: "deliberate::content", reason, "an answer can't be used");
            let ask = again(ask, reply, &reason);
            attempt(thinker, &ask, from_plain, deadline, &mut replies).await
        }
        (first, _) => first,
    };
    let error = match result {
        Ok(value) => return Ok(Answer { value, replies }),
        Err(Unmet::NoReply(error)) => error,
        Err(Unmet::Unusable(reason)) => unusable(thinker.name(), reason, &replies),
    };
    Err(Failed { error, replies })
}

/// The error of one whose last reply can't be used.
pub(crate) fn unusable(provider: &str, reason: String, replies: &[Reply]) -> ThinkError {
    ThinkError::InvalidResponse {
        provider: provider.to_owned(),
        reason,
        answer: replies
            .last()
            .map_or_else(String::new, |reply| shortened(&reply.text, MAX_SHOWN_CHARS)),
    }
}

/// Why an attempt gave no answer.
enum Unmet {
    /// No reply came.
    NoReply(ThinkError),
    /// A reply came, and this is wrong with it.
    Unusable(String),
}

async fn attempt<T: DeserializeOwned>(
    thinker: &dyn Thinker,
    ask: &Ask,
    from_plain: Option<fn(String) -> T>,
    deadline: Instant,
    replies: &mut Vec<Reply>,
) -> Result<T, Unmet> {
    let reply = thinker.think(ask, deadline).await.map_err(Unmet::NoReply)?;
    let read = read(&reply, ask, from_plain);
    replies.push(reply);
    read.map_err(Unmet::Unusable)
}

/// Makes a `T` of a reply, or says what is wrong with it.
fn read<T: DeserializeOwned>(
    reply: &Reply,
    ask: &Ask,
    from_plain: Option<fn(String) -> T>,
) -> Result<T, String> {
    let schema = &ask.schema;
    if reply.finish == Finish::Refusal {
        return Err("the model refused to answer".to_owned());
    }
    let text = lenient::without_thinking(&reply.text).trim();
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    let end = match reply.finish {
        Finish::Length => End::Cut,
        Finish::Stop | Finish::Refusal => End::Written,
    };
    let is_cut = |of_text: fn(&str) -> bool| reply.finish == Finish::Length || of_text(&reply.text);
    match (lenient::read(&reply.text, end), from_plain) {
        // Half a thought is no thought: it is asked for again, shorter.
        (Err(_), _) if is_cut(lenient::is_cut) => Err("it ends in the middle".to_owned()),
        (Ok(value @ (Value::Object(_) | Value::Array(_))), _) => {
            let value = fit(value, schema);
            // Where plain text is an answer, what is there of an object is one too. Of a structure
            // that was cut off, what is missing may be what the rest is judged by.
            if ask.plain_text == PlainText::IsRefused
                && is_cut(lenient::is_open)
                && lacks_something(&value, schema)
            {
                return Err("it ends in the middle".to_owned());
            }
            typed(&value, schema)
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

/// Whether a text that could not be read was meant as JSON, so that it is no plain answer.
pub(crate) fn looks_like_json(text: &str) -> bool {
    text == "null" || text.starts_with('{') || text.starts_with("[{") || text.starts_with("```")
}

fn typed<T: DeserializeOwned>(value: &Value, schema: &Value) -> Result<T, String> {
    match T::deserialize(value) {
        // serde does not know lengths: an empty thought is no thought.
        Ok(typed) => empty_field(value, schema).map_or(Ok(typed), |field| {
            Err(format!("field `{field}`: it is empty"))
        }),
        Err(error) => {
            let mut reasons = faults(value, schema);
            let error = error.to_string();
            // What is missing or of another type, the schema says better; a rule that the type
            // has beyond its schema only serde knows.
            let known = ["missing field", "invalid type"];
            if reasons.is_empty() || !known.iter().any(|known| error.starts_with(known)) {
                reasons.insert(0, error);
            }
            Err(reasons.join("; "))
        }
    }
}

/// A field that is empty although its schema asks for something.
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

/// What the schema has against a value, field by field. Fields it does not know are no fault.
fn faults(value: &Value, schema: &Value) -> Vec<String> {
    use jsonschema::error::ValidationErrorKind as Kind;

    let Ok(validator) = jsonschema::validator_for(schema) else {
        return Vec::new();
    };
    validator
        .iter_errors(value)
        .filter(|error| {
            !matches!(
                error.kind(),
                Kind::AdditionalProperties { .. } | Kind::UnevaluatedProperties { .. }
            )
        })
        .take(MAX_FAULTS)
        .map(|error| {
            let path = error.instance_path().as_str();
            let place = if path.is_empty() {
                "the answer".to_owned()
            } else {
                format!("field `{}`", path.trim_start_matches('/').replace('/', "."))
            };
            shortened(&format!("{place}: {error}"), 300)
        })
        .collect()
}

/// Whether something that must be there is not, at any depth.
fn lacks_something(value: &Value, schema: &Value) -> bool {
    use jsonschema::error::ValidationErrorKind as Kind;

    jsonschema::validator_for(schema).is_ok_and(|validator| {
        let mut errors = validator.iter_errors(value);
        errors.any(|error| matches!(error.kind(), Kind::Required { .. }))
    })
}

/// The second ask: the same, with the bad answer and what is wrong with it.
fn again(mut ask: Ask, reply: &Reply, reason: &str) -> Ask {
    ask.key.push_str("/again");
    let shown = shortened(reply.text.trim(), MAX_SHOWN_CHARS);
    if !shown.is_empty() {
        ask.messages.push(Message::assistant(shown));
    }
    let cut = if reply.finish == Finish::Length {
        format!(
            " It was cut off at the limit of {} tokens: write a shorter answer.",
            ask.max_tokens
        )
    } else {
        String::new()
    };
    ask.messages.push(Message::user(format!(
        "Your last answer can't be used: {reason}.{cut} Answer again with exactly one JSON \
         object that fits the schema, and nothing else: no fences, no words around it."
    )));
    ask
}
