//! The short form of tools in `tools/list`. Every client pays for the list with its context, so it
//! contains only what a client needs to choose and call a tool, and of the answers only the ids for
//! further calls. The dispatcher checks the complete schemas, and the documentation contains them.

use deliberate_toolkit::ToolHints;
use rmcp::model::ToolAnnotations;
use serde_json::{Map, Value, json};

/// A maximum from this value on is omitted, because callers do not reach it.
const HIGH_MAXIMUM: f64 = 1_000.0;

/// An integer with at most this maximum keeps its minimum too: in a short range callers try the ends.
const SHORT_RANGE: f64 = 10.0;

/// The input schema without constraints that well-meaning callers never violate. The error for an
/// unknown name, an empty text or too long a list states the rule.
pub(crate) fn slim_input_schema(schema: &Value) -> Map<String, Value> {
    let mut fields = schema.as_object().cloned().unwrap_or_default();
    strip_keywords(&mut fields);
    give_single_types(&mut fields);
    fields
}

/// Gives every argument and every item one type. Clients that convert schemas for their model refuse
/// or drop a tool otherwise: Gemini takes no list without the type of its items, Letta no list of
/// types. Where several are allowed, text is one of them, and an object can be written as text.
fn give_single_types(schema: &mut Map<String, Value>) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut() {
            give_single_type(property);
        }
    }
    if schema.get("type").is_some_and(|kind| kind == "array") {
        let items = schema.entry("items").or_insert_with(|| json!({}));
        give_single_type(items);
    }
}

fn give_single_type(schema: &mut Value) {
    // `true` allows anything, like an empty schema.
    if schema.is_boolean() {
        *schema = json!({});
    }
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    merge_constants(fields);
    let kind = match fields.get("type") {
        Some(Value::Array(kinds)) => {
            let text = kinds.iter().find(|kind| *kind == "string");
            let other = kinds.iter().find(|kind| *kind != "null");
            text.or(other).cloned()
        }
        Some(_) => None,
        None => {
            let is_described = [
                "anyOf",
                "oneOf",
                "allOf",
                "enum",
                "const",
                "$ref",
                "properties",
            ]
            .iter()
            .any(|keyword| fields.contains_key(*keyword));
            (!is_described).then(|| json!("string"))
        }
    };
    if let Some(kind) = kind {
        fields.insert("type".to_owned(), kind);
    }
    give_single_types(fields);
}

/// Turns alternatives that are only names into one list of names. Constants with descriptions of
/// their own are such alternatives; Gemini's converter drops them and is left with no type at all.
fn merge_constants(fields: &mut Map<String, Value>) {
    let Some(alternatives) = fields.get("oneOf").and_then(Value::as_array) else {
        return;
    };
    let mut names = Vec::new();
    let own = fields.get("description").and_then(Value::as_str);
    let mut descriptions: Vec<String> = own.map(str::to_owned).into_iter().collect();
    for alternative in alternatives {
        let described = alternative.get("description").and_then(Value::as_str);
        match (alternative.get("const"), alternative.get("enum")) {
            (Some(Value::String(name)), None) => {
                descriptions.extend(described.map(|text| format!("`{name}`: {text}")));
                names.push(json!(name));
            }
            (None, Some(Value::Array(several))) if several.iter().all(Value::is_string) => {
                names.extend(several.iter().cloned());
            }
            _ => return,
        }
    }
    fields.remove("oneOf");
    fields.insert("type".to_owned(), json!("string"));
    fields.insert("enum".to_owned(), Value::Array(names));
    if !descriptions.is_empty() {
        fields.insert("description".to_owned(), json!(descriptions.join(" ")));
    }
}

/// The definition of an upstream server's tool as clients get it: the server's own, but for
/// `additionalProperties` with a plain yes or no. Gemini's converter fails on it and then has no
/// tools at all, and the gateway checks the arguments against the whole schema anyway.
pub(crate) fn listed_definition(definition: &Value) -> Value {
    let mut listed = definition.clone();
    if let Some(schema) = listed.get_mut("inputSchema") {
        strip_open_or_closed(schema);
    }
    listed
}

fn strip_open_or_closed(schema: &mut Value) {
    let Value::Object(fields) = schema else {
        return;
    };
    fields.retain(|keyword, value| keyword != "additionalProperties" || !value.is_boolean());
    for (keyword, value) in fields {
        match (keyword.as_str(), value) {
            // The keys of these are names, not keywords.
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(named),
            ) => named.values_mut().for_each(strip_open_or_closed),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(strip_open_or_closed);
            }
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames",
                inner,
            ) => strip_open_or_closed(inner),
            _ => {}
        }
    }
}

fn strip_keywords(schema: &mut Map<String, Value>) {
    let most = schema.get("maximum").and_then(Value::as_f64);
    let counts = schema.get("type").is_some_and(|kind| kind == "integer")
        && most.is_none_or(|most| most > SHORT_RANGE);
    schema.retain(|keyword, value| !is_redundant_keyword(keyword, value, counts));
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            strip_keywords(property);
        }
    }
    if let Some(Value::Object(items)) = schema.get_mut("items") {
        strip_keywords(items);
    }
}

fn is_redundant_keyword(keyword: &str, value: &Value, counts: bool) -> bool {
    match keyword {
        "additionalProperties" => value.is_boolean(),
        "default" => *value == json!([]) || *value == json!({}),
        "maxLength" | "maxItems" => true,
        "minLength" => value == 1,
        "maximum" => value.as_f64().is_some_and(|most| most >= HIGH_MAXIMUM),
        // A fraction keeps its minimum: with only a maximum of 1 it could be read as a percentage.
        "minimum" => counts && (value == 0 || value == 1),
        _ => false,
    }
}

/// The output schema with only the ids that the next call needs and this one did not. Everything
/// else is visible in the answer.
pub(crate) fn slim_output_schema(schema: &Value, input: &Value) -> Map<String, Value> {
    let required = input.get("required").and_then(Value::as_array);
    let is_given =
        |name: &String| required.is_some_and(|names| names.iter().any(|it| it == name.as_str()));
    let mut outline = Map::from_iter([("type".to_owned(), json!("object"))]);
    let properties = schema.get("properties").and_then(Value::as_object);
    let ids: Map<String, Value> = properties
        .into_iter()
        .flat_map(Map::keys)
        .filter(|name| name.ends_with("_id") || name.ends_with("_ids"))
        .filter(|name| !is_given(name))
        .map(|name| (name.clone(), json!({})))
        .collect();
    if !ids.is_empty() {
        outline.insert("properties".to_owned(), Value::Object(ids));
    }
    outline
}

/// The hints that differ from the defaults of the protocol.
pub(crate) fn tool_annotations(hints: ToolHints) -> ToolAnnotations {
    let writes = !hints.read_only;
    ToolAnnotations::from_raw(
        None,
        hints.read_only.then_some(true),
        // These two hints have no meaning for a read-only tool.
        (writes && !hints.destructive).then_some(false),
        (writes && hints.idempotent).then_some(true),
        (!hints.open_world).then_some(false),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(property: &Value) -> Value {
        let schema = json!({ "type": "object", "properties": { "it": property } });
        slim_input_schema(&schema)["properties"]["it"].clone()
    }

    #[test]
    fn every_argument_and_item_has_one_type() {
        for (given, kind) in [
            (json!({ "type": ["string", "object"] }), "string"),
            (json!({ "type": ["integer", "null"] }), "integer"),
            (json!({ "description": "Anything." }), "string"),
            (json!(true), "string"),
        ] {
            assert_eq!(listed(&given)["type"], kind, "{given}");
            let list = listed(&json!({ "type": "array", "items": given }));
            assert_eq!(list["items"]["type"], kind);
        }
        assert_eq!(
            listed(&json!({ "type": "array" }))["items"]["type"],
            "string"
        );
    }

    #[test]
    fn constants_with_descriptions_are_one_list_of_names() {
        let constants = json!({
            "description": "File format.",
            "default": "ris",
            "oneOf": [
                { "type": "string", "enum": ["bibtex", "ris"] },
                { "type": "string", "const": "json", "description": "CSL-JSON." },
            ],
        });
        let expected = json!({
            "type": "string",
            "enum": ["bibtex", "ris", "json"],
            "description": "File format. `json`: CSL-JSON.",
            "default": "ris",
        });
        assert_eq!(listed(&constants), expected);
        assert_eq!(
            listed(&json!({ "type": "array", "items": constants }))["items"],
            expected
        );
        let others = json!({ "oneOf": [{ "type": "string" }, { "type": "integer" }] });
        assert_eq!(listed(&others), others);
    }

    #[test]
    fn a_definition_loses_only_what_a_converter_fails_on() {
        let definition = json!({
            "name": "add",
            "inputSchema": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "additionalProperties": { "type": "boolean" },
                    "map": { "type": "object", "additionalProperties": { "additionalProperties": true } },
                    "list": { "items": { "anyOf": [{ "additionalProperties": false, "type": "object" }] } },
                },
            },
            "outputSchema": { "type": "object", "additionalProperties": false },
        });
        let expected = json!({
            "name": "add",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "additionalProperties": { "type": "boolean" },
                    "map": { "type": "object", "additionalProperties": {} },
                    "list": { "items": { "anyOf": [{ "type": "object" }] } },
                },
            },
            "outputSchema": { "type": "object", "additionalProperties": false },
        });
        assert_eq!(listed_definition(&definition), expected);
    }
}
