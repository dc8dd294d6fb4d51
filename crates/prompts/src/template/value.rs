//! Converts values to and from the template engine. An absent value prints as nothing, is false, is
//! empty, and has only absent parts, so that optional arguments need no special handling. Knows
//! nothing of templates.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use minijinja::value::{Enumerator, Object, ObjectRepr, Value, ValueKind};
use serde_json::Value as Json;

/// The maximum nesting depth of values.
const MAX_DEPTH: usize = 100;

/// The value of an argument that is declared but not given.
#[derive(Debug)]
struct AbsentValue;

impl Object for AbsentValue {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, _key: &Value) -> Option<Value> {
        Some(absent_value())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Empty
    }

    fn render(self: &Arc<Self>, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}

/// A list whose entries beyond its end are absent.
#[derive(Debug)]
struct TemplateList(Vec<Value>);

impl Object for TemplateList {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let index = key.as_usize()?;
        Some(self.0.get(index).cloned().unwrap_or_else(absent_value))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.0.len())
    }
}

/// An object with fields in their given order; missing fields are absent.
#[derive(Debug)]
struct TemplateObject {
    names: Vec<Arc<str>>,
    values: BTreeMap<Arc<str>, Value>,
}

impl Object for TemplateObject {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.values.get(key.as_str()?).cloned()
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        Some(self.values.get(key).cloned().unwrap_or_else(absent_value))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let names: Vec<Value> = self.names.iter().map(Value::from).collect();
        Enumerator::RevIter(Box::new(names.into_iter()))
    }
}

/// Returns an absent value.
pub(super) fn absent_value() -> Value {
    Value::from_object(AbsentValue)
}

/// Returns whether a value is absent.
pub(super) fn is_absent(value: &Value) -> bool {
    value.is_undefined() || value.is_none() || value.downcast_object_ref::<AbsentValue>().is_some()
}

/// Converts JSON to a template value.
pub(super) fn from_json(json: &Json) -> Value {
    match json {
        Json::Null => absent_value(),
        Json::Bool(it) => Value::from(*it),
        Json::String(it) => Value::from(it.as_str()),
        Json::Number(it) => it
            .as_i64()
            .map(Value::from)
            .or_else(|| it.as_u64().map(Value::from))
            .or_else(|| it.as_f64().map(Value::from))
            .unwrap_or_else(absent_value),
        Json::Array(items) => {
            Value::from_object(TemplateList(items.iter().map(from_json).collect()))
        }
        Json::Object(fields) => {
            let values: BTreeMap<Arc<str>, Value> = fields
                .iter()
                .map(|(name, value)| (Arc::from(name.as_str()), from_json(value)))
                .collect();
            let names = fields.keys().map(|name| Arc::from(name.as_str())).collect();
            Value::from_object(TemplateObject { names, values })
        }
    }
}

/// The error for a value that is too large or too deeply nested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ValueTooLarge;

/// The remaining size that a value may have.
#[derive(Debug)]
pub(super) struct ValueSizeBudget(pub(super) usize);

impl ValueSizeBudget {
    /// Subtracts a size from the budget.
    pub(super) fn consume(&mut self, size: usize) -> Result<(), ValueTooLarge> {
        self.0 = self.0.checked_sub(size).ok_or(ValueTooLarge)?;
        Ok(())
    }
}

/// What a scalar and a container cost beside the bytes of text, so that the budget also bounds the
/// memory of many small parts.
const SCALAR_SIZE: usize = 8;
const CONTAINER_SIZE: usize = 64;

/// Subtracts the size of a value from the budget: the bytes of text and a constant for each part.
pub(super) fn measure(value: &Value, room: &mut ValueSizeBudget) -> Result<(), ValueTooLarge> {
    measure_at(value, room, 0)
}

fn measure_at(
    value: &Value,
    budget: &mut ValueSizeBudget,
    depth: usize,
) -> Result<(), ValueTooLarge> {
    if depth > MAX_DEPTH {
        return Err(ValueTooLarge);
    }
    if let Some(text) = value.as_str() {
        return budget.consume(SCALAR_SIZE + text.len());
    }
    let (true, Ok(items)) = (is_container(value), value.try_iter()) else {
        return budget.consume(SCALAR_SIZE);
    };
    budget.consume(CONTAINER_SIZE)?;
    for item in items {
        if value.kind() == ValueKind::Map {
            let inner = value.get_item(&item).unwrap_or_default();
            measure_at(&inner, budget, depth + 1)?;
        }
        measure_at(&item, budget, depth + 1)?;
    }
    Ok(())
}

fn is_container(value: &Value) -> bool {
    matches!(
        value.kind(),
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable
    )
}

/// Converts a template value to JSON within the budget.
pub(super) fn to_json(value: &Value, room: &mut ValueSizeBudget) -> Result<Json, ValueTooLarge> {
    to_json_at(value, room, 0)
}

fn to_json_at(
    value: &Value,
    budget: &mut ValueSizeBudget,
    depth: usize,
) -> Result<Json, ValueTooLarge> {
    if depth > MAX_DEPTH {
        return Err(ValueTooLarge);
    }
    budget.consume(1)?;
    if is_absent(value) {
        return Ok(Json::Null);
    }
    match value.kind() {
        ValueKind::Bool => Ok(Json::Bool(value.is_true())),
        ValueKind::Number => Ok(serde_json::to_value(value).unwrap_or_default()),
        ValueKind::Seq | ValueKind::Iterable => value
            .try_iter()
            .into_iter()
            .flatten()
            .map(|item| to_json_at(&item, budget, depth + 1))
            .collect::<Result<Vec<_>, _>>()
            .map(Json::Array),
        ValueKind::Map => {
            let mut fields = serde_json::Map::new();
            for key in value.try_iter().into_iter().flatten() {
                let inner = value.get_item(&key).unwrap_or_default();
                let inner = to_json_at(&inner, budget, depth + 1)?;
                let mut name = String::new();
                write_text(&key, &mut name, budget)?;
                fields.insert(name, inner);
            }
            Ok(Json::Object(fields))
        }
        _ => {
            let mut text = String::new();
            write_text(value, &mut text, budget)?;
            Ok(Json::String(text))
        }
    }
}

/// Writes a value as readable text: text unchanged, `true` and `false`, nothing for absent values,
/// lists of scalars separated by commas, anything else as JSON.
pub(super) fn write_text(
    value: &Value,
    into: &mut impl std::fmt::Write,
    budget: &mut ValueSizeBudget,
) -> Result<(), ValueTooLarge> {
    if let Some(text) = value.as_str() {
        budget.consume(text.len())?;
        return into.write_str(text).map_err(|_| ValueTooLarge);
    }
    if is_absent(value) {
        return Ok(());
    }
    budget.consume(1)?;
    let written = match value.kind() {
        ValueKind::Bool => into.write_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => {
            let text = container_text(value, budget)?;
            into.write_str(&text)
        }
        _ => {
            let mut text = String::new();
            write!(text, "{value}").map_err(|_| ValueTooLarge)?;
            budget.consume(text.len())?;
            into.write_str(&text)
        }
    };
    written.map_err(|_| ValueTooLarge)
}

fn container_text(value: &Value, budget: &mut ValueSizeBudget) -> Result<String, ValueTooLarge> {
    let json = to_json(value, budget)?;
    let Json::Array(items) = &json else {
        return Ok(json.to_string());
    };
    if items.iter().any(|it| it.is_array() || it.is_object()) {
        return Ok(json.to_string());
    }
    let texts: Vec<String> = items.iter().map(json_to_text).collect();
    Ok(texts.join(","))
}

/// Converts JSON to text: text unchanged, nothing for null, anything else as JSON.
pub(crate) fn json_to_text(json: &Json) -> String {
    match json {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}
