//! Conversion and validation of the arguments of a prompt.

use std::collections::BTreeMap;

use deliberate_prompts::{
    arguments::{ArgumentError, CheckedArguments, check, describe},
    model::{ArgumentDefinition, ArgumentType, ArgumentValidation},
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const MAX_BYTES: usize = 1 << 20;

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => panic!("not an object"),
    }
}

fn argument(json: Value) -> ArgumentDefinition {
    serde_json::from_value(json).unwrap()
}

fn check_given(
    declared: &[ArgumentDefinition],
    given: Value,
) -> Result<CheckedArguments, Vec<ArgumentError>> {
    check(declared, map(given), &Map::new(), &|_| false, MAX_BYTES)
}

#[track_caller]
fn check_single(declared: Value, given: Value) -> Result<Value, String> {
    let declared = [argument(declared)];
    let name = declared[0].name.clone();
    let mut given_map = Map::new();
    given_map.insert(name.clone(), given);
    match check(&declared, given_map, &Map::new(), &|_| false, MAX_BYTES) {
        Ok(mut checked) => Ok(checked.values.remove(&name).unwrap_or_default()),
        Err(problems) => {
            assert_eq!(problems.len(), 1);
            Err(problems[0].to_string())
        }
    }
}

#[test]
fn row_11_a_required_argument_that_is_missing_or_blank_is_an_error() {
    let declared = [
        argument(json!({"name": "code", "required": true, "description": "what to review"})),
        argument(json!({"name": "level", "required": true, "allowedValues": ["low", "high"]})),
        argument(json!({"name": "note"})),
    ];
    let problems = check_given(&declared, json!({"level": "  "})).unwrap_err();
    assert_eq!(
        describe("review", &declared, &problems),
        "`code` (what to review) is required but not given; give it a value\n\
         `level` is required but blank; give it a value\n\
         Call again with: >>review code:\"…\" level:\"low\""
    );
    assert!(check_given(&declared, json!({"code": null, "level": "low"})).is_err());
    assert!(check_given(&declared, json!({"code": "x", "level": "low"})).is_ok());
}

#[test]
fn row_16_json_values_keep_every_byte() {
    let value = "a <b> c > d < e & \"f\" {{ g }} $& \u{0}";
    let declared = [
        argument(json!({"name": "x"})),
        argument(json!({"name": "o", "type": "object"})),
    ];
    let found = check_given(&declared, json!({"x": value, "o": {"k": value}})).unwrap();
    assert_eq!(
        found.values,
        BTreeMap::from([
            ("x".to_owned(), json!(value)),
            ("o".to_owned(), json!({"k": value}))
        ])
    );
}

#[test]
fn row_30_a_hostile_pattern_takes_no_time() {
    let pattern = json!({"name": "x", "validation": {"pattern": "^(a+)+$"}});
    let long = format!("{}!", "a".repeat(100_000));
    assert!(
        check_single(pattern.clone(), json!(long))
            .unwrap_err()
            .contains("must match the pattern `^(a+)+$`")
    );
    assert_eq!(check_single(pattern, json!("aaa")), Ok(json!("aaa")));
    let exact = json!({"name": "x", "validation": {"pattern": "^A|B$"}});
    assert!(check_single(exact.clone(), json!("a")).is_err());
    assert_eq!(check_single(exact, json!("xB")), Ok(json!("xB")));
}

#[test]
fn a_pattern_that_would_take_long_is_not_applied() {
    let declared = [argument(
        json!({"name": "x", "validation": {"pattern": "([ab]{1,99}b){60}z"}}),
    )];
    let mixed: String = (0..500_000_u32)
        .map(|at| {
            if at.wrapping_mul(2_654_435_761) >> 31 == 0 {
                'a'
            } else {
                'b'
            }
        })
        .collect();
    let found = check_given(&declared, json!({ "x": mixed })).unwrap();
    assert!(
        found.notes[0].contains("takes too long"),
        "{:?}",
        found.notes
    );
}

#[test]
fn row_42_ten_megabytes_are_refused_at_once() {
    let declared = [argument(
        json!({"name": "x", "validation": {"pattern": "a"}}),
    )];
    let problems =
        check_given(&declared, json!({"x": "x".repeat(10 << 20), "other": 1})).unwrap_err();
    assert_eq!(problems.len(), 1);
    assert!(problems[0].message.contains("the limit of 1048576 bytes"));
    assert!(!describe("p", &declared, &problems).contains("Call again"));
    let many = json!({"x": vec![0; 2 << 20]});
    assert!(check_given(&declared, many).is_err());
    let options = map(json!({"x": "x".repeat(MAX_BYTES)}));
    assert!(
        check(
            &declared,
            map(json!({"x": "y"})),
            &options,
            &|_| true,
            MAX_BYTES
        )
        .is_err()
    );
}

#[test]
fn types_come_from_the_type() {
    for (kind, given, value) in [
        ("string", json!("007"), json!("007")),
        ("string", json!(7), json!("7")),
        ("string", json!(true), json!("true")),
        ("string", json!(""), json!("")),
        ("number", json!(" 42 "), json!(42)),
        ("number", json!("-2.5e3"), json!(-2500.0)),
        ("number", json!(7), json!(7)),
        ("integer", json!("18446744073709551615"), json!(u64::MAX)),
        ("boolean", json!("Yes"), json!(true)),
        ("boolean", json!("0"), json!(false)),
        ("boolean", json!(1), json!(true)),
        ("array", json!("a, \"b, c\" , d"), json!(["a", "b, c", "d"])),
        ("array", json!("[1, \"x\"]"), json!([1, "x"])),
        ("array", json!(["x"]), json!(["x"])),
        ("array", json!(5), json!([5])),
        ("object", json!("{\"a\": 1}"), json!({"a": 1})),
        ("number", json!("  "), Value::Null),
    ] {
        assert_eq!(
            check_single(json!({"name": "x", "type": kind}), given.clone()),
            Ok(value),
            "{kind} {given}"
        );
    }
}

#[test]
fn a_wrong_type_is_said_in_one_sentence() {
    for (kind, given, text) in [
        (
            "number",
            json!("three"),
            "`x` must be a number, but is \"three\"; pass a number such as 3 or 2.5",
        ),
        (
            "number",
            json!("inf"),
            "`x` must be a number, but is \"inf\"; pass a number such as 3 or 2.5",
        ),
        (
            "number",
            json!(true),
            "`x` must be a number, but is true; pass a number such as 3 or 2.5",
        ),
        (
            "boolean",
            json!("maybe"),
            "`x` must be true or false, but is \"maybe\"; pass `true` or `false`",
        ),
        (
            "array",
            json!("[1,"),
            "`x` must be a list, but is \"[1,\"; pass a JSON array, or entries separated by commas",
        ),
        (
            "object",
            json!("[1]"),
            "`x` must be an object, but is \"[1]\"; pass a JSON object such as {\"a\": 1}",
        ),
    ] {
        assert_eq!(
            check_single(json!({"name": "x", "type": kind}), given),
            Err(text.to_owned())
        );
    }
    let long = check_single(
        json!({"name": "x", "type": "number"}),
        json!("y".repeat(500)),
    )
    .unwrap_err();
    assert!(long.chars().count() < 200, "{long}");
}

#[test]
fn what_is_missing_comes_from_options_then_from_the_default() {
    let declared = [
        argument(json!({"name": "a", "defaultValue": "A"})),
        argument(json!({"name": "b", "defaultValue": "B"})),
        argument(json!({"name": "c", "type": "number", "defaultValue": "3"})),
        argument(json!({"name": "d", "validation": {"pattern": "^https://", "minLength": 9}})),
        argument(json!({"name": "e", "required": true, "defaultValue": "E"})),
    ];
    let options = map(json!({"a": "from options", "b": "from options"}));
    let found = check(
        &declared,
        map(json!({"b": "given", "e": ""})),
        &options,
        &|_| false,
        MAX_BYTES,
    )
    .unwrap();
    let expected = json!({"a": "from options", "b": "given", "c": 3, "e": "E"});
    assert_eq!(
        found.values.into_iter().collect::<Map<_, _>>(),
        map(expected)
    );
}

#[test]
fn a_default_never_comes_from_the_environment() {
    let found = check_given(
        &[
            argument(json!({"name": "PATH"})),
            argument(json!({"name": "home"})),
        ],
        json!({}),
    );
    assert_eq!(found.unwrap().values, BTreeMap::new());
}

#[test]
fn of_many_errors_the_first_ten_are_told() {
    let declared = [argument(json!({"name": "code"}))];
    let given: Map<String, Value> = (0..50_000).map(|at| (format!("x{at}"), json!(1))).collect();
    for (given, options) in [(given.clone(), Map::new()), (Map::new(), given)] {
        let problems = check(&declared, given, &options, &|_| false, MAX_BYTES).unwrap_err();
        assert_eq!(problems.len(), 11);
        assert_eq!(problems[9].argument, "x9");
        assert!(problems[10].message.contains("more errors"), "{problems:?}");
    }
    let ten: Map<String, Value> = (0..10).map(|at| (format!("x{at}"), json!(1))).collect();
    let problems = check_given(&declared, Value::Object(ten)).unwrap_err();
    assert_eq!(problems.len(), 10);
}

#[test]
fn an_unknown_name_is_an_error_unless_the_prompt_uses_it() {
    let declared = [
        argument(json!({"name": "language"})),
        argument(json!({"name": "code"})),
    ];
    let problems = check_given(&declared, json!({"langauge": "x", "weather": 1})).unwrap_err();
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        vec![
            "`langauge` is not an argument of this prompt; did you mean `language`?",
            "`weather` is not an argument of this prompt; its arguments are `language`, `code`",
        ]
    );
    let found = check(
        &declared,
        map(json!({"extra": [1]})),
        &Map::new(),
        &|name| name == "extra",
        MAX_BYTES,
    )
    .unwrap();
    assert_eq!(
        found.values,
        BTreeMap::from([("extra".to_owned(), json!([1]))])
    );
    assert!(
        check_given(&[], json!({"x": 1})).unwrap_err()[0]
            .message
            .ends_with("it has no arguments")
    );
}

#[test]
fn rules_name_the_argument_the_rule_and_the_value() {
    for (rules, given, text) in [
        (
            json!({"minLength": 3}),
            "äö",
            "`x` must have at least 3 characters (it has 2), but is \"äö\"; make it longer",
        ),
        (
            json!({"maxLength": 2}),
            "äöü",
            "`x` must have at most 2 characters (it has 3), but is \"äöü\"; shorten it",
        ),
        (
            json!({"pattern": "^https://"}),
            "ftp",
            "`x` must match the pattern `^https://`, but is \"ftp\"; give a value that matches",
        ),
        (
            json!({"allowedValues": ["low", "high"]}),
            "hihg",
            "`x` must be one of low, high, but is \"hihg\"; did you mean `high`?",
        ),
    ] {
        let found = check_single(json!({"name": "x", "validation": rules}), json!(given));
        assert_eq!(found, Err(text.to_owned()));
    }
    let list = json!({"name": "x", "type": "array", "allowedValues": ["a", 1], "validation": {"maxLength": 2}});
    assert_eq!(
        check_single(list.clone(), json!("a, 1")),
        Ok(json!(["a", "1"]))
    );
    assert!(check_single(list.clone(), json!("a, b")).is_err());
    assert!(
        check_single(list, json!("a, a, a"))
            .unwrap_err()
            .contains("at most 2 entries")
    );
    assert_eq!(
        check_single(
            json!({"name": "n", "type": "number", "allowedValues": [1, 2]}),
            json!("2")
        ),
        Ok(json!(2))
    );
}

#[test]
fn several_problems_are_said_at_once() {
    let declared = [
        argument(json!({"name": "a", "required": true})),
        argument(json!({"name": "n", "type": "number"})),
        argument(json!({"name": "ok"})),
    ];
    let problems = check_given(&declared, json!({"n": "x", "okk": "y"})).unwrap_err();
    assert_eq!(problems.len(), 3);
    let text = describe("p", &declared, &problems);
    assert_eq!(text.lines().count(), 4);
    assert!(
        text.ends_with("Call again with: >>p a:\"…\" n:\"1\""),
        "{text}"
    );
}

#[test]
fn a_pattern_that_can_not_be_checked_is_a_note() {
    let declared = ArgumentDefinition {
        name: "x".to_owned(),
        kind: ArgumentType::String,
        validation: Some(ArgumentValidation {
            pattern: Some("(?=a)b".to_owned()),
            ..ArgumentValidation::default()
        }),
        ..ArgumentDefinition::default()
    };
    let found = check_given(&[declared], json!({"x": "b"})).unwrap();
    assert_eq!(found.notes.len(), 1);
    assert!(found.notes[0].contains("`x`"));
}

proptest! {
    #[test]
    fn text_stays_as_it_was_given(value in any::<String>()) {
        let declared = [argument(json!({"name": "x"}))];
        let found = check_given(&declared, json!({"x": value})).unwrap();
        prop_assert_eq!(found.values.get("x"), Some(&json!(value)));
    }

    #[test]
    fn no_text_makes_a_check_panic(value in any::<String>(), pattern in any::<String>(), kind in 0_usize..5) {
        let kind = ["string", "number", "boolean", "array", "object"][kind];
        let declared = [argument(json!({"name": "x", "type": kind, "validation": {"pattern": pattern, "minLength": 1}}))];
        drop(check_given(&declared, json!({"x": value})));
    }
}
