//! Reads a reply that begins with free text: the text, the fields after it, and what is wrong with it.

use deliberate_core::ellipsize_start;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{
    fields_block::split_fields,
    json_repair,
    structured_output::{deserialize_checked, looks_like_json},
};
use crate::{ModelRequest, coerce};

/// Longest reasoning that becomes the text of an answer. The end is taken, which holds the result.
const MAX_REASONING_CHARS: usize = 20_000;

/// What a model wrote in one turn.
pub(crate) struct WrittenText {
    pub(crate) text: String,
    /// What it thought before it wrote the text, if its provider returns that; else empty.
    pub(crate) reasoning: String,
    /// Whether the token limit ended the text.
    pub(crate) is_cut: bool,
}

/// Reads a text and the fields after it.
pub(crate) fn read_text<T: DeserializeOwned>(
    written: &WrittenText,
    ask: &ModelRequest,
) -> Result<T, ReplyFault<T>> {
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
    let (mut text, fields) =
        split_fields(&written.text, &ask.schema, field, |it| ask.normalize(it));
    if is_blank(&text) {
        text.clear();
    }
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
    let is_bare = text.trim().is_empty() && has_only_fields(&fields, field, &ask.schema);
    match read_answer(&text, &written.reasoning, fields, ask) {
        Ok(answer) if answer.has_text => Ok(answer.value),
        Ok(answer) => Err(ReplyFault::WithoutText(answer.value)),
        Err(reason) if is_bare => Err(ReplyFault::FieldsAlone(reason)),
        Err(reason) if text.trim().is_empty() => Err(ReplyFault::Unusable(reason)),
        Err(reason) => Err(ReplyFault::Fields { text, reason }),
    }
}

/// Tells whether an answer is incomplete without this field. A field that is not required costs no
/// second request.
fn is_required(name: &str, schema: &Value) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|it| it == name))
}

/// Tells whether an object has fields that were asked for and no text of its own.
fn has_only_fields(fields: &Map<String, Value>, text_field: &str, schema: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    let own_text = fields.get(text_field).and_then(Value::as_str);
    properties.is_some_and(|known| fields.keys().any(|name| known.contains_key(name)))
        && own_text.is_none_or(is_blank)
        && text_under_another_name(fields, schema).is_none()
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

/// Removes the items of lists that repeat the description of the list.
fn drop_described_items(fields: &mut Map<String, Value>, schema: &Value) {
    for (name, value) in fields {
        if let Value::Array(items) = value {
            items.retain(|item| !is_description((name, item), schema));
        }
    }
}

/// What is wrong with a reply.
pub(crate) enum ReplyFault<T> {
    /// The whole reply is unusable, for this reason.
    Unusable(String),
    /// The reply has the fields alone, and no answer can be made of them, for this reason.
    FieldsAlone(String),
    /// The text can be used, but its fields are missing or wrong.
    Fields { text: String, reason: String },
    /// The reply has the fields alone; this is what they say.
    WithoutText(T),
}

/// An answer, and whether its text is the model's own and not only its result.
struct ReadAnswer<T> {
    value: T,
    has_text: bool,
}

/// Reads the reply to the request for the fields of `text`.
pub(crate) fn read_fields<T: DeserializeOwned>(
    text: &str,
    reply: &str,
    ask: &ModelRequest,
) -> Result<T, String> {
    match json_repair::parse_with_end(reply, json_repair::Termination::Complete) {
        Ok(Value::Object(fields)) => Ok(read_answer(text, "", fields, ask)?.value),
        Ok(_) => Err("it is not a JSON object".to_owned()),
        Err(_) => Err("there is no JSON object in it".to_owned()),
    }
}

/// Builds the value from the text and the fields, and checks it. Without a text of the model's own,
/// its reasoning is the text.
fn read_answer<T: DeserializeOwned>(
    text: &str,
    reasoning: &str,
    fields: Map<String, Value>,
    ask: &ModelRequest,
) -> Result<ReadAnswer<T>, String> {
    let field = ask.text_field.as_deref().unwrap_or_default();
    let Value::Object(mut fields) = ask.normalize(Value::Object(fields)) else {
        return Err("it is not a JSON object".to_owned());
    };
    fields.retain(|name, value| !is_description((name, value), &ask.schema));
    drop_described_items(&mut fields, &ask.schema);
    let read = |fields: &Map<String, Value>, has_text: bool| {
        let value = coerce(Value::Object(fields.clone()), &ask.schema);
        let value = deserialize_checked(&value, &ask.schema)?;
        Ok(ReadAnswer { value, has_text })
    };
    if !text.trim().is_empty() {
        fields.insert(field.to_owned(), text.into());
        return read(&fields, true);
    }
    let has_field = fields.get(field).is_some_and(|it| !it.is_null());
    let bare = read(&fields, has_field);
    if has_field {
        return bare;
    }
    let own = text_under_another_name(&fields, &ask.schema);
    let thought =
        || (!is_blank(reasoning)).then(|| ellipsize_start(reasoning, MAX_REASONING_CHARS));
    if let Some(own) = own.or_else(thought) {
        fields.insert(field.to_owned(), own.into());
        // The answer may know the text by that other name, and then has it twice.
        return read(&fields, true).or_else(|reason| match bare {
            Ok(ReadAnswer { value, .. }) => Ok(ReadAnswer {
                value,
                has_text: true,
            }),
            Err(_) => Err(reason),
        });
    }
    // The model wrote the result without the reasoning.
    if let Some(result) = fields.get("answer").and_then(Value::as_str) {
        fields.insert(field.to_owned(), result.into());
        return read(&fields, false);
    }
    // The schema does not name the text, so its faults do not say that it is missing.
    bare.map_err(|reason| format!("there is no text before the fields; {reason}"))
}

/// Fields that name a text and are none.
const LABELS: [&str; 5] = ["name", "title", "kind", "type", "viewpoint"];

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
        .filter(|(name, _)| !is_property(name) && !LABELS.contains(&name.as_str()))
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

/// Tells whether a reply was meant as JSON. A fence around anything else holds code, which is text.
pub(crate) fn is_meant_as_json(text: &str) -> bool {
    let Some(fenced) = text.strip_prefix("```") else {
        return looks_like_json(text);
    };
    let body = fenced.strip_prefix("json").unwrap_or(fenced).trim_start();
    body.is_empty() || looks_like_json(body)
}
