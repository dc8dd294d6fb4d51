//! Coerces a model's answer to its schema where the meaning is clear.
//!
//! Models write `"85%"` for 85, one string where a list is expected, or 104 on a scale to 100.
//! Asking again for that costs a call and changes nothing. Unclear values are left alone: the
//! validation that follows reports them.

mod scalar;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use scalar::{coerce_boolean, coerce_enum, coerce_integer, coerce_number, coerce_string};

/// Maximum depth to which a schema is followed; `$ref` may form a cycle.
const MAX_DEPTH: usize = 64;

/// Coerces `value` to `schema`; values it does not understand stay unchanged.
pub fn coerce(value: Value, schema: &Value) -> Value {
    let fitter = Coercer { root: schema };
    fitter.coerce(value, schema, MAX_DEPTH)
}

struct Coercer<'s> {
    root: &'s Value,
}

impl<'s> Coercer<'s> {
    fn coerce(&self, value: Value, schema: &'s Value, depth: usize) -> Value {
        let Some(depth) = depth.checked_sub(1) else {
            return value;
        };
        if let Some(target) = self.resolve_ref(schema) {
            return self.coerce(value, target, depth);
        }
        if let Some(words) = enum_strings(schema) {
            return coerce_enum(value, &words);
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(branches) = schema.get(key).and_then(Value::as_array) {
                return self.coerce_any(value, branches, depth);
            }
        }
        let types = types(schema);
        if value.is_null() && types.contains(&"null") {
            return value;
        }
        // The value's present type is tried first, so that `["string", "integer"]` changes nothing.
        let Some(wanted) = types
            .iter()
            .find(|wanted| is_type(&value, wanted))
            .or_else(|| types.iter().find(|wanted| **wanted != "null"))
        else {
            return value;
        };
        if is_spelled_null(&value) && types.contains(&"null") && !types.contains(&"string") {
            return Value::Null;
        }
        match *wanted {
            "integer" => coerce_integer(value, schema),
            "number" => coerce_number(value, schema),
            "boolean" => coerce_boolean(value),
            "string" => coerce_string(value, schema),
            "array" => self.coerce_array(value, schema, depth),
            "object" => self.coerce_object(value, schema, depth),
            _ => value,
        }
    }

    /// Resolves a local `$ref`.
    fn resolve_ref(&self, schema: &Value) -> Option<&'s Value> {
        let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.root.pointer(pointer)
    }

    fn resolve(&self, schema: &'s Value) -> &'s Value {
        self.resolve_ref(schema).unwrap_or(schema)
    }

    fn coerce_any(&self, value: Value, branches: &'s [Value], depth: usize) -> Value {
        let null = |branch: &&Value| types(self.resolve(branch)) == ["null"];
        let nullable = branches.iter().any(|branch| null(&branch));
        if value.is_null() && nullable {
            return value;
        }
        let mut others = branches.iter().filter(|branch| !null(branch));
        let (first, second) = (others.next(), others.next());
        let matching = branches.iter().find(|branch| {
            types(self.resolve(branch))
                .iter()
                .any(|wanted| is_type(&value, wanted))
        });
        match (matching, first, second) {
            (Some(branch), ..) => self.coerce(value, branch, depth),
            (None, Some(_), None) if nullable && is_spelled_null(&value) => Value::Null,
            (None, Some(only), None) => self.coerce(value, only, depth),
            _ => value,
        }
    }

    fn coerce_array(&self, value: Value, schema: &'s Value, depth: usize) -> Value {
        let items = match value {
            Value::Array(items) => items,
            // `null` is no element: the model gave no value.
            Value::Null => return Value::Null,
            one => vec![one],
        };
        let Some(schema) = schema.get("items") else {
            return Value::Array(items);
        };
        let items = items
            .into_iter()
            .map(|item| self.coerce(item, schema, depth))
            .collect();
        Value::Array(items)
    }

    fn coerce_object(&self, value: Value, schema: &'s Value, depth: usize) -> Value {
        let mut members = match value {
            // The model wrote one item without its list.
            Value::Object(members) if self.is_item(&members, schema) => {
                return self.coerce(Value::Array(vec![members.into()]), schema, depth);
            }
            Value::Object(members) => members,
            Value::Array(mut items) => match (items.len(), only_required_property(schema, "array"))
            {
                // The model put the object into a list.
                (1, _) if items.iter().all(|it| self.is_wrapping_object(it, schema)) => {
                    return self.coerce(items.remove(0), schema, depth);
                }
                // The model wrote the list without the object around it.
                (_, Some(name)) => single_property_object(name, Value::Array(items)),
                _ => return Value::Array(items),
            },
            Value::String(text) => match only_required_property(schema, "string") {
                // The model wrote only the text of the required property.
                Some(name) => single_property_object(name, Value::String(text)),
                None => return Value::String(text),
            },
            other => return other,
        };
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            for (name, property) in properties {
                let Some(member) = members.get_mut(name) else {
                    continue;
                };
                *member = self.coerce(member.take(), property, depth);
                // `null` for an optional property means that the model gave no value.
                if member.is_null() && !is_required(schema, name) && !self.allows_null(property) {
                    members.shift_remove(name);
                }
            }
        }
        Value::Object(members)
    }

    /// Returns whether the value is an object and not an item of the list that the schema expects.
    fn is_wrapping_object(&self, value: &Value, schema: &'s Value) -> bool {
        value
            .as_object()
            .is_some_and(|members| !self.is_item(members, schema))
    }

    /// Returns whether the members are those of an item of the only list that the schema requires,
    /// and none belongs to the object itself.
    fn is_item(&self, members: &Map<String, Value>, schema: &'s Value) -> bool {
        let knows = |schema: &Value| {
            let known = schema.get("properties").and_then(Value::as_object);
            known.is_some_and(|known| known.keys().any(|name| members.contains_key(name)))
        };
        let item = only_required_property(schema, "array")
            .and_then(|name| schema.get("properties")?.get(name)?.get("items"))
            .map(|item| self.resolve(item));
        item.is_some_and(knows) && !knows(schema)
    }

    /// Returns whether a schema allows `null` or names no type.
    fn allows_null(&self, schema: &'s Value) -> bool {
        let schema = self.resolve(schema);
        let types = types(schema);
        types.is_empty() && enum_strings(schema).is_none() || types.contains(&"null")
    }
}

/// Returns the types that a schema names.
fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        // A schema with properties describes an object even if it names no type.
        _ if schema.get("properties").is_some() => vec!["object"],
        _ => Vec::new(),
    }
}

fn is_type(value: &Value, wanted: &str) -> bool {
    match value {
        Value::Null => wanted == "null",
        Value::Bool(_) => wanted == "boolean",
        Value::Number(number) => wanted == "number" || (wanted == "integer" && !number.is_f64()),
        Value::String(_) => wanted == "string",
        Value::Array(_) => wanted == "array",
        Value::Object(_) => wanted == "object",
    }
}

fn is_spelled_null(value: &Value) -> bool {
    value.as_str().is_some_and(|text| {
        let text = text.trim();
        text.is_empty() || text.eq_ignore_ascii_case("null") || text.eq_ignore_ascii_case("none")
    })
}

/// Returns the strings that a schema allows, if its enum has only strings.
fn enum_strings(schema: &Value) -> Option<Vec<&str>> {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return words.iter().map(Value::as_str).collect();
    }
    let branches = schema.get("oneOf").and_then(Value::as_array)?;
    branches
        .iter()
        .map(|branch| branch.get("const").and_then(Value::as_str))
        .collect()
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema
        .get("required")
        .and_then(Value::as_array)
        .is_some_and(|required| required.iter().any(|required| required == name))
}

/// Returns the name of the only required property, if it has that type.
fn only_required_property<'s>(schema: &'s Value, wanted: &str) -> Option<&'s str> {
    let required = schema.get("required")?.as_array()?;
    let [Value::String(name)] = required.as_slice() else {
        return None;
    };
    let property = schema.get("properties")?.get(name)?;
    types(property).contains(&wanted).then_some(name)
}

fn single_property_object(name: &str, value: Value) -> Map<String, Value> {
    [(name.to_owned(), value)].into_iter().collect()
}
