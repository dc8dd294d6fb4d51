//! What the model says when nothing else is scripted: a thought that names its number and quotes
//! the last user message, shaped by the JSON Schema if one was sent. The same asks in the same
//! order give the same answers.

use serde_json::{Map, Value, json};

/// What the model says and why it stops.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) finish: Finish,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finish {
    Stop,
    Length,
    Refusal,
}

const EXCERPT_CHARS: usize = 60;
const CONFIDENCE: f64 = 0.85;
/// Deeper than any schema a tool sends; ends recursive ones.
const MAX_DEPTH: usize = 12;

/// The answer to ask number `number`.
pub(super) fn usual(number: usize, messages: &Value, schema: Option<&Value>) -> Said {
    let sentence = format!(
        "Thought {number} on “{}”",
        excerpt(&last_user_text(messages))
    );
    let instance = match schema {
        Some(schema) => Shaper {
            root: schema,
            sentence: &sentence,
        }
        .instance(schema, MAX_DEPTH),
        None => json!({ "thought": sentence, "confidence": CONFIDENCE }),
    };
    Said {
        text: instance.to_string(),
        finish: Finish::Stop,
    }
}

/// Roughly the tokens of a text, as the stand-ins count them.
pub(super) fn tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

/// The tokens of all messages together.
pub(super) fn prompt_tokens(messages: &Value) -> usize {
    let all = messages.as_array().into_iter().flatten();
    all.map(|message| tokens(&content_text(message))).sum()
}

fn last_user_text(messages: &Value) -> String {
    let all = messages.as_array().map_or(&[] as &[Value], Vec::as_slice);
    let last = all.iter().rev().find(|message| message["role"] == "user");
    last.map(content_text).unwrap_or_default()
}

/// Content is a string or a list of typed parts.
fn content_text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}

/// The last words, without tags: models do not repeat the markup they are given either.
fn excerpt(text: &str) -> String {
    let words: Vec<&str> = text
        .split_whitespace()
        .filter(|word| !word.contains(['<', '>']))
        .collect();
    cut(&words.join(" "), EXCERPT_CHARS)
}

fn cut(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

/// Makes an instance of a JSON Schema, as far as the tools' schemas go.
struct Shaper<'a> {
    root: &'a Value,
    sentence: &'a str,
}

impl Shaper<'_> {
    fn instance(&self, schema: &Value, depth: usize) -> Value {
        if depth == 0 {
            return Value::Null;
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(value) = schema["enum"].get(0) {
            return value.clone();
        }
        if let Some(target) = schema["$ref"]
            .as_str()
            .and_then(|path| path.strip_prefix('#'))
        {
            let target = self.root.pointer(target).unwrap_or(&Value::Null);
            return self.instance(target, depth - 1);
        }
        for choice in ["anyOf", "oneOf", "allOf"] {
            let options = schema[choice].as_array().into_iter().flatten();
            if let Some(option) = options.into_iter().find(|option| option["type"] != "null") {
                return self.instance(option, depth - 1);
            }
        }
        match type_of(schema) {
            "object" => self.object(schema, depth),
            "array" => self.array(schema, depth),
            "string" => json!(self.string(schema)),
            "integer" => json!(integer(schema)),
            "number" => json!(number(schema)),
            "boolean" => json!(true),
            _ => Value::Null,
        }
    }

    fn object(&self, schema: &Value, depth: usize) -> Value {
        let properties = schema["properties"].as_object().into_iter().flatten();
        let fields =
            properties.map(|(name, field)| (name.clone(), self.instance(field, depth - 1)));
        Value::Object(fields.collect::<Map<_, _>>())
    }

    fn array(&self, schema: &Value, depth: usize) -> Value {
        let least = schema["minItems"].as_u64().unwrap_or(0);
        let most = schema["maxItems"].as_u64().unwrap_or(u64::MAX);
        let items = (0..least.max(1).min(most)).map(|_| self.instance(&schema["items"], depth - 1));
        Value::Array(items.collect())
    }

    fn string(&self, schema: &Value) -> String {
        let most = schema["maxLength"]
            .as_u64()
            .and_then(|most| usize::try_from(most).ok());
        cut(self.sentence, most.unwrap_or(usize::MAX))
    }
}

/// `type` may be a list such as `["string", "null"]`; the first that is not null counts.
fn type_of(schema: &Value) -> &str {
    match &schema["type"] {
        Value::String(name) => name,
        Value::Array(names) => names
            .iter()
            .filter_map(Value::as_str)
            .find(|name| *name != "null")
            .unwrap_or("null"),
        _ if schema.get("properties").is_some() => "object",
        _ => "null",
    }
}

/// 85 of 100, or the nearest whole number in the range.
fn integer(schema: &Value) -> i64 {
    let least = schema["minimum"].as_i64().unwrap_or(0);
    let most = schema["maximum"].as_i64().unwrap_or(i64::MAX);
    if most >= 85 {
        least.max(85)
    } else {
        most.max(least)
    }
}

fn number(schema: &Value) -> f64 {
    let least = schema["minimum"].as_f64().unwrap_or(0.0);
    let most = schema["maximum"].as_f64().unwrap_or(1.0);
    CONFIDENCE.clamp(least, most.max(least))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(schema: Option<&Value>) -> Value {
        let messages = json!([
            { "role": "user", "content": "first" },
            { "role": "assistant", "content": "no" },
            { "role": "user", "content": [{ "type": "text", "text": "How  high\nis it?" }] },
        ]);
        let said = usual(3, &messages, schema);
        serde_json::from_str(&said.text).unwrap()
    }

    #[test]
    fn names_its_number_and_quotes_the_last_user_message() {
        let wanted = json!({ "thought": "Thought 3 on “How high is it?”", "confidence": 0.85 });
        assert_eq!(said(None), wanted);
    }

    #[test]
    fn follows_a_schema() {
        let schema = json!({
            "type": "object",
            "properties": {
                "thought": { "type": "string", "maxLength": 9 },
                "confidence": { "type": "integer", "minimum": 0, "maximum": 100 },
                "kind": { "enum": ["a", "b"] },
                "steps": { "type": "array", "items": { "$ref": "#/$defs/step" }, "minItems": 2 },
                "note": { "anyOf": [{ "type": "null" }, { "type": "boolean" }] },
            },
            "$defs": { "step": { "type": ["null", "number"], "maximum": 0.5 } },
        });
        let wanted = json!({
            "thought": "Thought 3",
            "confidence": 85,
            "kind": "a",
            "steps": [0.5, 0.5],
            "note": true,
        });
        assert_eq!(said(Some(&schema)), wanted);
    }

    #[test]
    fn a_schema_without_end_ends() {
        let schema = json!({ "type": "object", "properties": { "next": { "$ref": "#" } } });
        assert!(said(Some(&schema)).is_object());
    }
}
