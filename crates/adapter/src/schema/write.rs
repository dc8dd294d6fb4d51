//! Writes shapes as a schema that accepts the same values as the schema they were read from.

use serde_json::{Map, Value, json};

use super::{
    draft::SchemaDraft,
    keywords::keyword_type,
    references::definition_ref,
    shape::{AdditionalProperties, SchemaShape, ShapeKind},
};

/// Writes a shape as a schema.
pub(super) fn write_schema(shape: &SchemaShape, draft: SchemaDraft) -> Value {
    let untold = shape.description.is_none() && shape.default.is_none() && shape.notes.is_empty();
    if untold && shape.is_bare() {
        match &shape.kind {
            // Draft 4 has no boolean schemas; there it is written as a rule.
            ShapeKind::Never if !draft.has_legacy_id => return Value::Bool(false),
            ShapeKind::Opaque(schema) => return schema.clone(),
            _ => {}
        }
    }
    let mut out = if shape.nullable {
        with_null(shape, draft)
    } else {
        write_core(shape, draft)
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

/// Returns the name of the type, if the schema gives one.
pub(super) fn type_name(shape: &SchemaShape) -> Option<&'static str> {
    if shape.implied {
        return None;
    }
    Some(match &shape.kind {
        ShapeKind::Null => "null",
        ShapeKind::Boolean => "boolean",
        ShapeKind::Integer => "integer",
        ShapeKind::Number => "number",
        ShapeKind::String => "string",
        ShapeKind::Array { .. } => "array",
        ShapeKind::Object { .. } => "object",
        _ => return None,
    })
}

fn with_null(shape: &SchemaShape, draft: SchemaDraft) -> Map<String, Value> {
    let mut out = write_core(shape, draft);
    let of_its_type = |key: &String| keyword_type(key).is_some() || key == "format";
    let divisible = shape.enum_values.is_none() && shape.constraints.keys().all(of_its_type);
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

/// Writes the rules of a shape, without null and descriptions.
fn write_core(shape: &SchemaShape, draft: SchemaDraft) -> Map<String, Value> {
    let mut out = Map::new();
    if let Some(name) = type_name(shape) {
        out.insert("type".to_owned(), Value::String(name.to_owned()));
    }
    let list = |shapes: &[SchemaShape]| {
        shapes
            .iter()
            .map(|it| write_schema(it, draft))
            .collect::<Value>()
    };
    match &shape.kind {
        ShapeKind::Array { prefix, items } => {
            write_array(&mut out, prefix, items.as_deref(), draft);
        }
        ShapeKind::Object { .. } => write_object(&mut out, &shape.kind, draft),
        ShapeKind::AnyOf(forms) => {
            out.insert("anyOf".to_owned(), list(forms));
        }
        ShapeKind::OneOf(forms) => {
            out.insert("oneOf".to_owned(), list(forms));
        }
        ShapeKind::AllOf(parts) => {
            out.insert("allOf".to_owned(), list(parts));
        }
        ShapeKind::Const(value) => {
            out.insert("const".to_owned(), value.clone());
        }
        ShapeKind::Ref(name) => {
            out.insert("$ref".to_owned(), Value::String(definition_ref(name)));
        }
        ShapeKind::Opaque(schema) => {
            out.insert("allOf".to_owned(), json!([schema]));
        }
        ShapeKind::Never => {
            out.insert("not".to_owned(), json!({}));
        }
        _ => {}
    }
    if let Some(values) = &shape.enum_values {
        out.insert("enum".to_owned(), Value::Array(values.clone()));
    }
    for (key, value) in &shape.constraints {
        out.insert(key.clone(), value.clone());
    }
    out
}

fn write_array(
    out: &mut Map<String, Value>,
    prefix: &[SchemaShape],
    items: Option<&SchemaShape>,
    draft: SchemaDraft,
) {
    let (first, rest) = match (draft.items_may_be_tuple, prefix.is_empty()) {
        (true, false) => ("items", "additionalItems"),
        _ => ("prefixItems", "items"),
    };
    if !prefix.is_empty() {
        let all = prefix.iter().map(|it| write_schema(it, draft)).collect();
        out.insert(first.to_owned(), all);
    }
    if let Some(items) = items {
        out.insert(rest.to_owned(), write_schema(items, draft));
    }
}

fn write_object(out: &mut Map<String, Value>, kind: &ShapeKind, draft: SchemaDraft) {
    let ShapeKind::Object {
        params,
        also_required,
        additional,
    } = kind
    else {
        return;
    };
    let properties: Map<String, Value> = params
        .iter()
        .map(|param| (param.name.clone(), write_schema(&param.shape, draft)))
        .collect();
    out.insert("properties".to_owned(), Value::Object(properties));
    let needed = params.iter().filter(|param| param.required);
    let needed = needed.map(|param| &param.name).chain(also_required);
    let needed: Vec<Value> = needed.map(|name| Value::String(name.clone())).collect();
    if !needed.is_empty() {
        out.insert("required".to_owned(), Value::Array(needed));
    }
    let other = match additional {
        AdditionalProperties::Open => return,
        AdditionalProperties::Closed => Value::Bool(false),
        AdditionalProperties::Shape(shape) => match write_schema(shape, draft) {
            Value::Object(empty) if empty.is_empty() => Value::Bool(true),
            schema => schema,
        },
    };
    out.insert("additionalProperties".to_owned(), other);
}
