//! Makes an answer fit its schema where the meaning is clear.
//!
//! Models write `"85%"` for 85, one string where a list is wanted, 104 out of 100. Asking again
//! for that costs a call and teaches nothing. What is not clear is left alone: the check that
//! follows says what is wrong with it.

use serde_json::{Number, Value};

/// How deep schemas are followed; `$ref` may go in circles.
const MAX_DEPTH: usize = 64;

/// Fits `value` to `schema`; unknown things stay as they are.
pub fn fit(value: Value, schema: &Value) -> Value {
    let fitter = Fitter { root: schema };
    fitter.fit(value, schema, MAX_DEPTH)
}

struct Fitter<'s> {
    root: &'s Value,
}

impl<'s> Fitter<'s> {
    fn fit(&self, value: Value, schema: &'s Value, depth: usize) -> Value {
        let Some(depth) = depth.checked_sub(1) else {
            return value;
        };
        if let Some(target) = self.target(schema) {
            return self.fit(value, target, depth);
        }
        if let Some(words) = words(schema) {
            return fit_word(value, &words);
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(branches) = schema.get(key).and_then(Value::as_array) {
                return self.fit_any(value, branches, depth);
            }
        }
        let types = types(schema);
        if value.is_null() && types.contains(&"null") {
            return value;
        }
        // What the value already is comes first, so that `["string", "integer"]` changes nothing.
        let Some(wanted) = types
            .iter()
            .find(|wanted| is_a(&value, wanted))
            .or_else(|| types.iter().find(|wanted| **wanted != "null"))
        else {
            return value;
        };
        if is_spelled_null(&value) && types.contains(&"null") && !types.contains(&"string") {
            return Value::Null;
        }
        match *wanted {
            "integer" => fit_integer(value, schema),
            "number" => fit_number(value, schema),
            "boolean" => fit_boolean(value),
            "string" => fit_string(value, schema),
            "array" => self.fit_array(value, schema, depth),
            "object" => self.fit_object(value, schema, depth),
            _ => value,
        }
    }

    /// What a local `$ref` points to.
    fn target(&self, schema: &Value) -> Option<&'s Value> {
        let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.root.pointer(pointer)
    }

    fn resolved(&self, schema: &'s Value) -> &'s Value {
        self.target(schema).unwrap_or(schema)
    }

    fn fit_any(&self, value: Value, branches: &'s [Value], depth: usize) -> Value {
        let null = |branch: &&Value| types(self.resolved(branch)) == ["null"];
        let nullable = branches.iter().any(|branch| null(&branch));
        if value.is_null() && nullable {
            return value;
        }
        let mut others = branches.iter().filter(|branch| !null(branch));
        let (first, second) = (others.next(), others.next());
        let matching = branches.iter().find(|branch| {
            types(self.resolved(branch))
                .iter()
                .any(|wanted| is_a(&value, wanted))
        });
        match (matching, first, second) {
            (Some(branch), ..) => self.fit(value, branch, depth),
            (None, Some(_), None) if nullable && is_spelled_null(&value) => Value::Null,
            (None, Some(only), None) => self.fit(value, only, depth),
            _ => value,
        }
    }

    fn fit_array(&self, value: Value, schema: &'s Value, depth: usize) -> Value {
        let mut items = match value {
            Value::Array(items) => items,
            // `null` is no element: nothing was said.
            Value::Null => return Value::Null,
            one => vec![one],
        };
        if let Some(most) = limit(schema, "maxItems") {
            items.truncate(most);
        }
        let Some(schema) = schema.get("items") else {
            return Value::Array(items);
        };
        let items = items
            .into_iter()
            .map(|item| self.fit(item, schema, depth))
            .collect();
        Value::Array(items)
    }

    fn fit_object(&self, value: Value, schema: &'s Value, depth: usize) -> Value {
        let mut members = match value {
            Value::Object(members) => members,
            Value::Array(mut items) => match (items.len(), lone_list(schema)) {
                // The object was put into a list.
                (1, _) if items.iter().all(Value::is_object) => {
                    return self.fit(items.remove(0), schema, depth);
                }
                // The list was not put into its object.
                (_, Some(name)) => [(name.to_owned(), Value::Array(items))]
                    .into_iter()
                    .collect(),
                _ => return Value::Array(items),
            },
            other => return other,
        };
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            for (name, schema) in properties {
                if let Some(member) = members.get_mut(name) {
                    let value = member.take();
                    *member = self.fit(value, schema, depth);
                }
            }
        }
        Value::Object(members)
    }
}

/// The types a schema names.
fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        // A schema with properties describes an object, whether it says so or not.
        _ if schema.get("properties").is_some() => vec!["object"],
        _ => Vec::new(),
    }
}

fn is_a(value: &Value, wanted: &str) -> bool {
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

/// The words a schema allows, if it allows only words.
fn words(schema: &Value) -> Option<Vec<&str>> {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return words.iter().map(Value::as_str).collect();
    }
    let branches = schema.get("oneOf").and_then(Value::as_array)?;
    branches
        .iter()
        .map(|branch| branch.get("const").and_then(Value::as_str))
        .collect()
}

/// Finds the word that differs only in case or in how its parts are joined.
fn fit_word(value: Value, words: &[&str]) -> Value {
    let Some(text) = value.as_str() else {
        return value;
    };
    let plain = |text: &str| text.trim().to_lowercase().replace([' ', '-'], "_");
    let wanted = plain(text);
    match words.iter().find(|word| plain(word) == wanted) {
        Some(word) if *word != text => Value::String((*word).to_owned()),
        _ => value,
    }
}

/// A number, and whether it was written as a part of one (`"85%"` is 0.85 of 1).
fn amount(value: &Value) -> Option<(f64, bool)> {
    let (amount, percent) = match value {
        Value::Number(number) => (number.as_f64()?, false),
        Value::String(text) => {
            let text = text.trim();
            let digits = text.strip_suffix('%').map(str::trim_end);
            (digits.unwrap_or(text).parse().ok()?, digits.is_some())
        }
        _ => return None,
    };
    amount.is_finite().then_some((amount, percent))
}

fn fit_number(value: Value, schema: &Value) -> Value {
    let Some((mut amount, percent)) = amount(&value) else {
        return value;
    };
    if percent && bound(schema, "maximum").is_some_and(|most| most <= 1.0) {
        amount /= 100.0;
    }
    let clamped = clamp(amount, schema);
    if value.is_number() && (clamped - amount).abs() < f64::EPSILON {
        return value;
    }
    Number::from_f64(clamped).map_or(value, Value::Number)
}

fn fit_integer(value: Value, schema: &Value) -> Value {
    let Some((mut amount, _)) = amount(&value) else {
        return value;
    };
    let written_as_fraction = match &value {
        Value::Number(number) => number.is_f64(),
        Value::String(text) => text.contains('.'),
        _ => false,
    };
    let hundredths = bound(schema, "maximum").is_some_and(|most| (most - 100.0).abs() < 0.5)
        && bound(schema, "minimum").is_none_or(|least| least.abs() < 1.5);
    // Asked for 0 to 100, the model answered with 0 to 1.
    if written_as_fraction && hundredths && amount > 0.0 && amount <= 1.0 {
        amount *= 100.0;
    }
    let clamped = clamp(amount.round(), schema);
    let unchanged = value.is_i64() || value.is_u64();
    if unchanged && (clamped - amount).abs() < f64::EPSILON {
        return value;
    }
    // Beyond this a float is no whole number any more; such values are left alone.
    if clamped.abs() > 9_007_199_254_740_992.0 {
        return value;
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
    let whole = clamped as i64;
    Value::Number(whole.into())
}

fn bound(schema: &Value, key: &str) -> Option<f64> {
    schema.get(key)?.as_f64()
}

fn clamp(amount: f64, schema: &Value) -> f64 {
    let amount = bound(schema, "minimum").map_or(amount, |least| amount.max(least));
    bound(schema, "maximum").map_or(amount, |most| amount.min(most))
}

fn fit_boolean(value: Value) -> Value {
    let Some(text) = value.as_str() else {
        return value;
    };
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" => Value::Bool(true),
        "false" | "no" => Value::Bool(false),
        _ => value,
    }
}

fn fit_string(value: Value, schema: &Value) -> Value {
    let mut text = match value {
        Value::String(text) => text,
        Value::Number(number) => number.to_string(),
        Value::Bool(yes) => yes.to_string(),
        other => return other,
    };
    // JSON Schema counts characters, not bytes.
    if let Some(most) = limit(schema, "maxLength")
        && let Some((end, _)) = text.char_indices().nth(most)
    {
        text.truncate(end);
    }
    Value::String(text)
}

fn limit(schema: &Value, key: &str) -> Option<usize> {
    usize::try_from(schema.get(key)?.as_u64()?).ok()
}

/// The name of the only property that must be there, if it is a list.
fn lone_list(schema: &Value) -> Option<&str> {
    let required = schema.get("required")?.as_array()?;
    let [Value::String(name)] = required.as_slice() else {
        return None;
    };
    let property = schema.get("properties")?.get(name)?;
    types(property).contains(&"array").then_some(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_clear_is_fitted() {
        let score = json!({"type": "integer", "minimum": 0, "maximum": 100});
        let share = json!({"type": "number", "minimum": 0, "maximum": 1});
        let list = json!({"type": "array", "items": {"type": "string"}, "maxItems": 2});
        let nullable = json!({"anyOf": [{"type": "integer"}, {"type": "null"}]});
        let level = json!({"oneOf": [{"const": "very_high"}, {"const": "low"}]});
        let cases = [
            (json!("85"), &score, json!(85)),
            (json!(" 85 % "), &score, json!(85)),
            (json!(104), &score, json!(100)),
            (json!(-3), &score, json!(0)),
            (json!(76.8), &score, json!(77)),
            (json!(85.0), &score, json!(85)),
            (json!(0.85), &score, json!(85)),
            (json!("0.8"), &score, json!(80)),
            (json!(1), &score, json!(1)),
            (json!(0), &score, json!(0)),
            (json!("0.8"), &share, json!(0.8)),
            (json!("80%"), &share, json!(0.8)),
            (json!(1.7), &share, json!(1.0)),
            (json!(1), &share, json!(1)),
            (json!("a"), &list, json!(["a"])),
            (json!([1, "b", "c"]), &list, json!(["1", "b"])),
            (json!(null), &nullable, json!(null)),
            (json!("null"), &nullable, json!(null)),
            (json!("7"), &nullable, json!(7)),
            (json!("Very high"), &level, json!("very_high")),
        ];
        for (value, schema, expected) in cases {
            assert_eq!(fit(value.clone(), schema), expected, "{value} for {schema}");
        }
    }

    #[test]
    fn strings_and_booleans() {
        let short = json!({"type": "string", "maxLength": 3});
        assert_eq!(fit(json!("äöüß"), &short), json!("äöü"));
        assert_eq!(fit(json!("äöü"), &short), json!("äöü"));
        assert_eq!(fit(json!(0.5), &short), json!("0.5"));
        let flag = json!({"type": "boolean"});
        assert_eq!(fit(json!("True"), &flag), json!(true));
        assert_eq!(fit(json!("no"), &flag), json!(false));
        assert_eq!(fit(json!("perhaps"), &flag), json!("perhaps"));
    }

    #[test]
    fn properties_items_and_references_are_followed() {
        let schema = json!({
            "type": "object",
            "properties": {"branches": {"type": "array", "items": {"$ref": "#/$defs/Branch"}}},
            "required": ["branches"],
            "$defs": {"Branch": {"type": "object", "properties": {
                "score": {"type": ["integer", "null"], "maximum": 100},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Branch"}},
            }}},
        });
        let fitted =
            json!({"branches": [{"score": 90, "children": [{"score": 100}], "more": "1"}]});
        let answer =
            json!({"branches": [{"score": "90", "children": {"score": 190}, "more": "1"}]});
        assert_eq!(fit(answer, &schema), fitted);
        let bare = json!([{"score": "90", "children": {"score": 190}, "more": "1"}, {}]);
        assert_eq!(
            fit(bare, &schema),
            json!({"branches": [{"score": 90, "children": [{"score": 100}], "more": "1"}, {}]})
        );
    }

    #[test]
    fn an_object_in_a_list_is_taken_out() {
        let schema = json!({"type": "object", "properties": {"score": {"type": "integer"}}});
        assert_eq!(fit(json!([{"score": "3"}]), &schema), json!({"score": 3}));
        let several = json!([{"score": "3"}, {"score": "4"}]);
        assert_eq!(fit(several.clone(), &schema), several);
    }

    #[test]
    fn circles_of_references_end() {
        let schema = json!({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}});
        assert_eq!(fit(json!({"a": "1"}), &schema), json!({"a": "1"}));
        let missing = json!({"$ref": "#/$defs/B", "type": "integer"});
        assert_eq!(fit(json!("1"), &missing), json!(1));
    }

    #[test]
    fn unclear_values_and_odd_schemas_change_nothing() {
        for schema in [
            json!(true),
            json!({}),
            json!({"type": 7}),
            json!({"type": "integer"}),
        ] {
            for value in [json!("much"), json!({"a": 1}), json!([]), json!(null)] {
                assert_eq!(fit(value.clone(), &schema), value);
            }
        }
        let big = json!(9_223_372_036_854_775_807_i64);
        assert_eq!(fit(big.clone(), &json!({"type": "integer"})), big);
    }
}
