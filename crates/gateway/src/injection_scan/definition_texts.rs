//! Collects the texts of a definition, each with its place and role.

use serde_json::Value;

pub(super) struct DefinitionText<'a> {
    pub(super) path: String,
    pub(super) text: &'a str,
    pub(super) role: TextRole,
}

/// The role of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextRole {
    /// The name of something.
    Name,
    /// Text to be read.
    Prose,
    /// Text to be matched against.
    Pattern,
}

/// Collects all texts of a definition, including those that only a client's user interface shows.
pub(super) fn collect_texts(definition: &Value) -> Vec<DefinitionText<'_>> {
    let mut texts = Vec::new();
    let Some(fields) = definition.as_object() else {
        return texts;
    };
    for (field, value) in fields {
        match field.as_str() {
            "name" => texts.extend(value.as_str().map(|text| DefinitionText {
                path: field.clone(),
                text,
                role: TextRole::Name,
            })),
            _ => collect_nested(value, field, field, &mut texts),
        }
    }
    texts
}

fn collect_nested<'a>(
    value: &'a Value,
    place: &str,
    field: &str,
    texts: &mut Vec<DefinitionText<'a>>,
) {
    match value {
        Value::String(text) => texts.push(DefinitionText {
            path: place.to_owned(),
            text,
            role: match field {
                "pattern" | "format" | "$ref" | "$id" | "$schema" => TextRole::Pattern,
                // An icon is often an inline image.
                "src" if place.starts_with("icons") => TextRole::Pattern,
                _ => TextRole::Prose,
            },
        }),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                collect_nested(item, &format!("{place}[{at}]"), field, texts);
            }
        }
        Value::Object(fields) => {
            for (name, item) in fields {
                let place = format!("{place}.{}", deliberate_core::truncate_chars(name, 60));
                texts.push(DefinitionText {
                    path: place.clone(),
                    text: name,
                    role: TextRole::Name,
                });
                collect_nested(item, &place, name, texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the approximate size of a value as JSON.
pub(super) fn json_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 5,
        Value::String(text) => text.len() + 3,
        Value::Array(items) => items.iter().map(json_size).sum::<usize>() + 2,
        Value::Object(fields) => {
            let all = fields
                .iter()
                .map(|(name, item)| name.len() + 4 + json_size(item));
            all.sum::<usize>() + 2
        }
    }
}
