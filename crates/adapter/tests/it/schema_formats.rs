//! Tests of the tool formats of each API, with one tool for each kind of schema.

use deliberate_adapter::schema::{
    JsonSchemaValidator, Parameters,
    formats::{self, ExportedTool, safe_name},
};
use serde_json::{Value, json};

fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "plain",
            json!({"type": "object", "properties": {
            "query": {"type": "string", "description": "What to find.", "minLength": 3, "maxLength": 80},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10}
        }, "required": ["query"]}),
        ),
        (
            "no_fields",
            json!({"type": "object", "additionalProperties": false}),
        ),
        ("free", json!({"type": "object"})),
        ("nothing_said", json!({})),
        (
            "choices",
            json!({"type": "object", "properties": {
            "unit": {"enum": ["C", "F"], "description": "Unit"}, "always": {"const": "v1"},
            "mixed": {"enum": [1, "a", null]}
        }, "additionalProperties": false}),
        ),
        (
            "nested",
            json!({"type": "object", "properties": {
            "at": {"type": "object", "properties": {"x": {"type": "number", "exclusiveMinimum": 0}, "y": {"type": "number"}}, "required": ["x"]},
            "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"}, "minItems": 1, "uniqueItems": true}
        }, "required": ["at"]}),
        ),
        (
            "tree",
            json!({"type": "object", "properties": {"root": {"$ref": "#/$defs/node", "description": "The top."}},
            "required": ["root"],
            "$defs": {"node": {"type": "object", "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}}, "required": ["name"]}}}),
        ),
        (
            "one_of_two",
            json!({"type": "object", "properties": {"id": {"type": "string"}, "name": {"type": "string"}},
            "anyOf": [{"required": ["id"]}, {"required": ["name"]}], "not": {"required": ["id", "name"]}}),
        ),
        (
            "union_at_top",
            json!({"oneOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}]}),
        ),
        (
            "forms",
            json!({"type": "object", "properties": {
            "where": {"oneOf": [{"type": "string", "format": "uri"}, {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"], "additionalProperties": false}]},
            "maybe": {"anyOf": [{"type": "boolean"}, {"type": "null"}]}
        }, "required": ["where"]}),
        ),
        (
            "map",
            json!({"type": "object", "properties": {"env": {"type": "object", "additionalProperties": {"type": "string"}}}, "required": ["env"]}),
        ),
        (
            "tuple",
            json!({"type": "object", "properties": {"pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}}}),
        ),
        (
            "odd_names",
            json!({"type": "object", "properties": {"a b": {"type": "string"}, "ok": {"type": "string"}}, "required": ["a b"]}),
        ),
    ]
}

fn render_exports(make: impl Fn(&Parameters) -> ExportedTool) -> String {
    let each = schemas().into_iter().map(|(name, schema)| {
        let tool = make(&Parameters::from_schema(&schema));
        let notes: Vec<String> = tool
            .notes
            .iter()
            .map(|note| format!("\n  - {note}"))
            .collect();
        format!("## {name}\n{}{}", tool.tool, notes.concat())
    });
    each.collect::<Vec<_>>().join("\n\n")
}

#[test]
fn openai_strict() {
    insta::assert_snapshot!(render_exports(|it| formats::openai(
        "find", "Finds.", it, true
    )));
}

#[test]
fn openai_loose() {
    insta::assert_snapshot!(render_exports(|it| formats::openai(
        "find", "Finds.", it, false
    )));
}

#[test]
fn openai_responses() {
    insta::assert_snapshot!(render_exports(|it| formats::openai_responses(
        "find", "Finds.", it, true
    )));
}

#[test]
fn anthropic() {
    insta::assert_snapshot!(render_exports(|it| formats::anthropic(
        "find", "Finds.", it
    )));
}

#[test]
fn langbase() {
    insta::assert_snapshot!(render_exports(|it| formats::langbase("find", "Finds.", it)));
}

#[test]
fn no_form_has_a_top_that_is_refused() {
    for (name, schema) in schemas() {
        let read = Parameters::from_schema(&schema);
        for made in [
            formats::openai("f", "", &read, true).tool["function"]["parameters"].clone(),
            formats::openai_responses("f", "", &read, false).tool["parameters"].clone(),
            formats::anthropic("f", "", &read).tool["input_schema"].clone(),
            formats::langbase("f", "", &read).tool["function"]["parameters"].clone(),
        ] {
            assert_eq!(made["type"], "object", "{name}");
            for key in ["anyOf", "oneOf", "allOf", "enum", "not", "$ref"] {
                assert_eq!(made.get(key), None, "{name} {key}");
            }
            assert!(JsonSchemaValidator::new(&made).is_ok(), "{name}: {made}");
        }
    }
}

#[test]
fn names_stay_apart_and_within_limits() {
    let long = "server__".to_owned() + &"tool".repeat(30);
    let names = [
        "find",
        "server__find",
        "a.b",
        "a_b",
        "a b",
        "",
        "ünï",
        &long,
        &(long.clone() + "x"),
    ];
    let mut seen = std::collections::HashSet::new();
    for name in names {
        let safe = safe_name(name);
        assert!((1..=64).contains(&safe.len()), "{safe}");
        assert!(
            safe.chars()
                .all(|it| it.is_ascii_alphanumeric() || "_-".contains(it)),
            "{safe}"
        );
        assert_eq!(safe, safe_name(name));
        assert!(seen.insert(safe.clone()), "{name:?} is taken for another");
        // No one can obtain a hashed name by choosing it.
        assert!(safe == name || safe_name(&safe) != safe);
    }
    assert_eq!(safe_name("server__find"), "server__find");
    let exported_tool = formats::openai("a.b", "", &Parameters::from_schema(&json!({})), false);
    assert_eq!(
        exported_tool.tool["function"]["name"],
        exported_tool.name.as_str()
    );
    assert!(exported_tool.notes[0].contains(&exported_tool.name));
}

#[test]
fn a_long_description_is_cut_at_a_word_and_the_rules_stay() {
    let read = Parameters::from_schema(&schemas()[7].1);
    let tool = formats::openai("f", &"word ".repeat(400), &read, false);
    let text = tool.tool["function"]["description"].as_str().unwrap();
    assert!(text.chars().count() <= 1024);
    assert!(
        text.contains("word…\n(at least one of id, name is given; not id, name together)"),
        "{text}"
    );
    assert!(tool.notes.iter().any(|note| note.contains("shortened")));
}

#[test]
fn beyond_the_limits_it_is_not_strict() {
    let many: Vec<String> = (0..1_001).map(|at| at.to_string()).collect();
    let mut deep = json!({"type": "string"});
    for _ in 0..11 {
        deep = json!({"type": "object", "properties": {"a": deep}, "additionalProperties": false});
    }
    for schema in [
        json!({"type": "object", "properties": {"a": {"enum": many}}}),
        deep,
    ] {
        let tool = formats::openai("f", "", &Parameters::from_schema(&schema), true);
        assert!(!tool.strict);
        assert_eq!(tool.tool["function"]["strict"], false);
        assert!(
            tool.notes[0].starts_with("not strict: it "),
            "{:?}",
            tool.notes
        );
    }
}

#[test]
fn an_older_edition_is_put_in_the_words_of_the_newest() {
    let read = Parameters::from_schema(&json!({
        "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "properties": {
            "pair": {"type": "array", "items": [{"type": "string"}], "additionalItems": false},
            "at": {"$ref": "#/definitions/at", "type": "string"},
            "not": {"not": {"items": [{"type": "null"}]}}
        },
        "dependencies": {"pair": ["at"], "at": {"required": ["pair"]}},
        "definitions": {"at": {"type": "integer"}}
    }));
    let tool = formats::anthropic("f", "", &read);
    assert_eq!(
        tool.tool["input_schema"],
        json!({"type": "object",
            "properties": {
                "pair": {"type": "array", "prefixItems": [{"type": "string"}], "items": false},
                "at": {"$ref": "#/$defs/at"},
                "not": {"not": {"prefixItems": [{"type": "null"}]}}
            },
            "dependentRequired": {"pair": ["at"]},
            "dependentSchemas": {"at": {"required": ["pair"]}},
            "$defs": {"at": {"type": "integer"}}
        })
    );
}
