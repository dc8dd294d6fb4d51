//! Tests of values that fit, values that are coerced and values that are left alone.

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
        (json!("0.9%"), &score, json!(1)),
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
        // The number of items is up to the caller: the last one may be the best.
        (json!([1, "b", "c"]), &list, json!(["1", "b", "c"])),
        (json!(null), &nullable, json!(null)),
        (json!("null"), &nullable, json!(null)),
        (json!("7"), &nullable, json!(7)),
        (json!("Very high"), &level, json!("very_high")),
    ];
    for (value, schema, expected) in cases {
        assert_eq!(
            coerce(value.clone(), schema),
            expected,
            "{value} for {schema}"
        );
    }
}

#[test]
fn strings_and_booleans() {
    let short = json!({"type": "string", "maxLength": 3});
    assert_eq!(coerce(json!("äöüß"), &short), json!("äöü"));
    assert_eq!(coerce(json!("äöü"), &short), json!("äöü"));
    assert_eq!(coerce(json!(0.5), &short), json!("0.5"));
    let flag = json!({"type": "boolean"});
    assert_eq!(coerce(json!("True"), &flag), json!(true));
    assert_eq!(coerce(json!("no"), &flag), json!(false));
    assert_eq!(coerce(json!("perhaps"), &flag), json!("perhaps"));
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
    let fitted = json!({"branches": [{"score": 90, "children": [{"score": 100}], "more": "1"}]});
    let answer = json!({"branches": [{"score": "90", "children": {"score": 190}, "more": "1"}]});
    assert_eq!(coerce(answer, &schema), fitted);
    let bare = json!([{"score": "90", "children": {"score": 190}, "more": "1"}, {}]);
    assert_eq!(
        coerce(bare, &schema),
        json!({"branches": [{"score": 90, "children": [{"score": 100}], "more": "1"}, {}]})
    );
}

#[test]
fn an_object_in_a_list_is_taken_out() {
    let schema = json!({"type": "object", "properties": {"score": {"type": "integer"}}});
    assert_eq!(
        coerce(json!([{"score": "3"}]), &schema),
        json!({"score": 3})
    );
    let several = json!([{"score": "3"}, {"score": "4"}]);
    assert_eq!(coerce(several.clone(), &schema), several);
}

#[test]
fn items_find_their_list_and_texts_their_object() {
    let schema = json!({
        "type": "object",
        "properties": {"sentences": {"type": "array", "items": {"$ref": "#/$defs/Sentence"}}},
        "required": ["sentences"],
        "$defs": {"Sentence": {"type": "object", "properties": {
            "sentence": {"type": "string"},
            "passages": {"type": "array", "items": {"type": "string"}},
        }, "required": ["sentence"]}},
    });
    let one = json!({"sentence": "Peat burns.", "passages": ["p1"]});
    let whole = json!({ "sentences": [one] });
    assert_eq!(coerce(one.clone(), &schema), whole);
    assert_eq!(coerce(json!([one]), &schema), whole);
    assert_eq!(coerce(json!([whole]), &schema), whole);
    assert_eq!(
        coerce(json!(["Peat burns.", one]), &schema),
        json!({"sentences": [{"sentence": "Peat burns."}, one]})
    );
    let other = json!({"answer": "Peat burns."});
    assert_eq!(coerce(other.clone(), &schema), other);
}

#[test]
fn null_for_what_need_not_be_said_is_left_out() {
    let schema = json!({
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": "array"},
            "c": {"type": ["string", "null"]},
            "d": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "required": ["a"],
    });
    let answer = json!({"a": null, "b": null, "c": null, "d": null, "e": null});
    assert_eq!(
        coerce(answer, &schema),
        json!({"a": null, "c": null, "d": null, "e": null})
    );
}

#[test]
fn circles_of_references_end() {
    let schema = json!({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}});
    assert_eq!(coerce(json!({"a": "1"}), &schema), json!({"a": "1"}));
    let missing = json!({"$ref": "#/$defs/B", "type": "integer"});
    assert_eq!(coerce(json!("1"), &missing), json!(1));
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
            assert_eq!(coerce(value.clone(), &schema), value);
        }
    }
    let big = json!(9_223_372_036_854_775_807_i64);
    assert_eq!(coerce(big.clone(), &json!({"type": "integer"})), big);
}
