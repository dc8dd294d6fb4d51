//! Tests that the arguments a model writes for an exported tool become what the tool expects.

use deliberate_adapter::schema::{
    JsonSchemaValidator, Parameters, describe_constraints,
    formats::{self, ExportedTool},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::schema_generators::{Dice, document, tool_schema, value_for_schema};

fn parameters(exported_tool: &ExportedTool) -> Value {
    let tool = &exported_tool.tool;
    let places = ["/function/parameters", "/parameters", "/input_schema"];
    places
        .iter()
        .find_map(|place| tool.pointer(place))
        .unwrap()
        .clone()
}

/// Values that match the exported schema, converted back to the tool's form.
fn restored_values(tool: &ExportedTool, seed: u64) -> Vec<(Value, Value)> {
    let schema = parameters(tool);
    let checker = JsonSchemaValidator::new(&schema).unwrap();
    let mut dice = Dice(seed);
    let values = (0..30).map(|_| value_for_schema(&schema, &schema, &mut dice, 0));
    let passing = values.filter(|value| checker.accepts(value));
    passing
        .map(|value| (tool.restore_arguments(&value), value))
        .collect()
}

/// Rules that the strict form describes and does not enforce; without them it is exact.
const DESCRIBED_KEYWORDS: [&str; 3] = ["minLength", "pattern", "minimum"];

fn without_described(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| !DESCRIBED_KEYWORDS.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), without_described(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(without_described).collect(),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn strict_arguments_come_back_valid(schema in tool_schema(), seed in any::<u64>()) {
        let made = formats::openai("f", "", &Parameters::from_schema(&schema), true);
        let original = JsonSchemaValidator::new(&without_described(&schema)).unwrap();
        for (back, written) in restored_values(&made, seed) {
            prop_assert!(original.accepts(&back), "{}\n {}\n {}\n {}", schema, made.tool, written, back);
        }
    }

    #[test]
    fn what_strict_does_not_hold_is_told(schema in tool_schema()) {
        let made = formats::openai("f", "", &Parameters::from_schema(&schema), true);
        let (schema, tool) = (schema.to_string(), made.tool.to_string());
        for (rule, words) in [
            ("\"minLength\":2", "at least 2 characters"),
            ("\"pattern\":\"^a\"", "matches the pattern ^a"),
            ("\"minimum\":0", "at least 0"),
            ("\"default\":true", "true when left out"),
        ] {
            if made.strict {
                prop_assert!(!tool.contains(rule), "{} is held", rule);
                prop_assert_eq!(schema.contains(rule), tool.contains(words), "{}", tool);
            }
        }
    }

    #[test]
    fn loose_arguments_come_back_valid(schema in tool_schema(), seed in any::<u64>()) {
        let read = Parameters::from_schema(&schema);
        let original = JsonSchemaValidator::new(&schema).unwrap();
        for made in [formats::langbase("f", "", &read), formats::anthropic("f", "", &read)] {
            for (back, written) in restored_values(&made, seed) {
                prop_assert!(original.accepts(&back), "{}\n {}\n {}", schema, written, back);
            }
        }
    }

    #[test]
    fn any_schema_can_be_exported_and_what_was_not_told_still_holds(
        schema in document(),
        seed in any::<u64>(),
    ) {
        let Ok(original) = JsonSchemaValidator::new(&schema) else { return Ok(()) };
        let read = Parameters::from_schema(&schema);
        let strict = formats::openai("f", "", &read, true);
        prop_assert_eq!(&parameters(&strict)["type"], "object");
        let made = formats::anthropic("f", "", &read);
        let top = parameters(&made);
        prop_assert!(top.as_object().unwrap().keys().all(|key| !["anyOf", "oneOf", "allOf"].contains(&key.as_str())), "{}", top);
        // An older draft gives some keywords another meaning, or none.
        let exact = made.tool["description"] == "" && schema.get("$schema").is_none();
        if exact && JsonSchemaValidator::new(&top).is_ok() {
            for (back, written) in restored_values(&made, seed) {
                prop_assert!(original.accepts(&back), "{}\n {}\n {}\n {}", schema, top, written, back);
            }
        }
    }
}

#[test]
fn nulls_go_only_where_they_stood_for_left_out() {
    let schema = json!({"type": "object", "required": ["need"], "properties": {
        "need": {"type": ["string", "null"]}, "may": {"type": "string"},
        "either": {"type": ["integer", "null"]},
        "in": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "integer"}}}},
        "form": {"anyOf": [
            {"type": "object", "properties": {"k": {"const": "a"}, "v": {"type": "string"}}, "required": ["k"]},
            {"type": "object", "properties": {"k": {"const": "b"}, "w": {"type": ["string", "null"]}}, "required": ["k"]}
        ]}
    }});
    let tool = formats::openai("f", "", &Parameters::from_schema(&schema), true);
    assert!(tool.strict);
    let written = json!({"need": null, "may": null, "either": null, "in": [{"x": null}, {"x": 1}],
        "form": {"k": "b", "w": null}});
    let back = tool.restore_arguments(&written);
    assert_eq!(
        back,
        json!({"need": null, "either": null, "in": [{}, {"x": 1}], "form": {"k": "b", "w": null}})
    );
    assert_eq!(
        tool.restore_arguments(&json!({"form": {"k": "a", "v": null}})),
        json!({"form": {"k": "a"}})
    );
    assert_eq!(tool.restore_arguments(&json!("odd")), json!("odd"));
}

#[test]
fn wrapped_and_renamed_arguments_are_put_back() {
    let union = json!({"anyOf": [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["b"]}]});
    let tool = formats::openai("f", "", &Parameters::from_schema(&union), false);
    assert_eq!(
        tool.restore_arguments(&json!({"arguments": {"a": 1}})),
        json!({"a": 1})
    );
    let odd = json!({"type": "object", "properties": {"a b": {}, "c": {}}, "required": ["a b"]});
    let tool = formats::anthropic("f", "", &Parameters::from_schema(&odd));
    let schema = parameters(&tool);
    let safe = schema["required"][0].as_str().unwrap().to_owned();
    assert!(schema["properties"].get(&safe).is_some());
    assert_eq!(
        tool.restore_arguments(&json!({safe: 1, "c": 2})),
        json!({"a b": 1, "c": 2})
    );
}

#[test]
fn forms_inside_forms_do_not_take_for_ever() {
    let form = |name: &str| json!({"type": "object", "properties": {"k": {"$ref": "#/$defs/f"}, name: {"type": "string"}}, "required": [name], "additionalProperties": false});
    let forms: Vec<Value> = (0..10).map(|at| form(&format!("n{at}"))).collect();
    let schema = json!({"type": "object", "properties": {"k": {"$ref": "#/$defs/f"}}, "$defs": {"f": {"anyOf": forms}}});
    let tool = formats::openai("f", "", &Parameters::from_schema(&schema), true);
    let mut deep = json!({"n9": "x"});
    for _ in 0..25 {
        deep = json!({"k": deep, "n9": "x"});
    }
    let written = json!({"k": deep});
    assert_eq!(tool.restore_arguments(&written), written);
}

#[test]
fn rules_in_plain_words() {
    let said = describe_constraints(&json!({
        "type": "string", "minLength": 3, "maxLength": 1, "pattern": "^a", "format": "date",
        "minimum": 1, "exclusiveMaximum": 9, "multipleOf": 2, "minItems": 2, "uniqueItems": true,
        "minProperties": 1, "enum": ["a", 1], "const": null, "default": true,
        "dependentRequired": {"a": ["b", "c"]}, "additionalProperties": false,
        "oneOf": [{"required": ["x"]}, {"required": ["y", "z"]}], "not": {"type": "string"},
        "if": {"const": 1}, "then": {"maximum": 2}
    }));
    insta::assert_snapshot!(said.join("\n"));
    assert!(describe_constraints(&json!(true)).is_empty());
}
