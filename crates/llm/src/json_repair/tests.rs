//! Tests of malformed answers that models have given, and properties that hold for all texts.

use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;

#[track_caller]
fn assert_reads(text: &str, expected: Value) {
    assert_eq!(read_json(text), Ok(expected), "{text}");
}

#[track_caller]
fn assert_no_json(text: &str) {
    assert_eq!(read_json(text), Err(NoJson), "{text}");
}

#[test]
fn fences_and_prose_around_are_left_out() {
    let expected = json!({"a": 1});
    assert_reads("```json\n{\"a\": 1}\n```", expected.clone());
    assert_reads(
        "Sure!\n\n```\n{\"a\": 1}\n```\nAnything else?",
        expected.clone(),
    );
    assert_reads("```json\n{\"a\": 1}", expected.clone());
    assert_reads("```JSON {\"a\": 1}```", expected.clone());
    assert_reads(
        "Here you are: {\"a\": 1}. I hope it helps!",
        expected.clone(),
    );
    assert_reads("\u{feff}{\"a\": 1}\n", expected.clone());
    assert_reads(
        "<think>maybe {\"a\": 2, \"b\": 3}?</think>\n{\"a\": 1}",
        expected.clone(),
    );
    assert_reads(r#""{\"a\": 1}""#, expected.clone());
    assert_reads("{{\"a\": 1}}", expected);
}

#[test]
fn small_faults_of_form_are_forgiven() {
    assert_reads(r#"{"a": 1, "b": [1, 2,],}"#, json!({"a": 1, "b": [1, 2]}));
    assert_reads(
        "{'a': 'it's fine', 'b': True, 'c': None}",
        json!({"a": "it's fine", "b": true, "c": null}),
    );
    assert_reads(
        "{a: 1, b_c: False, $d: 'x'}",
        json!({"a": 1, "b_c": false, "$d": "x"}),
    );
    assert_reads(
        "{\n  // the thought\n  \"a\": \"x\", /* more */ \"b\": 2 # last\n}",
        json!({"a": "x", "b": 2}),
    );
    assert_reads(
        "{\"a\": \"x\" // why\n, \"b\": 2 // two\n}",
        json!({"a": "x", "b": 2}),
    );
    assert_reads(
        "{\"a\": \"x\"\n \"b\": \"y\"\n}",
        json!({"a": "x", "b": "y"}),
    );
    assert_reads("{\"a\": [\"x\"\n\"y\"]}", json!({"a": ["x", "y"]}));
    assert_reads(
        "{\"a\": +1, \"b\": .5, \"c\": 5., \"d\": 007}",
        json!({"a": 1, "b": 0.5, "c": 5.0, "d": 7}),
    );
    assert_reads(
        "{\"a\": 85%, \"b\": very high, \"c\": NaN}",
        json!({"a": "85%", "b": "very high", "c": null}),
    );
    assert_reads("{\"a\": , \"b\": 1}", json!({"a": null, "b": 1}));
    assert_reads("{\"a\": [1, 2}", json!({"a": [1, 2]}));
    assert_reads(
        "{\"a\": [{\"b\": 1], \"c\": 2}",
        json!({"a": [{"b": 1}], "c": 2}),
    );
    assert_reads("{\"a\": [1, 2, ...]}", json!({"a": [1, 2]}));
    assert_reads("{\"a\": \"\"\"x \"y\" z\"\"\"}", json!({"a": "x \"y\" z"}));
}

#[test]
fn raw_line_ends_and_tabs_in_strings_stay() {
    assert_reads(
        "{\"a\": \"one\ntwo\tthree\"}",
        json!({"a": "one\ntwo\tthree"}),
    );
}

#[test]
fn smart_quotes_delimit() {
    assert_reads("{“a”: “x”, “b”: 1}", json!({"a": "x", "b": 1}));
    assert_reads("{„a“: „x“}", json!({"a": "x"}));
    assert_reads("{\"a\": \"he said “no”\",}", json!({"a": "he said “no”"}));
    assert_reads("{‘a’: ‘it’s’}", json!({"a": "it’s"}));
}

#[test]
fn unescaped_inner_quotes_belong_to_the_text() {
    assert_reads(
        r#"{"a": "he said "yes" and left", "b": 1}"#,
        json!({"a": "he said \"yes\" and left", "b": 1}),
    );
    assert_reads(
        r#"{"a": "he said "yes", and left"}"#,
        json!({"a": "he said \"yes\", and left"}),
    );
    assert_reads(
        r#"{"a": ["the "x" one", "two"]}"#,
        json!({"a": ["the \"x\" one", "two"]}),
    );
    assert_reads(
        r#"{"a": "the set {"x"} holds"}"#,
        json!({"a": "the set {\"x\"} holds"}),
    );
    assert_reads(r#"{"a": "so "it" ends"}"#, json!({"a": "so \"it\" ends"}));
    assert_reads(
        r#"{"a": "it ends in "quotes""}"#,
        json!({"a": "it ends in \"quotes\""}),
    );
}

#[test]
fn cut_off_answers_are_closed() {
    assert_reads(r#"{"a": "half a sent"#, json!({"a": "half a sent"}));
    assert_reads(
        r#"{"a": "x", "b": [1, {"c": "y"#,
        json!({"a": "x", "b": [1, {"c": "y"}]}),
    );
    assert_reads(
        r#"{"a": [{"b": 1}, {"b": 2}, {"b":"#,
        json!({"a": [{"b": 1}, {"b": 2}, {}]}),
    );
    assert_reads(r#"{"a": 1, "b""#, json!({"a": 1}));
    assert_reads(r#"{"a": 1, "b": tr"#, json!({"a": 1}));
    assert_reads(r#"{"a": 1, "b": 2"#, json!({"a": 1, "b": 2}));
    assert_reads("```json\n{\"a\": \"x\",", json!({"a": "x"}));
    assert_reads(
        "{\"a\": 1, \"b\": 2\n\nI hope this helps!",
        json!({"a": 1, "b": 2}),
    );
    assert_reads("{\"a\": \"x\\", json!({"a": "x"}));
    assert_reads("{\"a\": \"x\\u00", json!({"a": "x\\u00"}));
}

#[test]
fn a_number_that_a_limit_cut_is_not_trusted() {
    let text = r#"{"a": "x", "score": 8"#;
    assert_eq!(
        parse_with_end(text, Termination::Truncated),
        Ok(json!({"a": "x"}))
    );
    assert_eq!(
        parse_with_end(text, Termination::Complete),
        Ok(json!({"a": "x", "score": 8}))
    );
}

#[test]
fn braces_in_prose_are_not_json() {
    let expected = json!({"a": 1});
    assert_reads(r#"The set {x} is: {"a":1}"#, expected.clone());
    assert_reads(
        r#"The set {x : x > 0 and x < 10000000} is: {"a":1}"#,
        expected.clone(),
    );
    assert_reads(r#"Let { be a brace. {"a":1}"#, expected.clone());
    assert_reads(
        r#"See [1] and [the page](http://x): {"a":1}"#,
        expected.clone(),
    );
    assert_reads(r#"With \frac{1}{2} and \{x\}: {"a":1}"#, expected.clone());
    assert_reads(r#"A 5" {brace and {"a":1}"#, expected.clone());
    assert_reads(r#"fn main() {} prints {"a":1}"#, expected);
}

#[test]
fn the_broken_whole_is_preferred_to_a_sound_part() {
    assert_reads(
        r#"{"steps": [{"a": 1}, {"a": 2},], "b": 3}"#,
        json!({"steps": [{"a": 1}, {"a": 2}], "b": 3}),
    );
    assert_reads(
        "{\"code\": \"```json\n{'x': 1}\n```\", \"b\": 3,}",
        json!({"code": "```json\n{'x': 1}\n```", "b": 3}),
    );
}

#[test]
fn objects_are_preferred_to_arrays() {
    assert_reads(r#"[1, 2] or {"a": 1}"#, json!({"a": 1}));
    assert_reads(r#"Here: [{"a": 1}, {"a": 2}]"#, json!([{"a": 1}, {"a": 2}]));
    assert_reads(
        r#"Here: [{"a": 1}, {"a": 2},]"#,
        json!([{"a": 1}, {"a": 2}]),
    );
    assert_reads("[1, 2]", json!([1, 2]));
}

#[test]
fn latex_stays_as_written() {
    // Neither is strict JSON: `\a` and `\s` are no escapes.
    assert_reads(
        r#"{"a": "\frac{1}{2} \alpha"}"#,
        json!({"a": r"\frac{1}{2} \alpha"}),
    );
    assert_reads(
        r#"{"a": "\nu \to \tau \neq \beta \times \sqrt{2}\nNext line\tend"}"#,
        json!({"a": "\\nu \\to \\tau \\neq \\beta \\times \\sqrt{2}\nNext line\tend"}),
    );
    assert_reads(
        r#"{"a": "\upsilon \underline{x} \u00e9"}"#,
        json!({"a": r"\upsilon \underline{x} é"}),
    );
    assert_reads(
        r#"{"a": "properly \\frac{1}{2} \\alpha"}"#,
        json!({"a": r"properly \frac{1}{2} \alpha"}),
    );
    assert_reads(
        r#"{"a": "\(x\) and \[y\]"}"#,
        json!({"a": r"\(x\) and \[y\]"}),
    );
}

#[test]
fn strict_json_is_what_it_says_but_a_models_answer_may_mean_latex() {
    let cases = [
        (r#"{"a": "\frac{1}{2}"}"#, r"\frac{1}{2}"),
        (
            r#"{"a": "\beta \neq \theta \rho"}"#,
            r"\beta \neq \theta \rho",
        ),
        (r#"{"a": "\text{if } x"}"#, r"\text{if } x"),
        // Too short to be unambiguous.
        (r#"{"a": "\rm"}"#, "\rm"),
    ];
    for (text, meant) in cases {
        assert_reads(text, serde_json::from_str(text).unwrap());
        assert_eq!(
            parse_with_end(text, Termination::Complete),
            Ok(json!({"a": meant})),
            "{text}"
        );
    }
}

#[test]
fn ordinary_line_ends_and_tabs_are_no_latex() {
    let texts = [
        "one\ntwo",
        "a\nu b",
        "x\to y",
        "name\text\tsize",
        "if x:\n\treturn\r\n",
        "\nexists",
        "ends\n",
    ];
    for text in texts {
        let document = json!({"a": text});
        assert_eq!(
            parse_with_end(&document.to_string(), Termination::Complete),
            Ok(document.clone())
        );
        assert_reads(&document.to_string(), document.clone());
        let with_comma = document.to_string().replace('}', ",}");
        assert_reads(&with_comma, document);
    }
}

#[test]
fn lone_surrogates_do_not_lose_the_answer() {
    assert_reads(
        r#"{"a": "\ud83d\ude00 \ud83d x"}"#,
        json!({"a": "😀 \u{fffd} x"}),
    );
}

#[test]
fn no_json_is_an_error() {
    for text in [
        "",
        "   ",
        "I think the answer is 42.",
        "{",
        "}",
        "The set {x, y} and [1].",
        "fn main() { println!(\"hi\"); }",
        "```rust\nlet x = 1;\n```",
        "\\",
        "{\"",
    ] {
        assert_no_json(text);
    }
}

#[test]
fn hostile_texts_end_quickly() {
    let length = 1024 * 1024;
    let units = [
        "{",
        "[",
        "}",
        "{\"a\":",
        "[{",
        "{\"",
        "\"",
        "{\"a\":\"b\",",
        "```",
        "```{",
        "{a:",
        "\\",
        "{}",
        "{\"a\":[",
        "//",
        "/*",
        "{/*",
        "{'a':'',",
        "\",//",
        "{\"a\":1}",
        "]}",
        "[[}",
        "{\"a\":\"\", ",
        "<think>",
        "</think>{",
        "{\"a\": \"x\",  ",
        "{\"\\",
        "“",
        "{“a”:“",
    ];
    let started = std::time::Instant::now();
    for unit in units {
        let mut text = unit.repeat(length / unit.len());
        let _ = read_json(&text);
        text.insert_str(0, "{\"a\": \"");
        let _ = read_json(&text);
    }
    // This takes a few seconds unoptimized on a busy machine; quadratic time would take hours.
    assert!(started.elapsed().as_secs() < 60);
}

#[test]
fn nesting_is_bounded() {
    let deep = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    assert!(read_json(&deep(100)).is_ok());
    assert!(read_json(&deep(100).replace('1', "1,")).is_ok());
    let far_too_deep = read_json(&deep(50_000));
    // Only an inner part can be read, if any; the test is that the stack does not overflow.
    assert!(far_too_deep.is_err() || far_too_deep.is_ok_and(|value| value.is_object()));
}

fn any_json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "\\PC{0,12}",
        "[a-z\"'{}\\[\\],:/#`\\\\ \u{201c}\u{201d}]{0,16}",
        prop::collection::vec(any::<char>(), 0..8).prop_map(|chars| chars.into_iter().collect()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9_f64).prop_map(Value::from),
        text.clone().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((text.clone(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Replaces strings that need escapes: the two parsers may differ on a quote inside a string, which
/// the tolerant one exists for.
fn without_escapes(value: Value) -> Value {
    let plain = |text: String| -> String {
        let escaped = |c: &char| c.is_control() || matches!(c, '"' | '\\');
        text.chars().filter(|c| !escaped(c)).collect()
    };
    match value {
        Value::String(text) => Value::String(plain(text)),
        Value::Array(items) => Value::Array(items.into_iter().map(without_escapes).collect()),
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .map(|(key, value)| (plain(key), without_escapes(value)))
                .collect(),
        ),
        other => other,
    }
}

fn any_object() -> impl Strategy<Value = Value> {
    prop::collection::vec(("\\PC{0,8}", any_json()), 0..6)
        .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()))
}

proptest! {
    #[test]
    fn strict_objects_come_back_unchanged(object in any_object()) {
        prop_assert_eq!(read_json(&object.to_string()), Ok(object.clone()));
        let pretty = serde_json::to_string_pretty(&object).unwrap();
        prop_assert_eq!(read_json(&pretty), Ok(object));
    }

    #[test]
    fn fenced_objects_come_back_unchanged(object in any_object()) {
        // A fence inside the object's own strings ends the block; another test covers that.
        prop_assume!(!object.to_string().contains("```"));
        prop_assert_eq!(read_json(&format!("Sure:\n```json\n{object}\n```\nDone.")), Ok(object));
    }

    #[test]
    fn the_tolerant_reader_agrees_on_strict_json(object in any_object()) {
        let object = without_escapes(object);
        let read = parser::parse(&object.to_string(), latex::EscapePolicy::Careful, Termination::Complete, UnterminatedString::Close);
        prop_assert_eq!(read, Some(object));
    }

    #[test]
    fn no_text_breaks_the_reader(text in "[{}\\[\\]\"'`:,/*#\\\\a-cn0-2. \n\u{201c}\u{201d}ü-]{0,200}") {
        let _ = parse_with_end(&text, Termination::Truncated);
        let _ = read_json(&text);
    }

    #[test]
    fn cutting_a_document_anywhere_breaks_nothing(object in any_object(), kept in 0..400_usize) {
        let text = object.to_string();
        let cut: String = text.chars().take(kept).collect();
        let _ = parse_with_end(&cut, Termination::Truncated);
    }
}
