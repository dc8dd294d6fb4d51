//! The reply when nothing else is scripted: a thought that names its number and quotes the last
//! user message, in the form of the JSON Schema if one was sent, or with the fields after it that
//! the message asks for. The same requests in the same order give the same replies.

mod requested_fields;

use serde_json::{Map, Value, json};

use requested_fields::RequestedFields;

use super::prompt_text;

/// The text of a reply and its stop reason.
#[derive(Debug, Clone)]
pub(super) struct MockReply {
    pub(super) text: String,
    pub(super) finish: MockFinishReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MockFinishReason {
    Stop,
    Length,
    Refusal,
}

const EXCERPT_CHARS: usize = 60;
const CONFIDENCE: f64 = 0.85;
/// The value of a percentage, or the nearest whole number in its range.
const PERCENT: i64 = 85;
/// The deepest nesting; deeper than any schema of a tool, so that it ends recursive ones.
const MAX_DEPTH: usize = 12;

/// Returns the reply to model request number `number`.
pub(super) fn default_reply(number: usize, body: &Value, schema: Option<&Value>) -> MockReply {
    let question = last_user_text(body);
    let requested = RequestedFields::find(&question);
    let quoted = requested.as_ref().map_or(question.as_str(), |it| it.before);
    let subject = format!("{number} on “{}”", excerpt(quoted));
    let thought = format!("Thought {subject}");
    let text = match (schema, requested) {
        (Some(schema), _) => InstanceBuilder {
            root: schema,
            subject: &subject,
        }
        .instance(schema, &SchemaPosition::root())
        .to_string(),
        (None, Some(requested)) => format!("{thought}\n\n{}", requested.values(&subject)),
        (None, None) => json!({ "thought": thought, "confidence": CONFIDENCE }).to_string(),
    };
    MockReply {
        text,
        finish: MockFinishReason::Stop,
    }
}

/// Estimates the tokens of a text.
pub(super) fn tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

/// Estimates the tokens of all messages.
pub(super) fn prompt_tokens(body: &Value) -> usize {
    let texts =
        prompt_text::messages(body).map(|message| prompt_text::content_text(&message["content"]));
    texts.map(|text| tokens(&text)).sum()
}

fn last_user_text(body: &Value) -> String {
    let last = prompt_text::messages(body).rfind(|message| message["role"] == "user");
    last.map(|message| prompt_text::content_text(&message["content"]))
        .unwrap_or_default()
}

/// Returns the last words of a text without tags, because models do not repeat markup either.
fn excerpt(text: &str) -> String {
    let words: Vec<&str> = text
        .split_whitespace()
        .filter(|word| !word.contains(['<', '>']))
        .collect();
    truncate(&words.join(" "), EXCERPT_CHARS)
}

fn truncate(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

/// The position of a value in an answer.
struct SchemaPosition {
    /// The numbers of the list items around it, from 1, outermost first.
    items: Vec<usize>,
    /// The levels that may still be nested.
    depth_left: usize,
}

impl SchemaPosition {
    fn root() -> Self {
        Self {
            items: Vec::new(),
            depth_left: MAX_DEPTH,
        }
    }

    fn nested(&self) -> Self {
        Self {
            items: self.items.clone(),
            depth_left: self.depth_left - 1,
        }
    }

    fn item(&self, number: usize) -> Self {
        let mut inside = self.nested();
        inside.items.push(number);
        inside
    }

    /// Selects one of several choices: the next one in each item of a list.
    fn choice(&self, choices: usize) -> usize {
        let number = self.items.last().map_or(0, |number| number - 1);
        number % choices.max(1)
    }
}

/// Builds an instance of a JSON Schema, as far as the tools' schemas need.
struct InstanceBuilder<'a> {
    root: &'a Value,
    /// The subject of the sentences.
    subject: &'a str,
}

impl InstanceBuilder<'_> {
    fn instance(&self, schema: &Value, position: &SchemaPosition) -> Value {
        if position.depth_left == 0 {
            return Value::Null;
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(values) = schema["enum"]
            .as_array()
            .filter(|values| !values.is_empty())
        {
            return values[position.choice(values.len())].clone();
        }
        if let Some(target) = schema["$ref"]
            .as_str()
            .and_then(|path| path.strip_prefix('#'))
        {
            let target = self.root.pointer(target).unwrap_or(&Value::Null);
            return self.instance(target, &position.nested());
        }
        for choice in ["anyOf", "oneOf", "allOf"] {
            let options = schema[choice].as_array().into_iter().flatten();
            let options: Vec<_> = options.filter(|it| it["type"] != "null").collect();
            // A list of constants with descriptions is an enum, too.
            let fixed = options.iter().all(|option| option.get("const").is_some());
            let index = if fixed {
                position.choice(options.len())
            } else {
                0
            };
            if let Some(option) = options.get(index) {
                return self.instance(option, &position.nested());
            }
        }
        match type_of(schema) {
            "object" => self.object(schema, position),
            "array" => self.array(schema, position),
            "string" => json!(self.string(schema, position)),
            "integer" => json!(integer(schema)),
            "number" => json!(number(schema)),
            "boolean" => json!(true),
            _ => Value::Null,
        }
    }

    fn object(&self, schema: &Value, position: &SchemaPosition) -> Value {
        let properties = schema["properties"].as_object().into_iter().flatten();
        let inside = position.nested();
        let fields = properties.map(|(name, field)| (name.clone(), self.instance(field, &inside)));
        Value::Object(fields.collect::<Map<_, _>>())
    }

    fn array(&self, schema: &Value, position: &SchemaPosition) -> Value {
        let count = |keyword: &str| {
            let count = schema[keyword].as_u64();
            count.and_then(|count| usize::try_from(count).ok())
        };
        let least = count("minItems").unwrap_or(0).max(1);
        let most = count("maxItems").unwrap_or(usize::MAX);
        let items = (1..=least.min(most))
            .map(|number| self.instance(&schema["items"], &position.item(number)));
        Value::Array(items.collect())
    }

    /// Returns a text. Items of a list differ from their first letters, so that they still differ
    /// when truncated.
    fn string(&self, schema: &Value, position: &SchemaPosition) -> String {
        let most = schema["maxLength"]
            .as_u64()
            .and_then(|most| usize::try_from(most).ok());
        let items: Vec<String> = position.items.iter().map(ToString::to_string).collect();
        let sentence = if items.is_empty() {
            format!("Thought {}", self.subject)
        } else {
            format!("Item {} of thought {}", items.join("."), self.subject)
        };
        truncate(&sentence, most.unwrap_or(usize::MAX))
    }
}

/// Returns the type. It may be a list such as `["string", "null"]`; the first that is not null is
/// used.
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

/// Returns 85 of 100, or the nearest whole number in the range. A value with only a minimum is a
/// count or an index, so the minimum is used.
fn integer(schema: &Value) -> i64 {
    let (least, most) = (schema["minimum"].as_i64(), schema["maximum"].as_i64());
    match (least, most) {
        (Some(least), None) => least,
        (least, most) => PERCENT.min(most.unwrap_or(PERCENT)).max(least.unwrap_or(0)),
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

    fn reply_json(schema: Option<&Value>) -> Value {
        let body = json!({ "messages": [
            { "role": "user", "content": "first" },
            { "role": "assistant", "content": "no" },
            { "role": "user", "content": [{ "type": "text", "text": "How  high\nis it?" }] },
        ] });
        let said = default_reply(3, &body, schema);
        serde_json::from_str(&said.text).unwrap()
    }

    #[test]
    fn names_its_number_and_quotes_the_last_user_message() {
        let wanted = json!({ "thought": "Thought 3 on “How high is it?”", "confidence": 0.85 });
        assert_eq!(reply_json(None), wanted);
    }

    #[test]
    fn the_fields_that_the_message_asks_for_follow_the_text() {
        let message = "How high is it?\n\nFirst work it out in plain text. Then, as the last line, \
                       write one JSON object with these fields, and nothing after it: \
                       {\"confidence_percent\": 0 to 100 (How sure you are)}";
        let body = json!({ "messages": [{ "role": "user", "content": message }] });
        let reply = default_reply(3, &body, None);
        let wanted = "Thought 3 on “How high is it?”\n\n{\"confidence_percent\":85}";
        assert_eq!(reply.text, wanted);
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
        assert_eq!(reply_json(Some(&schema)), wanted);
    }

    #[test]
    fn items_of_a_list_differ_also_when_they_are_cut() {
        let approach = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "maxLength": 7 },
                "kind": { "enum": ["a", "b"] },
                "tone": { "oneOf": [{ "const": "c" }, { "const": "d" }] },
                "parts": { "type": "array", "items": { "type": "string", "maxLength": 8 } },
            },
        });
        let schema = json!({
            "type": "object",
            "properties": { "all": { "type": "array", "items": approach, "minItems": 3 } },
        });
        let wanted = json!({ "all": [
            { "name": "Item 1 ", "kind": "a", "tone": "c", "parts": ["Item 1.1"] },
            { "name": "Item 2 ", "kind": "b", "tone": "d", "parts": ["Item 2.1"] },
            { "name": "Item 3 ", "kind": "a", "tone": "c", "parts": ["Item 3.1"] },
        ] });
        assert_eq!(reply_json(Some(&schema)), wanted);
        let texts = json!({ "type": "array", "items": { "type": "string" }, "minItems": 2 });
        let first = &reply_json(Some(&texts))[0];
        assert_eq!(first, "Item 1 of thought 3 on “How high is it?”");
    }

    #[test]
    fn whole_numbers_keep_to_their_range() {
        for (schema, wanted) in [
            (json!({ "type": "integer" }), 85),
            (
                json!({ "type": "integer", "minimum": 0, "maximum": 100 }),
                85,
            ),
            (
                json!({ "type": "integer", "minimum": 90, "maximum": 100 }),
                90,
            ),
            (json!({ "type": "integer", "maximum": 10 }), 10),
            (json!({ "type": "integer", "minimum": 1 }), 1),
            (json!({ "type": "integer", "minimum": 0 }), 0),
        ] {
            assert_eq!(reply_json(Some(&schema)), json!(wanted), "{schema}");
        }
    }

    #[test]
    fn a_schema_without_end_ends() {
        let schema = json!({ "type": "object", "properties": { "next": { "$ref": "#" } } });
        assert!(reply_json(Some(&schema)).is_object());
    }
}
