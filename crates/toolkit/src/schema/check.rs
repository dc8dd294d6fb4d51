//! Validates arguments against a tool's schema. Unambiguous mistakes are corrected; otherwise every
//! violated rule is reported in words.

use std::collections::BTreeSet;

use deliberate_core::{did_you_mean, has_more_values};
use deliberate_json_schema::{TrustedSchema, ViolatedRule, ViolationKind};
use serde_json::{Map, Number, Value};

use super::split_list;
use crate::{ArgumentIssue, ToolError};

/// The most issues that are reported. A caller with more mistakes is helped by the first ones.
const MAX_ISSUES: usize = 8;

/// The most values in arguments of which every issue is looked for. The library builds an error for
/// each violation before the first one can be read, so this bounds memory.
const MAX_VALUES_WITH_ALL_ISSUES: usize = 10_000;

/// The largest fraction whose neighbors are whole numbers, 2^53. Beyond it a number may be rounded.
const MAX_EXACT_WHOLE: f64 = 9_007_199_254_740_992.0;

/// Validates arguments against one tool's schema.
pub(crate) struct ArgumentChecker {
    schema: Value,
    validator: TrustedSchema,
}

impl ArgumentChecker {
    pub(crate) fn new(schema: &Value) -> Result<Self, ToolError> {
        let validator = TrustedSchema::new(schema).map_err(|error| {
            tracing::error!(%error, "a tool's schema can't be compiled");
            ToolError::Internal
        })?;
        Ok(Self {
            schema: schema.clone(),
            validator,
        })
    }

    /// Returns the corrected arguments, or every rule that they violate; of arguments with very many
    /// values, the first one.
    pub(crate) fn check(&self, arguments: Value) -> Result<Value, ToolError> {
        let arguments = match arguments {
            Value::Null => Value::Object(Map::new()),
            arguments => normalize(arguments, &self.schema),
        };
        // Valid arguments are the common case, and faster to recognize.
        if self.validator.is_valid(&arguments) {
            return Ok(arguments);
        }
        let mut issues = if has_more_values(&arguments, MAX_VALUES_WITH_ALL_ISSUES) {
            self.first_issues(&arguments)
        } else {
            let violated = self.validator.violations(&arguments);
            let issues = violated.flat_map(|violated| self.explain(&violated));
            issues.take(MAX_ISSUES + 1).collect()
        };
        if issues.len() > MAX_ISSUES {
            issues.truncate(MAX_ISSUES);
            issues.push(ArgumentIssue::new(
                "arguments",
                "violate more rules than are shown here",
            ));
        }
        Err(ToolError::Invalid(issues))
    }

    /// Returns the issues of the first violation only.
    fn first_issues(&self, arguments: &Value) -> Vec<ArgumentIssue> {
        let Some(violated) = self.validator.first_violation(arguments) else {
            let rule = "do not match the tool's schema, and are too many to say where; send fewer";
            return vec![ArgumentIssue::new("arguments", rule)];
        };
        let mut issues = self.explain(&violated);
        issues.push(ArgumentIssue::new(
            "arguments",
            "are too many to look for further issues; send fewer",
        ));
        issues
    }

    fn explain(&self, violated: &ViolatedRule<'_>) -> Vec<ArgumentIssue> {
        let place = violated.path();
        let field = if place.is_empty() {
            "arguments".to_owned()
        } else {
            place.trim_start_matches('/').replace('/', ".")
        };
        let inside = |name: &str| {
            if place.is_empty() {
                name.to_owned()
            } else {
                format!("{field}.{name}")
            }
        };
        match violated.kind() {
            ViolationKind::UnknownFields(names) => names
                .iter()
                .take(MAX_ISSUES + 1)
                .map(|name| {
                    let known = self.property_names(place);
                    let value = violated.value().get(name.as_str()).unwrap_or(&Value::Null);
                    ArgumentIssue::new(inside(name), "is not an argument of this tool")
                        .with_value(value)
                        .with_suggestion(did_you_mean(name, known.iter().map(String::as_str)))
                })
                .collect(),
            ViolationKind::MissingField(name) => {
                vec![ArgumentIssue::new(inside(name), "is required")]
            }
            ViolationKind::Other => {
                vec![ArgumentIssue::new(field, violated.rule()).with_value(violated.value())]
            }
        }
    }

    /// Returns the property names that the schema has at a path in the arguments.
    fn property_names(&self, place: &str) -> BTreeSet<String> {
        let mut schema = &self.schema;
        for step in place.split('/').filter(|step| !step.is_empty()) {
            let inner = schema
                .get("properties")
                .and_then(|properties| properties.get(step))
                .or_else(|| schema.get("items"));
            match inner {
                Some(inner) => schema = inner,
                None => break,
            }
        }
        schema
            .get("properties")
            .and_then(Value::as_object)
            .map(|properties| properties.keys().cloned().collect())
            .unwrap_or_default()
    }
}

/// Corrects frequent and unambiguous mistakes of models and clients: `null` for an omitted
/// argument, a number, list or object written as text, a single item instead of a list, `3.0` for a
/// whole number.
fn normalize(value: Value, schema: &Value) -> Value {
    match coerce(value, schema) {
        Value::Object(fields) => Value::Object(normalize_fields(fields, schema)),
        Value::Array(items) => match schema.get("items") {
            Some(inner) => items
                .into_iter()
                .map(|item| normalize(item, inner))
                .collect(),
            None => Value::Array(items),
        },
        other => other,
    }
}

fn normalize_fields(fields: Map<String, Value>, schema: &Value) -> Map<String, Value> {
    let required = |name: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|required| required == name))
    };
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return fields;
    };
    fields
        .into_iter()
        .filter(|(name, value)| !value.is_null() || required(name))
        .map(|(name, value)| match properties.get(&name) {
            Some(inner) => {
                let value = normalize(value, inner);
                (name, value)
            }
            None => (name, value),
        })
        .collect()
}

/// Converts the value to the wanted type if it represents one.
fn coerce(value: Value, schema: &Value) -> Value {
    let Some(wanted) = schema.get("type").and_then(Value::as_str) else {
        return value;
    };
    if let Value::String(text) = &value
        && wanted != "string"
        && let Ok(plain) = serde_json::from_str::<Value>(text.trim())
        && is_type(&plain, wanted)
    {
        return coerce(plain, schema);
    }
    match value {
        Value::Number(number) if wanted == "integer" => Value::Number(whole_number(number)),
        Value::String(text) if wanted == "array" => {
            Value::Array(split_list::split_items(&text, schema))
        }
        Value::Object(_) if wanted == "array" => Value::Array(vec![value]),
        value => value,
    }
}

/// Returns a number such as `3.0` as the whole number that it is, and any other unchanged. JSON does
/// not distinguish the two, but the types of arguments do.
fn whole_number(number: Number) -> Number {
    let fraction = number.is_f64().then(|| number.as_f64()).flatten();
    let whole =
        fraction.and_then(|value| format!("{value:.0}").parse::<i64>().ok().zip(Some(value)));
    match whole {
        Some((whole, value)) if value.fract() == 0.0 && value.abs() <= MAX_EXACT_WHOLE => {
            Number::from(whole)
        }
        _ => number,
    }
}

fn is_type(value: &Value, kind: &str) -> bool {
    match kind {
        "number" | "integer" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn large_arguments_of_alternatives_are_refused_without_collecting_their_errors() {
        let list = json!({ "type": "array", "items": { "type": "string" } });
        let schema = json!({
            "type": "object",
            "properties": { "hints": { "anyOf": [list, { "type": "boolean" }] } },
        });
        let checker = ArgumentChecker::new(&schema).unwrap();
        let check = |count: usize| checker.check(json!({ "hints": vec![1; count] }));
        let small = check(10).unwrap_err().to_string();
        assert!(small.starts_with("hints: "), "{small}");
        let large = check(1_000_000).unwrap_err().to_string();
        assert!(large.contains("too many to say where"), "{large}");
        let valid = json!({ "hints": vec!["x"; 100_000] });
        assert!(checker.check(valid).is_ok());
    }
}
