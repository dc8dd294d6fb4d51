//! Tests that a schema that is read and written accepts the same values.

use deliberate_adapter::schema::{JsonSchemaValidator, Parameters, ShapeKind};
use proptest::{prelude::*, strategy::ValueTree as _, test_runner::TestRunner};
use serde_json::{Value, json};

use super::schema_generators::{Dice, document, tool_schema, value, value_for_schema};

fn compile(schema: &Value) -> Option<jsonschema::Validator> {
    jsonschema::options().offline().build(schema).ok()
}

/// Checks that the original and the written schema agree on these values.
fn assert_equivalent(schema: &Value, values: &[Value]) -> Result<(), TestCaseError> {
    // An unusable schema says nothing about any value.
    if JsonSchemaValidator::new(schema).is_err() {
        return Ok(());
    }
    let Some(before) = compile(schema) else {
        return Ok(());
    };
    let written = Parameters::from_schema(schema).to_schema();
    let after = compile(&written);
    prop_assert!(
        after.is_some(),
        "{schema}\n became what can't be compiled:\n{written}"
    );
    let after = after.unwrap();
    for value in values {
        prop_assert_eq!(
            before.is_valid(value),
            after.is_valid(value),
            "{}\n became \n{}\n and differs for {}",
            schema,
            &written,
            value
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn a_schema_read_and_written_accepts_the_same(
        schema in document(),
        mut values in prop::collection::vec(value(), 8),
        seed in any::<u64>(),
    ) {
        let mut dice = Dice(seed);
        values.extend((0..16).map(|_| value_for_schema(&schema, &schema, &mut dice, 0)));
        assert_equivalent(&schema, &values)?;
    }

    #[test]
    fn a_tools_schema_read_and_written_accepts_the_same(
        schema in tool_schema(),
        seed in any::<u64>(),
    ) {
        let mut dice = Dice(seed);
        let values: Vec<Value> = (0..24).map(|_| value_for_schema(&schema, &schema, &mut dice, 0)).collect();
        assert_equivalent(&schema, &values)?;
    }

    #[test]
    fn the_original_is_kept_word_for_word(schema in document()) {
        prop_assert_eq!(Parameters::from_schema(&schema).original.to_string(), schema.to_string());
    }
}

fn params(schema: &Value) -> Parameters {
    Parameters::from_schema(schema)
}

#[test]
fn null_in_a_union_or_a_list_of_types_is_a_flag() {
    let read = params(&json!({"type": "object", "properties": {
        "a": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "A."},
        "b": {"type": ["integer", "null"], "minimum": 1},
        "c": {"oneOf": [{"type": "null"}, {"type": "boolean"}]},
        "d": {"type": ["string", "null"], "enum": ["x"]},
    }}));
    let of = |name: &str| read.param(name).unwrap().shape.clone();
    assert_eq!((of("a").kind, of("a").nullable), (ShapeKind::String, true));
    assert_eq!(of("a").description.as_deref(), Some("A."));
    assert_eq!((of("b").kind, of("b").nullable), (ShapeKind::Integer, true));
    assert_eq!((of("c").kind, of("c").nullable), (ShapeKind::Boolean, true));
    assert!(!of("d").nullable, "null is not among its values");
    assert!(read.warnings.is_empty());
}

#[test]
fn references_are_written_out_and_what_holds_itself_keeps_its_name() {
    let read = params(&json!({
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/point", "description": "Where."}, "t": {"$ref": "#/$defs/tree"}},
        "$defs": {
            "point": {"type": "object", "properties": {"x": {"type": "number"}}, "description": "A point."},
            "tree": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}
        }
    }));
    let at = &read.param("at").unwrap().shape;
    assert!(matches!(&at.kind, ShapeKind::Object { params, .. } if params[0].name == "x"));
    assert_eq!(at.description.as_deref(), Some("Where.\nA point."));
    let tree = &read.param("t").unwrap().shape;
    assert_eq!(tree.kind, ShapeKind::Ref("tree".to_owned()));
    assert!(matches!(read.resolve(tree).kind, ShapeKind::Object { .. }));
    assert_eq!(read.definitions.len(), 1);
}

#[test]
fn all_of_becomes_one_object_where_that_is_exact() {
    let read = params(&json!({
        "allOf": [{"$ref": "#/$defs/base"}, {"properties": {"b": {"type": "string"}}, "required": ["b"]}],
        "type": "object",
        "$defs": {"base": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}
    }));
    let names: Vec<(&str, bool)> = read
        .params()
        .iter()
        .map(|it| (it.name.as_str(), it.required))
        .collect();
    assert_eq!(names, [("a", true), ("b", true)]);
    assert_eq!(read.to_schema().get("allOf"), None);

    // A closed part must not see the fields of the other.
    let closed = params(&json!({"allOf": [
        {"type": "object", "properties": {"a": {}}, "additionalProperties": false},
        {"type": "object", "properties": {"b": {}}}
    ]}));
    assert!(matches!(closed.root.kind, ShapeKind::AllOf(_)));
}

#[test]
fn what_leads_outside_is_kept_and_told() {
    let schema = json!({"type": "object", "properties": {
        "far": {"$ref": "https://example.com/far.json"}, "gone": {"$ref": "#/$defs/gone"}, "odd": 7
    }});
    let read = params(&schema);
    let told: Vec<(&str, &str)> = read
        .warnings
        .iter()
        .map(|it| (it.path.as_str(), it.message.as_str()))
        .collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert_eq!(told[0].0, "far");
    assert!(told[0].1.contains("not fetched"));
    assert_eq!(read.to_schema()["properties"], schema["properties"]);
}

#[test]
fn every_keyword_is_still_there() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object", "title": "T", "x-own": [1],
        "properties": {
            "s": {"type": "string", "minLength": 1, "format": "uri", "default": "d", "examples": ["e"]},
            "t": {"type": "array", "prefixItems": [{"type": "string"}, {"const": 2}], "items": false},
            "m": {"type": "object", "additionalProperties": {"type": "integer"}, "propertyNames": {"pattern": "^a"}},
            "e": {"enum": [1, "a", null, {"b": []}]},
        },
        "required": ["s", "unsaid"],
        "anyOf": [{"required": ["t"]}, {"required": ["m"]}],
        "dependentRequired": {"t": ["m"]},
        "additionalProperties": false
    });
    let mut written = params(&schema).to_schema();
    written["properties"]["m"]
        .as_object_mut()
        .unwrap()
        .shift_remove("properties");
    assert_eq!(written, schema);
}

/// A property of schemas that accept everything or nothing would be meaningless.
#[test]
fn the_random_schemas_tell_values_apart() {
    let mut runner = TestRunner::deterministic();
    let mut telling = 0;
    for seed in 0..200 {
        let schema = document().new_tree(&mut runner).unwrap().current();
        let Ok(checker) = JsonSchemaValidator::new(&schema) else {
            continue;
        };
        let mut dice = Dice(seed);
        let passed =
            (0..16).map(|_| checker.accepts(&value_for_schema(&schema, &schema, &mut dice, 0)));
        let passed = passed.filter(|passed| *passed).count();
        telling += usize::from((1..16).contains(&passed));
    }
    assert!(telling > 80, "only {telling} of 200 do");
}

#[test]
fn a_document_that_speaks_of_itself_by_address_is_kept_whole() {
    for schema in [
        json!({"$id": "https://example.com/a", "type": "object",
            "properties": {"a": {"$ref": "https://example.com/a#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "inner"}},
            "$defs": {"n": {"$id": "inner", "type": "integer"}}}),
        json!({"$dynamicAnchor": "node", "type": "object", "properties": {"a": {"$dynamicRef": "#node"}}}),
    ] {
        let read = params(&schema);
        assert_eq!(read.to_schema(), schema);
        assert_eq!(read.warnings.len(), 1);
        let checker = JsonSchemaValidator::new(&schema).unwrap();
        assert!(!checker.check(&json!({"a": "x"})).is_empty());
    }
    // A URI alone changes nothing.
    let plain = params(
        &json!({"$id": "https://example.com/a", "type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}),
    );
    assert_eq!(plain.param("a").unwrap().shape.kind, ShapeKind::Integer);
}

/// Rarely generated cases: rules that depend on their siblings.
#[test]
fn rules_that_hang_on_others_stay_beside_them() {
    let values = [
        json!({}),
        json!({"a": 1}),
        json!({"b": 1}),
        json!({"a": 1, "b": 1}),
        json!(5),
        json!(6),
    ];
    for schema in [
        json!({"allOf": [{"properties": {"a": {}}, "unevaluatedProperties": false}, {"anyOf": [{"properties": {"b": {}}}]}]}),
        json!({"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": false}),
        json!({"allOf": [{"unevaluatedProperties": false}, {"anyOf": [{"properties": {"b": {}}}]}]}),
        json!({"$ref": "#/$defs/n", "unevaluatedProperties": false, "$defs": {"n": {"properties": {"a": {}}, "required": ["a"]}}}),
        json!({"$ref": "#/$defs/n", "$defs": {"n": {"additionalProperties": true}}, "unevaluatedProperties": false}),
        json!({"allOf": [{"properties": {"a": {}}, "additionalProperties": false}, {"properties": {"b": {}}}]}),
        json!({"allOf": [{"if": {"required": ["a"]}}, {"then": {"required": ["b"]}}]}),
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "allOf": [{"minimum": 5, "exclusiveMinimum": true}, {"minimum": 4}]}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/n", "maximum": 5, "definitions": {"n": {"minimum": 5}}}),
    ] {
        assert_equivalent(&schema, &values).unwrap();
    }
}
