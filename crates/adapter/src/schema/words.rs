//! Rules in plain words, for models that are told what a format can't hold.

use serde_json::{Map, Value};

use super::{DEEPEST_JSON, refs};

/// The most characters of JSON that are shown in a sentence.
const LONGEST_JSON: usize = 300;

/// The most names or values that are listed.
const MOST_LISTED: usize = 20;

/// What a schema asks for beyond its type, a short phrase each.
pub fn constraints_in_words(schema: &Value) -> Vec<String> {
    if refs::depth(schema, DEEPEST_JSON) > DEEPEST_JSON {
        return vec!["more rules than can be told".to_owned()];
    }
    schema.as_object().map(of_rules).unwrap_or_default()
}

/// The same, of a map of rules.
pub(super) fn of_rules(rules: &Map<String, Value>) -> Vec<String> {
    rules
        .iter()
        .filter_map(|(key, value)| phrase(key, value, rules))
        .collect()
}

fn phrase(key: &str, value: &Value, rules: &Map<String, Value>) -> Option<String> {
    numbers(key, value, rules)
        .or_else(|| texts(key, value))
        .or_else(|| lists(key, value, rules))
        .or_else(|| objects(key, value))
        .or_else(|| forms(key, value, rules))
}

fn numbers(key: &str, value: &Value, rules: &Map<String, Value>) -> Option<String> {
    // Draft 4 says "exclusive" with a flag beside the number.
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

fn texts(key: &str, value: &Value) -> Option<String> {
    Some(match key {
        "minLength" => format!("at least {}", counted(value, "character", "characters")),
        "maxLength" => format!("at most {}", counted(value, "character", "characters")),
        "pattern" => format!("matches the pattern {}", plain(value)),
        "format" => format!("in the format {}", plain(value)),
        "contentEncoding" => format!("encoded as {}", plain(value)),
        "contentMediaType" => format!("holds {}", plain(value)),
        "contentSchema" => format!("what it holds matches {}", json(value)),
        _ => return None,
    })
}

fn lists(key: &str, value: &Value, rules: &Map<String, Value>) -> Option<String> {
    Some(match key {
        "minItems" => format!("at least {}", counted(value, "item", "items")),
        "maxItems" => format!("at most {}", counted(value, "item", "items")),
        "uniqueItems" if value == &Value::Bool(true) => "no item twice".to_owned(),
        "contains" if rules.contains_key("minContains") || rules.contains_key("maxContains") => {
            format!("counted items match {}", json(value))
        }
        "contains" => format!("at least one item matches {}", json(value)),
        "minContains" => format!("at least {} counted", counted(value, "item", "items")),
        "maxContains" => format!("at most {} counted", counted(value, "item", "items")),
        _ => return None,
    })
}

fn objects(key: &str, value: &Value) -> Option<String> {
    Some(match key {
        "minProperties" => format!("at least {}", counted(value, "field", "fields")),
        "maxProperties" => format!("at most {}", counted(value, "field", "fields")),
        "propertyNames" => format!("every field name matches {}", json(value)),
        "patternProperties" => format!("fields by name pattern: {}", json(value)),
        "additionalProperties" | "unevaluatedProperties" if value == &Value::Bool(false) => {
            "no other fields".to_owned()
        }
        "additionalProperties" if value.is_object() => {
            format!("every other field matches {}", json(value))
        }
        "dependentRequired" | "dependencies" | "dependentSchemas" => depends(value)?,
        "unevaluatedProperties" => format!("every other field matches {}", json(value)),
        "unevaluatedItems" if value == &Value::Bool(false) => "no other items".to_owned(),
        "unevaluatedItems" => format!("every other item matches {}", json(value)),
        _ => return None,
    })
}

fn forms(key: &str, value: &Value, rules: &Map<String, Value>) -> Option<String> {
    Some(match key {
        "enum" => format!(
            "one of {}",
            listed(value.as_array()?.iter().map(short_json))
        ),
        "const" => format!("always {}", short_json(value)),
        "default" => format!("{} when left out", short_json(value)),
        "not" => match only_required(value) {
            Some(names) => format!("not {} together", listed(names.into_iter())),
            None => format!("does not match {}", json(value)),
        },
        "anyOf" => choice("at least one", value),
        "oneOf" => choice("exactly one", value),
        "allOf" => format!("matches all of {}", json(value)),
        "if" => condition(value, rules),
        _ => return None,
    })
}

/// `anyOf: [{required: [a]}, {required: [b]}]` is what most such rules say.
fn choice(how: &str, value: &Value) -> String {
    let groups: Option<Vec<String>> = value.as_array().and_then(|forms| {
        let names = forms.iter().map(only_required);
        names
            .map(|group| group.map(|it| it.join(" with ")))
            .collect()
    });
    match groups {
        Some(groups) => format!("{how} of {} is given", listed(groups.into_iter())),
        None => format!("matches {how} of {}", json(value)),
    }
}

fn only_required(schema: &Value) -> Option<Vec<String>> {
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

fn depends(value: &Value) -> Option<String> {
    let rules = value.as_object()?.iter().map(|(name, needs)| match needs {
        Value::Array(names) => format!("{name} needs {}", listed(names.iter().map(plain))),
        schema => format!("with {name}, all matches {}", json(schema)),
    });
    Some(listed_with(rules, "; "))
}

fn condition(tested: &Value, rules: &Map<String, Value>) -> String {
    let mut said = format!("if it matches {}", json(tested));
    for (key, word) in [("then", "then"), ("else", "otherwise")] {
        if let Some(schema) = rules.get(key) {
            said = format!("{said}, {word} it matches {}", json(schema));
        }
    }
    said
}

fn counted(number: &Value, one: &str, many: &str) -> String {
    let word = if number.as_f64() == Some(1.0) {
        one
    } else {
        many
    };
    format!("{number} {word}")
}

fn listed(names: impl Iterator<Item = String>) -> String {
    listed_with(names, ", ")
}

fn listed_with(names: impl Iterator<Item = String>, mark: &str) -> String {
    let mut names: Vec<String> = names.take(MOST_LISTED + 1).collect();
    if names.len() > MOST_LISTED {
        names.truncate(MOST_LISTED);
        names.push("…".to_owned());
    }
    names.join(mark)
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| short_json(value), |text| cut(text, LONGEST_JSON))
}

fn short_json(value: &Value) -> String {
    cut(&value.to_string(), LONGEST_JSON / 3)
}

/// A schema that has no short words is shown as it is.
pub(super) fn json(value: &Value) -> String {
    let words = value.as_object().map(of_rules).unwrap_or_default();
    match value.as_object() {
        // One rule alone reads better in words.
        Some(fields) if fields.len() == 1 && words.len() == 1 => {
            format!("({})", cut(&words.join("; "), LONGEST_JSON))
        }
        _ => cut(&value.to_string(), LONGEST_JSON),
    }
}

/// Cut to so many characters, at a word if there is one near, with a mark that it was cut.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    let at_word = kept
        .rfind(char::is_whitespace)
        .filter(|at| *at * 2 > kept.len());
    let kept = at_word.and_then(|at| kept.get(..at)).unwrap_or(&kept);
    format!("{}…", kept.trim_end())
}
