//! The texts of a definition, each with its place and what it is for.

use serde_json::Value;

/// A text in a definition.
pub(super) struct Text<'a> {
    pub(super) place: String,
    pub(super) says: &'a str,
    pub(super) role: Role,
}

/// What a text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Something is called that.
    Name,
    /// To be read.
    Prose,
    /// To be matched against.
    Pattern,
}

/// All texts of a definition, those too that are meant for a client's screen.
pub(super) fn texts(definition: &Value) -> Vec<Text<'_>> {
    let mut texts = Vec::new();
    let Some(fields) = definition.as_object() else {
        return texts;
    };
    for (field, value) in fields {
        match field.as_str() {
            "name" => texts.extend(value.as_str().map(|text| Text {
                place: field.clone(),
                says: text,
                role: Role::Name,
            })),
            _ => walk(value, field, field, &mut texts),
        }
    }
    texts
}

fn walk<'a>(value: &'a Value, place: &str, field: &str, texts: &mut Vec<Text<'a>>) {
    match value {
        Value::String(text) => texts.push(Text {
            place: place.to_owned(),
            says: text,
            role: match field {
                "pattern" | "format" | "$ref" | "$id" | "$schema" => Role::Pattern,
                // A picture, often written out.
                "src" if place.starts_with("icons") => Role::Pattern,
                _ => Role::Prose,
            },
        }),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                walk(item, &format!("{place}[{at}]"), field, texts);
            }
        }
        Value::Object(fields) => {
            for (name, item) in fields {
                let place = format!("{place}.{}", deliberate_core::cut_to_chars(name, 60));
                texts.push(Text {
                    place: place.clone(),
                    says: name,
                    role: Role::Name,
                });
                walk(item, &place, name, texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// About how many bytes a value takes as JSON.
pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 5,
        Value::String(text) => text.len() + 3,
        Value::Array(items) => items.iter().map(size).sum::<usize>() + 2,
        Value::Object(fields) => {
            let all = fields
                .iter()
                .map(|(name, item)| name.len() + 4 + size(item));
            all.sum::<usize>() + 2
        }
    }
}
