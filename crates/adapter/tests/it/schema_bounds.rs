//! Tests of hostile schemas: deep, wide and cyclic ones must neither overflow nor explode.

use deliberate_adapter::schema::{JsonSchemaError, JsonSchemaValidator, Parameters, ShapeKind};
use serde_json::{Map, Value, json};

fn nested(levels: usize) -> Value {
    let mut schema = json!({"type": "string"});
    for _ in 0..levels {
        let mut properties = Map::new();
        properties.insert("a".to_owned(), schema);
        let mut outer = Map::new();
        outer.insert("properties".to_owned(), Value::Object(properties));
        schema = Value::Object(outer);
    }
    schema
}

#[test]
fn ten_thousand_levels_are_refused_without_being_walked() {
    let schema = nested(10_000);
    let read = Parameters::from_schema(&schema);
    assert_eq!(read.root.kind, ShapeKind::Any);
    assert_eq!(read.warnings.len(), 1);
    assert_eq!(
        JsonSchemaValidator::new(&schema).err(),
        Some(JsonSchemaError::TooDeep)
    );
    // Dropping the value would recurse.
    std::mem::forget(schema);
}

#[test]
fn what_a_parser_lets_through_is_read_and_checked() {
    let schema = nested(60);
    let read = Parameters::from_schema(&schema);
    assert!(
        !read.warnings.is_empty(),
        "the innermost part is kept whole"
    );
    let (before, after) = (
        JsonSchemaValidator::new(&schema).unwrap(),
        JsonSchemaValidator::new(&read.to_schema()).unwrap(),
    );
    let mut deep = json!(7);
    for _ in 0..60 {
        deep = json!({"a": deep});
    }
    assert!(!before.accepts(&deep) && !after.accepts(&deep));
    assert!(before.accepts(&json!({"a": {"a": 1}})) && after.accepts(&json!({"a": {"a": 1}})));
}

/// Each definition uses the next one twice.
fn fan(key: &str) -> Value {
    let mut definitions = Map::new();
    for at in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
        let body = match key {
            "properties" => json!({"type": "object", "properties": {"a": next, "b": next}}),
            key => json!({key: [next, next]}),
        };
        definitions.insert(format!("d{at}"), body);
    }
    definitions.insert("d40".to_owned(), json!({"type": "string"}));
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

#[test]
fn references_that_double_forty_times_stay_small() {
    for key in ["properties", "allOf", "anyOf", "oneOf"] {
        let read = Parameters::from_schema(&fan(key));
        let written = read.to_schema().to_string();
        assert!(written.len() < 2_000_000, "{key}: {}", written.len());
    }
    assert_eq!(
        JsonSchemaValidator::new(&fan("anyOf")).err(),
        Some(JsonSchemaError::TooExpensive)
    );
    let checker = JsonSchemaValidator::new(&fan("properties")).unwrap();
    assert!(checker.accepts(&json!({"a": {"b": {}}})));
    assert!(!checker.accepts(&json!({"a": {"b": 1}})));
}

#[test]
fn circles_end() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"not": {"anyOf": [{"$ref": "#"}]}}),
    ] {
        let read = Parameters::from_schema(&schema);
        assert!(read.to_schema().to_string().len() < 1_000);
        assert_eq!(
            JsonSchemaValidator::new(&schema).err(),
            Some(JsonSchemaError::TooExpensive),
            "{schema}"
        );
    }
    let tree = json!({"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}});
    let checker = JsonSchemaValidator::new(&tree).unwrap();
    assert!(checker.accepts(&json!({"kids": [{"kids": []}]})));
    assert!(!checker.accepts(&json!({"kids": [{"kids": [3]}]})));
}

#[test]
fn a_large_list_of_values_used_often_is_written_once() {
    let values: Vec<String> = (0..20_000).map(|at| format!("value number {at}")).collect();
    let mut properties = Map::new();
    for at in 0..500 {
        properties.insert(format!("p{at}"), json!({"$ref": "#/$defs/many"}));
    }
    let schema =
        json!({"type": "object", "properties": properties, "$defs": {"many": {"enum": values}}});
    let written = Parameters::from_schema(&schema).to_schema().to_string();
    assert!(written.len() < schema.to_string().len() + 1_000);
}

#[test]
fn many_references_into_one_large_part_do_not_multiply_it() {
    let list: Vec<u32> = (0..20_000).collect();
    let mut chain = json!({"enum": list});
    let mut pointer = "#/$defs/c".to_owned();
    let mut uses = Vec::new();
    for _ in 0..60 {
        chain = json!({"not": chain});
        uses.push(json!({"$ref": pointer}));
        pointer.push_str("/not");
    }
    let mut properties = Map::new();
    for (at, reference) in uses.into_iter().enumerate() {
        properties.insert(format!("p{at}"), reference);
    }
    let schema = json!({"type": "object", "properties": properties, "$defs": {"c": chain}});
    let written = Parameters::from_schema(&schema).to_schema().to_string();
    assert!(written.len() < 20 * schema.to_string().len());
}

#[test]
fn a_schema_that_is_broken_or_leads_outside_is_a_fault_and_no_panic() {
    for schema in [
        json!({"type": "file"}),
        json!({"pattern": "("}),
        json!({"pattern": "(a{1000}){1000}"}),
        json!({"$ref": "https://example.com/x.json"}),
        json!({"$ref": "#/nowhere"}),
        json!(7),
    ] {
        let fault = JsonSchemaValidator::new(&schema).unwrap_err();
        assert!(
            matches!(fault, JsonSchemaError::Invalid(_)),
            "{schema}: {fault}"
        );
        assert!(fault.to_string().chars().count() < 400);
        let _ = Parameters::from_schema(&schema).to_schema();
    }
}

#[test]
fn faults_name_the_place_the_rule_and_the_value() {
    let checker = JsonSchemaValidator::new(&json!({
        "type": "object",
        "properties": {"name": {"type": "string", "minLength": 3}, "n": {"maximum": 5}},
        "required": ["id"], "additionalProperties": false
    }))
    .unwrap();
    let faults = checker.check(&json!({"name": "ab", "n": 7, "extra": "x".repeat(500)}));
    let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(faults.len(), 4, "{told:?}");
    let of = |keyword: &str| faults.iter().find(|it| it.keyword == keyword).unwrap();
    assert_eq!(
        (
            of("minLength").path.as_str(),
            of("minLength").value.as_str()
        ),
        ("/name", "\"ab\"")
    );
    assert_eq!(of("maximum").rule, "must be at most 5");
    assert!(of("required").rule.contains("\"id\""));
    assert!(told.iter().all(|line| line.len() < 500));
    let unknown = checker.check(&json!({"id": 1}));
    assert_eq!(unknown.len(), 1, "{unknown:?}");
}

#[test]
fn no_more_than_ten_faults_are_told_and_deep_values_are_refused() {
    let checker = JsonSchemaValidator::new(&json!({"items": {"type": "string"}})).unwrap();
    assert_eq!(checker.check(&Value::Array(vec![json!(1); 50])).len(), 10);
    let mut deep = json!(1);
    for _ in 0..200 {
        deep = json!([deep]);
    }
    assert_eq!(checker.check(&deep)[0].keyword, "depth");
    assert!(!checker.accepts(&deep));
}

#[test]
fn as_deep_as_is_allowed_does_not_overflow() {
    for key in ["not", "items", "anyOf", "allOf", "additionalProperties"] {
        let mut schema = json!({"type": "string"});
        let levels = if key.ends_with("Of") { 98 } else { 197 };
        for _ in 0..levels {
            let inner = if key.ends_with("Of") {
                json!([schema])
            } else {
                schema
            };
            schema = Value::Object(Map::from_iter([(key.to_owned(), inner)]));
        }
        let read = Parameters::from_schema(&schema);
        let checker = JsonSchemaValidator::new(&schema).unwrap();
        let value = json!([[{"a": 1}]]);
        assert_eq!(
            checker.accepts(&value),
            JsonSchemaValidator::new(&read.to_schema())
                .unwrap()
                .accepts(&value)
        );
        let _ = checker.check(&value);
    }
}

#[test]
fn choices_at_every_level_of_a_deep_value_do_not_double_the_work() {
    let arm = json!({"type": "array", "items": {"$ref": "#"}});
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        let schema =
            json!({key: [arm, arm, {"type": "array", "items": {"$ref": "#"}, "maxItems": 3}]});
        let checker = JsonSchemaValidator::new(&schema).unwrap();
        assert!(!checker.accepts(&deep));
        assert_eq!(checker.check(&deep)[0].keyword, "schema", "{key}");
        assert_eq!(
            checker.check(&json!([1]))[0].keyword,
            if key == "allOf" { "type" } else { key }
        );
    }
}
