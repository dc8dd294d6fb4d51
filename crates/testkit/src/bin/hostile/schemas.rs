//! JSON schemas that take long to compile or to check, patterns that backtrack, answers for them, and
//! arguments that violate a schema very often.

use serde_json::{Map, Value, json};

use crate::random::Random;

/// Returns a schema.
pub(crate) fn schema(random: &mut Random) -> Value {
    match random.below(9) {
        0 => doubling(random),
        1 => {
            let constants: Vec<Value> = (0..=random.below(2_000))
                .map(|at| json!({ "const": at }))
                .collect();
            json!({ "items": { "anyOf": constants } })
        }
        2 => nested(random),
        3 => json!({ "type": "array", "items": { "pattern": pattern(random) } }),
        4 => json!({ "patternProperties": { (pattern(random)): { "pattern": pattern(random) } } }),
        5 => json!({ "$ref": random.pick(&["#", "#/$defs/a", "http://127.0.0.1:1/x", "#/allOf/0"]),
            "allOf": [{ "$ref": "#" }], "$defs": { "a": { "$ref": "#/$defs/a" } } }),
        6 => {
            json!({ "minItems": 1e300, "maxLength": -1, "multipleOf": 1e-300, "uniqueItems": true })
        }
        7 => many_patterns(random),
        _ => {
            json!({ "unevaluatedProperties": { "$dynamicRef": "#" }, "contains": doubling(random) })
        }
    }
}

/// Definitions that each refer to the next one several times.
fn doubling(random: &mut Random) -> Value {
    let (depth, times) = (2 + random.below(60), 1 + random.below(4));
    let keyword = random.pick(&["allOf", "anyOf", "oneOf"]);
    let mut definitions: Map<String, Value> = (0..depth)
        .map(|at| {
            let next = json!({ "$ref": format!("#/$defs/d{}", at + 1) });
            (format!("d{at}"), json!({ keyword: vec![next; times] }))
        })
        .collect();
    definitions.insert(format!("d{depth}"), json!({ "type": "string" }));
    json!({ "$ref": "#/$defs/d0", "$defs": definitions })
}

/// Very many patterns, each of which compiles to much more than its text.
fn many_patterns(random: &mut Random) -> Value {
    let count = 1 + random.below(3_000);
    let patterns: Map<String, Value> = (0..count)
        .map(|at| {
            let pattern = format!("a{at}[^b]{{9}}{{{}}}", 1 + random.below(60));
            (pattern.clone(), json!({ "pattern": format!("{pattern}z") }))
        })
        .collect();
    json!({ (random.pick(&["patternProperties", "properties"])): patterns })
}

fn nested(random: &mut Random) -> Value {
    let keyword = random.pick(&["not", "items", "additionalProperties", "if"]);
    (0..random.below(110)).fold(
        json!({ "type": "string" }),
        |inner, _| json!({ keyword: inner }),
    )
}

/// Returns a regular expression.
pub(crate) fn pattern(random: &mut Random) -> String {
    match random.below(9) {
        7 => "([ab]{1,99}b){60}z".to_owned(),
        8 => format!("(\\\\w{{1,{}}}\\\\s?){{1,50}}$", random.below(200)),
        0 => "^(a+)+$".to_owned(),
        1 => "(.*){1,1000}{1,1000}x".to_owned(),
        2 => format!("(?:{}){{100}}", "a?".repeat(random.below(200))),
        3 => "(".repeat(random.below(2_000)),
        4 => format!("[{}]+", "a-zA-Z\\\\d".repeat(random.below(500))),
        5 => "(?=(a+))\\\\1b".to_owned(),
        _ => format!("\\\\w{{{}}}", random.number()),
    }
}

/// Returns an answer to check.
pub(crate) fn answer(random: &mut Random) -> String {
    match random.below(6) {
        0 => Value::from(vec![-1; random.below(20_000)]).to_string(),
        1 => "a".repeat(random.below(200_000)),
        2 => format!("{}1{}", "[".repeat(100), "]".repeat(100)),
        3 => "[{".repeat(random.below(20_000)),
        4 => {
            let fields: Map<String, Value> = (0..random.below(5_000))
                .map(|at| {
                    (
                        format!("{}{at}", "a".repeat(20)),
                        json!("aaaaaaaaaaaaaaaaaaaa!"),
                    )
                })
                .collect();
            Value::Object(fields).to_string()
        }
        _ => "```json\n{\"a\": 1}\n```\n".repeat(random.below(3_000)),
    }
}

/// Returns a call whose arguments are wrong very often.
pub(crate) fn wrong_arguments(random: &mut Random) -> (&'static str, Value) {
    let count = 1 + random.below(400_000);
    match random.below(3) {
        0 => (
            "reasoning_auto",
            json!({ "content": "x", "hints": vec![1; count] }),
        ),
        1 => {
            let unknown: Map<String, Value> = (0..count / 4)
                .map(|at| (format!("o{at}"), json!(at % 2)))
                .collect();
            let command = ">>teach_me \"how TLS works\"";
            (
                "prompt_engine",
                json!({ "command": command, "options": unknown }),
            )
        }
        _ => (
            "prompt_engine",
            json!({ "command": ">>teach_me \"x\"", "gates": vec![1; count] }),
        ),
    }
}
