//! Reads one schema without a reference into one shape. The reader handles nested schemas.

use serde_json::{Map, Value};

use super::{
    keywords::{is_validation_keyword, json_type, keyword_type},
    reader::SchemaReader,
    shape::{AdditionalProperties, Param, SchemaShape, ShapeKind},
};

/// The keywords of a schema, grouped by purpose.
pub(super) struct SchemaKeywords {
    pub(super) constraints: Map<String, Value>,
    description: Option<String>,
    default: Option<Value>,
    notes: Map<String, Value>,
}

impl SchemaKeywords {
    pub(super) fn split(fields: &Map<String, Value>) -> Self {
        let mut out = Self {
            constraints: Map::new(),
            description: None,
            default: None,
            notes: Map::new(),
        };
        for (key, value) in fields {
            match (key.as_str(), value) {
                // These only name locations, which are kept as definitions.
                ("$defs" | "definitions", Value::Object(_))
                | ("$anchor" | "$schema" | "$id", _) => {}
                ("description", Value::String(text)) => out.description = Some(text.clone()),
                ("default", value) => out.default = Some(value.clone()),
                (key, _) if is_validation_keyword(key) => {
                    out.constraints.insert(key.to_owned(), value.clone());
                }
                _ => {
                    out.notes.insert(key.clone(), value.clone());
                }
            }
        }
        out
    }

    /// Applies the outer keywords to a shape; they take precedence over the inner ones.
    pub(super) fn apply_to(self, shape: &mut SchemaShape) {
        shape.description = match (self.description, shape.description.take()) {
            (Some(outer), Some(inner)) if outer != inner => Some(format!("{outer}\n{inner}")),
            (outer, inner) => outer.or(inner),
        };
        shape.default = self.default.or(shape.default.take());
        let inner = std::mem::replace(&mut shape.notes, self.notes);
        for (key, value) in inner {
            shape.notes.entry(key).or_insert(value);
        }
    }
}

/// Reads a schema; an error says why it must be kept whole.
pub(super) fn read(
    reader: &mut SchemaReader<'_>,
    fields: &Map<String, Value>,
) -> Result<SchemaShape, String> {
    let mut keywords = SchemaKeywords::split(fields);
    let mut rules = std::mem::take(&mut keywords.constraints);
    let mut shape = match read_combinator(reader, &rules)? {
        Some(shape) => shape,
        None => read_typed(reader, &mut rules)?,
    };
    keywords.apply_to(&mut shape);
    Ok(shape)
}

/// Reads a schema whose only rule is `anyOf`, `oneOf` or `allOf`.
fn read_combinator(
    reader: &mut SchemaReader<'_>,
    rules: &Map<String, Value>,
) -> Result<Option<SchemaShape>, String> {
    let mut each = rules.iter();
    let (Some((key, value)), None) = (each.next(), each.next()) else {
        return Ok(None);
    };
    if !["anyOf", "oneOf", "allOf"].contains(&key.as_str()) {
        return Ok(None);
    }
    let Some(forms) = value.as_array().filter(|forms| !forms.is_empty()) else {
        return Err(format!(
            "{key} must be a list of schemas; this part is kept whole"
        ));
    };
    let shapes = forms.iter().enumerate();
    let mut shapes: Vec<SchemaShape> = shapes
        .map(|(at, form)| reader.read_at(&format!("{key}[{at}]"), form))
        .collect();
    let nothing = |it: &SchemaShape| it.kind == ShapeKind::Null && it.is_bare();
    if key != "allOf"
        && shapes.len() == 2
        && let Some(at) = shapes.iter().position(nothing)
    {
        let null = shapes.remove(at);
        if let [real] = shapes.as_slice()
            && (key == "anyOf" || excludes_null(real))
        {
            let mut real = real.clone();
            real.nullable = true;
            return Ok(Some(real));
        }
        shapes.insert(at, null);
    }
    Ok(Some(SchemaShape::new(match key.as_str() {
        "anyOf" => ShapeKind::AnyOf(shapes),
        "oneOf" => ShapeKind::OneOf(shapes),
        _ => ShapeKind::AllOf(shapes),
    })))
}

/// Returns true if a shape rejects null. `oneOf` rejects values that match twice, so an alternative
/// that accepts null itself must stay separate.
fn excludes_null(shape: &SchemaShape) -> bool {
    let named = matches!(
        shape.kind,
        ShapeKind::Boolean
            | ShapeKind::Integer
            | ShapeKind::Number
            | ShapeKind::String
            | ShapeKind::Array { .. }
            | ShapeKind::Object { .. }
    );
    named && !shape.implied && !shape.nullable
}

/// Reads a schema by its type.
fn read_typed(
    reader: &mut SchemaReader<'_>,
    rules: &mut Map<String, Value>,
) -> Result<SchemaShape, String> {
    match rules.get("type").cloned() {
        None => read_untyped(reader, rules),
        Some(Value::String(name)) => {
            rules.shift_remove("type");
            let fixed = rules.get("const").filter(|_| !reader.draft.has_legacy_id);
            if fixed.is_some_and(|value| implies_type(value, &name)) {
                return read_untyped(reader, rules);
            }
            read_type(reader, &name, rules)
        }
        Some(Value::Array(names)) => read_type_list(reader, &names, rules),
        Some(_) => {
            Err("type must be a name or a list of names; this part is kept whole".to_owned())
        }
    }
}

/// Returns true if a fixed value alone determines the type.
fn implies_type(value: &Value, kind: &str) -> bool {
    match value {
        Value::Number(number) if kind == "integer" => number.is_i64() || number.is_u64(),
        value => json_type(value) == kind,
    }
}

/// Reads a schema without a type: its rules determine which type is meant, and other values are
/// valid too.
fn read_untyped(
    reader: &mut SchemaReader<'_>,
    rules: &mut Map<String, Value>,
) -> Result<SchemaShape, String> {
    let mut kinds = rules.keys().filter_map(|key| keyword_type(key));
    let first = kinds.next();
    let one = first.filter(|first| kinds.all(|kind| kind == *first));
    drop(kinds);
    if let Some(kind) = one {
        let mut shape = read_type(reader, kind, rules)?;
        shape.implied = true;
        return Ok(shape);
    }
    let mut shape = SchemaShape::new(match rules.shift_remove("const") {
        Some(value) => ShapeKind::Const(value),
        None => ShapeKind::Any,
    });
    take_enum(&mut shape, rules)?;
    keep_constraints(reader, &mut shape, rules);
    Ok(shape)
}

fn read_type(
    reader: &mut SchemaReader<'_>,
    name: &str,
    rules: &mut Map<String, Value>,
) -> Result<SchemaShape, String> {
    let kind = match name {
        "null" => ShapeKind::Null,
        "boolean" => ShapeKind::Boolean,
        "integer" => ShapeKind::Integer,
        "number" => ShapeKind::Number,
        "string" => ShapeKind::String,
        "array" => read_array(reader, rules)?,
        "object" => read_object(reader, rules)?,
        other => {
            let shown: String = other.chars().take(40).collect();
            return Err(format!(
                "the type {shown:?} does not exist; this part is kept whole"
            ));
        }
    };
    let mut shape = SchemaShape::new(kind);
    take_enum(&mut shape, rules)?;
    keep_constraints(reader, &mut shape, rules);
    Ok(shape)
}

/// Reads a list of types: null becomes a flag, several others become a union, each with the rules
/// that apply to it.
fn read_type_list(
    reader: &mut SchemaReader<'_>,
    names: &[Value],
    rules: &mut Map<String, Value>,
) -> Result<SchemaShape, String> {
    let names: Option<Vec<&str>> = names.iter().map(Value::as_str).collect();
    let names = names
        .filter(|names| !names.is_empty())
        .ok_or("type must be a name or a list of names; this part is kept whole")?;
    // If a rule applies to all types at once, null cannot be separated.
    let divisible = rules.keys().all(|key| {
        keyword_type(key).is_some() || ["type", "enum", "format"].contains(&key.as_str())
    });
    if !divisible {
        let mut shape = SchemaShape::new(ShapeKind::Any);
        keep_constraints(reader, &mut shape, rules);
        return Ok(shape);
    }
    rules.shift_remove("type");
    let null_passes = match rules.get("enum") {
        Some(Value::Array(values)) => values.contains(&Value::Null),
        Some(_) => return Err("enum must be a list; this part is kept whole".to_owned()),
        None => true,
    };
    let nullable = names.contains(&"null") && null_passes;
    let mut forms = Vec::new();
    for name in names.iter().filter(|name| **name != "null") {
        let mut own = keywords_for(name, rules);
        let none_left = matches!(own.get("enum"), Some(Value::Array(left)) if left.is_empty());
        if !none_left {
            forms.push(read_type(reader, name, &mut own)?);
        }
    }
    let mut shape = match (forms.pop(), forms.is_empty(), nullable) {
        (None, _, true) => return Ok(SchemaShape::new(ShapeKind::Null)),
        (None, _, false) => SchemaShape::new(ShapeKind::Never),
        (Some(only), true, _) => only,
        (Some(last), false, _) => {
            forms.push(last);
            SchemaShape::new(ShapeKind::AnyOf(forms))
        }
    };
    shape.nullable |= nullable;
    Ok(shape)
}

fn keywords_for(name: &str, rules: &Map<String, Value>) -> Map<String, Value> {
    let family = if name == "integer" { "number" } else { name };
    let mut own = Map::new();
    for (key, value) in rules {
        if keyword_type(key).is_some_and(|kind| kind != family) {
            continue;
        }
        let value = match (key.as_str(), value) {
            ("enum", Value::Array(values)) => {
                let fitting = values.iter().filter(|value| json_type(value) == family);
                fitting.cloned().collect()
            }
            _ => value.clone(),
        };
        own.insert(key.clone(), value);
    }
    own
}

fn read_array(
    reader: &mut SchemaReader<'_>,
    rules: &mut Map<String, Value>,
) -> Result<ShapeKind, String> {
    // In older drafts a list is the tuple, and `additionalItems` describes the remaining items.
    let old = reader.draft.items_may_be_tuple;
    let (first, rest) = match rules.get("items") {
        Some(Value::Array(_)) if old => ("items", "additionalItems"),
        Some(Value::Array(_)) => {
            return Err("items must be a schema; this part is kept whole".to_owned());
        }
        _ if old => ("", "items"),
        _ => ("prefixItems", "items"),
    };
    let prefix = match rules.shift_remove(first) {
        None => Vec::new(),
        Some(Value::Array(items)) => items
            .iter()
            .enumerate()
            .map(|(at, item)| reader.read_at(&format!("[{at}]"), item))
            .collect(),
        Some(_) => return Err(format!("{first} must be a list; this part is kept whole")),
    };
    let items = rules.shift_remove(rest);
    let items = items.map(|items| Box::new(reader.read_at("[]", &items)));
    Ok(ShapeKind::Array { prefix, items })
}

fn read_object(
    reader: &mut SchemaReader<'_>,
    rules: &mut Map<String, Value>,
) -> Result<ShapeKind, String> {
    let properties = match rules.shift_remove("properties") {
        None => Map::new(),
        Some(Value::Object(named)) => named,
        Some(_) => return Err("properties must be an object; this part is kept whole".to_owned()),
    };
    let required: Option<Vec<String>> = match rules.shift_remove("required") {
        None => Some(Vec::new()),
        Some(Value::Array(names)) => {
            let texts = names.iter().map(Value::as_str);
            texts.map(|name| name.map(str::to_owned)).collect()
        }
        Some(_) => None,
    };
    let required = required.ok_or("required must be a list of names; this part is kept whole")?;
    let wanted: std::collections::HashSet<&String> = required.iter().collect();
    let mut params = Vec::with_capacity(properties.len());
    for (name, schema) in &properties {
        params.push(Param {
            name: name.clone(),
            required: wanted.contains(name),
            shape: reader.read_at(name, schema),
        });
    }
    let mut also_required: Vec<String> = Vec::new();
    for name in &required {
        if !properties.contains_key(name) && !also_required.contains(name) {
            also_required.push(name.clone());
        }
    }
    let additional = match rules.shift_remove("additionalProperties") {
        None => AdditionalProperties::Open,
        Some(Value::Bool(false)) => AdditionalProperties::Closed,
        Some(schema) => AdditionalProperties::Shape(Box::new(reader.read_at("*", &schema))),
    };
    Ok(ShapeKind::Object {
        params,
        also_required,
        additional,
    })
}

fn take_enum(shape: &mut SchemaShape, rules: &mut Map<String, Value>) -> Result<(), String> {
    match rules.shift_remove("enum") {
        None => Ok(()),
        Some(Value::Array(values)) => {
            shape.enum_values = Some(values);
            Ok(())
        }
        Some(_) => Err("enum must be a list; this part is kept whole".to_owned()),
    }
}

fn keep_constraints(
    reader: &mut SchemaReader<'_>,
    shape: &mut SchemaShape,
    rules: &Map<String, Value>,
) {
    for (key, value) in rules {
        if let Some(value) = reader.refs.rewrite_keyword(key, value) {
            shape.constraints.insert(key.clone(), value);
        }
    }
}
