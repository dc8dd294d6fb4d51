//! Describes constraints in plain words, for models whose tool format cannot express them.

use serde_json::{Map, Value};

pub(super) use deliberate_json_schema::truncate_at_word;

use super::{MAX_JSON_DEPTH, references};

/// The maximum number of characters of JSON within a sentence.
const MAX_JSON_CHARS: usize = 300;

/// The maximum number of names or values that are listed.
const MAX_LISTED: usize = 20;

/// Describes what a schema requires beyond its type, one short phrase per constraint.
pub fn describe_constraints(schema: &Value) -> Vec<String> {
    if references::depth(schema, MAX_JSON_DEPTH) > MAX_JSON_DEPTH {
        return vec!["more rules than can be told".to_owned()];
    }
    schema
        .as_object()
        .map(describe_keywords)
        .unwrap_or_default()
}

/// Describes the constraints of a keyword map.
pub(super) fn describe_keywords(rules: &Map<String, Value>) -> Vec<String> {
    rules
        .iter()
        .filter_map(|(key, value)| describe_keyword(key, value, rules))
        .collect()
}

fn describe_keyword(key: &str, value: &Value, rules: &Map<String, Value>) -> Option<String> {
    describe_number(key, value, rules)
        .or_else(|| describe_string(key, value))
        .or_else(|| describe_array(key, value, rules))
        .or_else(|| describe_object(key, value))
        .or_else(|| describe_combinator(key, value, rules))
}

fn describe_number(key: &str, value: &Value, rules: &Map<String, Value>) -> Option<String> {
    // Draft 4 marks an exclusive bound with a flag beside the number.
    let strictly = |flag: &str| rules.get(flag) == Some(&Value::Bool(true));
    Some(match key {
        "minimum" if strictly("exclusiveMinimum") => format!("more than {value}"),
        "maximum" if strictly("exclusiveMaximum") => format!("less than {value}"),
        "minimum" => format!("at least {value}"),
        "maximum" => format!("at most {value}"),
        "exclusiveMinimum" if !value.is_boolean() => format!("more than {value}"),
        "exclusiveMaximum" if !value.is_boolean() => format!("less than {value}"),
        "multipleOf" => format!("a multiple of {value}"),
        _ => return None,
    })
}

fn describe_string(key: &str, value: &Value) -> Option<String> {
    Some(match key {
        "minLength" => format!("at least {}", pluralize(value, "character", "characters")),
        "maxLength" => format!("at most {}", pluralize(value, "character", "characters")),
        "pattern" => format!("matches the pattern {}", plain_text(value)),
        "format" => format!("in the format {}", plain_text(value)),
        "contentEncoding" => format!("encoded as {}", plain_text(value)),
        "contentMediaType" => format!("holds {}", plain_text(value)),
        "contentSchema" => format!("what it holds matches {}", schema_text(value)),
        _ => return None,
    })
}

fn describe_array(key: &str, value: &Value, rules: &Map<String, Value>) -> Option<String> {
    Some(match key {
        "minItems" => format!("at least {}", pluralize(value, "item", "items")),
        "maxItems" => format!("at most {}", pluralize(value, "item", "items")),
        "uniqueItems" if value == &Value::Bool(true) => "no item twice".to_owned(),
        "contains" if rules.contains_key("minContains") || rules.contains_key("maxContains") => {
            format!("counted items match {}", schema_text(value))
        }
        "contains" => format!("at least one item matches {}", schema_text(value)),
        "minContains" => format!("at least {} counted", pluralize(value, "item", "items")),
        "maxContains" => format!("at most {} counted", pluralize(value, "item", "items")),
        _ => return None,
    })
}

fn describe_object(key: &str, value: &Value) -> Option<String> {
    Some(match key {
        "minProperties" => format!("at least {}", pluralize(value, "field", "fields")),
        "maxProperties" => format!("at most {}", pluralize(value, "field", "fields")),
        "propertyNames" => format!("every field name matches {}", schema_text(value)),
        "patternProperties" => format!("fields by name pattern: {}", schema_text(value)),
        "additionalProperties" | "unevaluatedProperties" if value == &Value::Bool(false) => {
            "no other fields".to_owned()
        }
        "additionalProperties" if value.is_object() => {
            format!("every other field matches {}", schema_text(value))
        }
        "dependentRequired" | "dependencies" | "dependentSchemas" => describe_dependencies(value)?,
        "unevaluatedProperties" => format!("every other field matches {}", schema_text(value)),
        "unevaluatedItems" if value == &Value::Bool(false) => "no other items".to_owned(),
        "unevaluatedItems" => format!("every other item matches {}", schema_text(value)),
        _ => return None,
    })
}

fn describe_combinator(key: &str, value: &Value, rules: &Map<String, Value>) -> Option<String> {
    Some(match key {
        "enum" => format!(
            "one of {}",
            join_list(value.as_array()?.iter().map(short_json))
        ),
        "const" => format!("always {}", short_json(value)),
        "default" => format!("{} when left out", short_json(value)),
        "not" => match required_names(value) {
            Some(names) => format!("not {} together", join_list(names.into_iter())),
            None => format!("does not match {}", schema_text(value)),
        },
        "anyOf" => describe_choice("at least one", value),
        "oneOf" => describe_choice("exactly one", value),
        "allOf" => format!("matches all of {}", schema_text(value)),
        "if" => describe_condition(value, rules),
        _ => return None,
    })
}

/// Describes `anyOf: [{required: [a]}, {required: [b]}]`, the most common form of such rules.
fn describe_choice(how: &str, value: &Value) -> String {
    let groups: Option<Vec<String>> = value.as_array().and_then(|forms| {
        let names = forms.iter().map(required_names);
        names
            .map(|group| group.map(|it| it.join(" with ")))
            .collect()
    });
    match groups {
        Some(groups) => format!("{how} of {} is given", join_list(groups.into_iter())),
        None => format!("matches {how} of {}", schema_text(value)),
    }
}

fn required_names(schema: &Value) -> Option<Vec<String>> {
    let fields = schema.as_object()?;
    let told = |key: &str| key == "required" || (key == "type");
    if !fields.keys().all(|key| told(key)) {
        return None;
    }
    let names = fields.get("required")?.as_array()?;
    names
        .iter()
        .map(|name| Some(name.as_str()?.to_owned()))
        .collect()
}

fn describe_dependencies(value: &Value) -> Option<String> {
    let rules = value.as_object()?.iter().map(|(name, needs)| match needs {
        Value::Array(names) => format!("{name} needs {}", join_list(names.iter().map(plain_text))),
        schema => format!("with {name}, all matches {}", schema_text(schema)),
    });
    Some(join_with(rules, "; "))
}

fn describe_condition(tested: &Value, rules: &Map<String, Value>) -> String {
    let mut text = format!("if it matches {}", schema_text(tested));
    for (key, word) in [("then", "then"), ("else", "otherwise")] {
        if let Some(schema) = rules.get(key) {
            text = format!("{text}, {word} it matches {}", schema_text(schema));
        }
    }
    text
}

fn pluralize(number: &Value, one: &str, many: &str) -> String {
    let word = if number.as_f64() == Some(1.0) {
        one
    } else {
        many
    };
    format!("{number} {word}")
}

fn join_list(names: impl Iterator<Item = String>) -> String {
    join_with(names, ", ")
}

fn join_with(names: impl Iterator<Item = String>, mark: &str) -> String {
    let mut names: Vec<String> = names.take(MAX_LISTED + 1).collect();
    if names.len() > MAX_LISTED {
        names.truncate(MAX_LISTED);
        names.push("…".to_owned());
    }
    names.join(mark)
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(
        || short_json(value),
        |text| truncate_at_word(text, MAX_JSON_CHARS),
    )
}

fn short_json(value: &Value) -> String {
    truncate_at_word(&value.to_string(), MAX_JSON_CHARS / 3)
}

/// Returns a schema as short words, or as JSON if there are none.
pub(super) fn schema_text(value: &Value) -> String {
    let words = value.as_object().map(describe_keywords).unwrap_or_default();
    match value.as_object() {
        // A single rule reads better in words.
        Some(fields) if fields.len() == 1 && words.len() == 1 => {
            format!("({})", truncate_at_word(&words.join("; "), MAX_JSON_CHARS))
        }
        _ => truncate_at_word(&value.to_string(), MAX_JSON_CHARS),
    }
}
