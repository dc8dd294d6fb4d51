//! Converts the list forms that callers send into the form of the files: field names get the
//! spelling of the files, and plain sentences become the objects they stand for.

use serde_json::{Map, Value, json};

use crate::resource_manager::extra_fields::to_camel_case;

/// Field names that the files spell with `_`.
const SNAKE_CASE_FIELDS: [&str; 2] = ["expected_output", "section_header"];

/// Converts a value into a list; a single value becomes a list of one.
fn to_list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        one => vec![one],
    }
}

fn to_file_spelling(fields: Map<String, Value>) -> Map<String, Value> {
    fields
        .into_iter()
        .map(|(name, value)| {
            if SNAKE_CASE_FIELDS.contains(&name.as_str()) {
                (name, value)
            } else {
                (to_camel_case(&name), value)
            }
        })
        .collect()
}

/// Converts arguments: a plain word is an argument of that name.
pub(crate) fn normalize_arguments(value: Value) -> Value {
    to_list(value)
        .into_iter()
        .map(|item| match item {
            Value::String(name) => json!({ "name": name }),
            Value::Object(fields) => {
                let mut fields = to_file_spelling(fields);
                if let Some(Value::Object(rules)) = fields.get_mut("validation") {
                    *rules = to_file_spelling(std::mem::take(rules));
                }
                // `default` is an older name of the same field.
                if let Some(value) = fields.shift_remove("default") {
                    fields.entry("defaultValue").or_insert(value);
                }
                Value::Object(fields)
            }
            other => other,
        })
        .collect()
}

/// Converts steps: a plain word is a step with that prompt.
pub(crate) fn normalize_steps(value: Value) -> Value {
    to_list(value).into_iter().map(normalize_step).collect()
}

/// Converts one step.
pub(crate) fn normalize_step(value: Value) -> Value {
    match value {
        Value::String(id) => json!({ "promptId": id, "stepName": id }),
        Value::Object(fields) => {
            let mut fields = to_file_spelling(fields);
            if let Some(inner) = fields.get_mut("parallel") {
                *inner = normalize_steps(inner.take());
            }
            if let Some(inner) = fields.get_mut("otherwise") {
                *inner = normalize_step(inner.take());
            }
            if let Some(id) = fields.get("promptId").cloned() {
                fields.entry("stepName").or_insert(id);
            }
            Value::Object(fields)
        }
        other => other,
    }
}

/// Converts the gates of a prompt: a plain list is the included gates.
pub(crate) fn normalize_gate_configuration(value: Value) -> Value {
    match value {
        Value::Object(mut fields) => {
            let defined = fields.get_mut("inline_gate_definitions");
            for gate in defined.and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(list) = gate.get_mut("pass_criteria") {
                    *list = normalize_criteria(list.take());
                }
            }
            Value::Object(fields)
        }
        list @ (Value::Array(_) | Value::String(_)) => json!({ "include": to_list(list) }),
        other => other,
    }
}

/// Converts criteria: a sentence is a criterion to judge.
pub(crate) fn normalize_criteria(value: Value) -> Value {
    to_list(value)
        .into_iter()
        .map(|item| match item {
            Value::String(words) => json!({ "type": "llm_self_check", "prompt_template": words }),
            Value::Object(mut fields) if !fields.contains_key("type") => {
                let words = ["prompt_template", "criteria", "description"]
                    .iter()
                    .find_map(|name| fields.get(*name).filter(|it| it.is_string()).cloned());
                if let Some(words) = words
                    && fields.len() <= 2
                {
                    fields.insert("type".to_owned(), "llm_self_check".into());
                    fields.entry("prompt_template").or_insert(words);
                }
                Value::Object(fields)
            }
            other => other,
        })
        .collect()
}

/// Converts phases: a plain word is a phase of that name; missing order numbers and ids are filled
/// in.
pub(crate) fn normalize_phases(value: Value) -> Value {
    to_list(value)
        .into_iter()
        .enumerate()
        .map(|(index, item)| {
            let mut fields = fill_id_and_name(item);
            fields.entry("order").or_insert(json!(index + 1));
            fields.entry("required").or_insert(json!(true));
            Value::Object(fields)
        })
        .collect()
}

/// Converts the execution steps of a methodology: a plain word is a step of that name; missing ids
/// are filled in.
pub(crate) fn normalize_execution_steps(value: Value) -> Value {
    to_list(value)
        .into_iter()
        .map(|item| Value::Object(fill_id_and_name(item)))
        .collect()
}

/// Converts the gates of a methodology: a sentence is a criterion to judge.
pub(crate) fn normalize_methodology_gates(value: Value) -> Value {
    to_list(value)
        .into_iter()
        .map(|item| {
            let sentence = item.as_str().map(str::to_owned);
            let mut fields = fill_id_and_name(item);
            if let Some(sentence) = sentence {
                fields.insert("description".to_owned(), sentence.clone().into());
                fields.insert("validationCriteria".to_owned(), json!([sentence]));
            }
            Value::Object(fields)
        })
        .collect()
}

fn fill_id_and_name(item: Value) -> Map<String, Value> {
    let mut fields = match item {
        Value::String(name) => Map::from_iter([("name".to_owned(), name.into())]),
        Value::Object(fields) => to_file_spelling(fields),
        other => Map::from_iter([("name".to_owned(), other)]),
    };
    if !fields.contains_key("id")
        && let Some(name) = fields.get("name").and_then(Value::as_str)
    {
        let id = slugify(name);
        fields.insert("id".to_owned(), id.into());
    }
    fields
}

/// Converts a name into an id.
fn slugify(name: &str) -> String {
    let mut slug = String::new();
    for letter in name.chars().take(60) {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter.to_ascii_lowercase());
        } else if !slug.ends_with('_') && !slug.is_empty() {
            slug.push('_');
        }
    }
    slug.trim_end_matches('_').to_owned()
}
