//! Shapes written as a schema again: it accepts what the schema they were read from accepts.

use serde_json::{Map, Value, json};

use super::{
    draft::Draft,
    keywords::type_of_rule,
    refs::link,
    shape::{Additional, Kind, Shape},
};

/// A shape as a schema.
pub(super) fn write(shape: &Shape, draft: Draft) -> Value {
    let untold = shape.description.is_none() && shape.default.is_none() && shape.notes.is_empty();
    if untold && shape.is_bare() {
        match &shape.kind {
            // Draft 4 has no such schema; there it is written as a rule.
            Kind::Never if !draft.id_is_plain => return Value::Bool(false),
            Kind::Schema(schema) => return schema.clone(),
            _ => {}
        }
    }
    let mut out = if shape.nullable {
        with_null(shape, draft)
    } else {
        core(shape, draft)
    };
    if let Some(text) = &shape.description {
        out.insert("description".to_owned(), Value::String(text.clone()));
    }
    if let Some(value) = &shape.default {
        out.insert("default".to_owned(), value.clone());
    }
    for (key, value) in &shape.notes {
        out.entry(key.clone()).or_insert_with(|| value.clone());
    }
    Value::Object(out)
}

/// The name of the type, where the schema gives one.
pub(super) fn type_name(shape: &Shape) -> Option<&'static str> {
    if shape.implied {
        return None;
    }
    Some(match &shape.kind {
        Kind::Null => "null",
        Kind::Boolean => "boolean",
        Kind::Integer => "integer",
        Kind::Number => "number",
        Kind::String => "string",
        Kind::Array { .. } => "array",
        Kind::Object { .. } => "object",
        _ => return None,
    })
}

fn with_null(shape: &Shape, draft: Draft) -> Map<String, Value> {
    let mut out = core(shape, draft);
    let of_its_type = |key: &String| type_of_rule(key).is_some() || key == "format";
    let divisible = shape.choices.is_none() && shape.constraints.keys().all(of_its_type);
    match type_name(shape) {
        Some(name) if divisible && name != "null" => {
            out.insert("type".to_owned(), json!([name, "null"]));
            out
        }
        _ => {
            let mut either = Map::new();
            let forms = json!([out, {"type": "null"}]);
            either.insert("anyOf".to_owned(), forms);
            either
        }
    }
}

/// All but null and what is told: the rules themselves.
fn core(shape: &Shape, draft: Draft) -> Map<String, Value> {
    let mut out = Map::new();
    if let Some(name) = type_name(shape) {
        out.insert("type".to_owned(), Value::String(name.to_owned()));
    }
    let list = |shapes: &[Shape]| shapes.iter().map(|it| write(it, draft)).collect::<Value>();
    match &shape.kind {
        Kind::Array { prefix, items } => array(&mut out, prefix, items.as_deref(), draft),
        Kind::Object { .. } => object(&mut out, &shape.kind, draft),
        Kind::Union(forms) => {
            out.insert("anyOf".to_owned(), list(forms));
        }
        Kind::OneOf(forms) => {
            out.insert("oneOf".to_owned(), list(forms));
        }
        Kind::All(parts) => {
            out.insert("allOf".to_owned(), list(parts));
        }
        Kind::Const(value) => {
            out.insert("const".to_owned(), value.clone());
        }
        Kind::Ref(name) => {
            out.insert("$ref".to_owned(), Value::String(link(name)));
        }
        Kind::Schema(schema) => {
            out.insert("allOf".to_owned(), json!([schema]));
        }
        Kind::Never => {
            out.insert("not".to_owned(), json!({}));
        }
        _ => {}
    }
    if let Some(values) = &shape.choices {
        out.insert("enum".to_owned(), Value::Array(values.clone()));
    }
    for (key, value) in &shape.constraints {
        out.insert(key.clone(), value.clone());
    }
    out
}

fn array(out: &mut Map<String, Value>, prefix: &[Shape], items: Option<&Shape>, draft: Draft) {
    let (first, rest) = match (draft.items_may_be_a_list, prefix.is_empty()) {
        (true, false) => ("items", "additionalItems"),
        _ => ("prefixItems", "items"),
    };
    if !prefix.is_empty() {
        let all = prefix.iter().map(|it| write(it, draft)).collect();
        out.insert(first.to_owned(), all);
    }
    if let Some(items) = items {
        out.insert(rest.to_owned(), write(items, draft));
    }
}

fn object(out: &mut Map<String, Value>, kind: &Kind, draft: Draft) {
    let Kind::Object {
        params,
        also_required,
        additional,
    } = kind
    else {
        return;
    };
    let properties: Map<String, Value> = params
        .iter()
        .map(|param| (param.name.clone(), write(&param.shape, draft)))
        .collect();
    out.insert("properties".to_owned(), Value::Object(properties));
    let needed = params.iter().filter(|param| param.required);
    let needed = needed.map(|param| &param.name).chain(also_required);
    let needed: Vec<Value> = needed.map(|name| Value::String(name.clone())).collect();
    if !needed.is_empty() {
        out.insert("required".to_owned(), Value::Array(needed));
    }
    let other = match additional {
        Additional::Open => return,
        Additional::Closed => Value::Bool(false),
        Additional::Shape(shape) => match write(shape, draft) {
            Value::Object(empty) if empty.is_empty() => Value::Bool(true),
            schema => schema,
        },
    };
    out.insert("additionalProperties".to_owned(), other);
}
