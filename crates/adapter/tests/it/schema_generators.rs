//! Random schemas over all keywords, and values near them: few names and values, so that a random
//! value often passes and often narrowly fails.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

const NAMES: [&str; 4] = ["a", "b", "c", "x1"];

pub(crate) fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-1_i64..5).prop_map(Value::from),
        prop_oneof![Just(1.5), Just(1.0), Just(-0.5)].prop_map(Value::from),
        prop_oneof![Just(""), Just("a"), Just("ab"), Just("abc"), Just("x1")].prop_map(Value::from),
    ]
}

pub(crate) fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            2 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            3 => fields(inner),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(&NAMES[..]).prop_map(str::to_owned)
}

fn fields(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec((name(), inner), 0..4)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

fn names() -> impl Strategy<Value = Value> {
    prop::collection::btree_set(name(), 0..3).prop_map(|names| json!(names))
}

fn type_word() -> impl Strategy<Value = Value> {
    prop::sample::select(
        &[
            "null", "boolean", "integer", "number", "string", "array", "object",
        ][..],
    )
    .prop_map(Value::from)
}

fn types() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => type_word(),
        2 => Just(json!("object")),
        1 => prop::collection::vec(type_word(), 1..4).prop_map(|mut all| {
            let mut seen = Vec::new();
            all.retain(|it| !seen.contains(it) && { seen.push(it.clone()); true });
            Value::Array(all)
        }),
        1 => type_word().prop_map(|it| if it == "null" { it } else { json!([it, "null"]) }),
    ]
}

fn unique(values: Vec<Value>) -> Value {
    let mut out: Vec<Value> = Vec::new();
    for value in values {
        // 1 and 1.0 are the same value to a schema.
        let same = |it: &Value| *it == value || (it.is_number() && it.as_f64() == value.as_f64());
        if !out.iter().any(same) {
            out.push(value);
        }
    }
    Value::Array(out)
}

fn reference() -> impl Strategy<Value = Value> {
    prop::sample::select(
        &[
            "#/$defs/A",
            "#/$defs/B",
            "#/$defs/C%20c",
            "#",
            "#/properties/a",
            "#here",
        ][..],
    )
    .prop_map(Value::from)
}

/// One keyword with a fitting value.
fn keyword(inner: BoxedStrategy<Value>) -> BoxedStrategy<(String, Value)> {
    let one = inner.clone();
    let list = prop::collection::vec(inner.clone(), 1..4).prop_map(Value::Array);
    let named = fields(inner.clone()).boxed();
    let small = (0_u64..4).prop_map(Value::from);
    prop_oneof![
        6 => types().prop_map(|it| ("type".to_owned(), it)),
        5 => named.clone().prop_map(|it| ("properties".to_owned(), it)),
        3 => names().prop_map(|it| ("required".to_owned(), it)),
        2 => prop::collection::vec(value(), 1..5).prop_map(|it| ("enum".to_owned(), unique(it))),
        1 => value().prop_map(|it| ("const".to_owned(), it)),
        3 => reference().prop_map(|it| ("$ref".to_owned(), it)),
        6 => (prop::sample::select(&["anyOf", "oneOf", "allOf", "prefixItems"][..]), list)
            .prop_map(|(key, it)| (key.to_owned(), it)),
        6 => (prop::sample::select(&[
                "additionalProperties", "items", "not", "if", "then", "else", "contains",
                "propertyNames", "unevaluatedProperties", "unevaluatedItems", "items",
            ][..]), one).prop_map(|(key, it)| (key.to_owned(), it)),
        1 => named.clone().prop_map(|it| ("dependentSchemas".to_owned(), it)),
        1 => (name(), names()).prop_map(|(key, it)| ("dependentRequired".to_owned(), json!({key: it}))),
        1 => inner.prop_map(|it| ("patternProperties".to_owned(), json!({"^x": it}))),
        6 => (prop::sample::select(&[
                "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
                "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minContains",
                "maxContains",
            ][..]), small).prop_map(|(key, it)| (key.to_owned(), it)),
        1 => Just(("multipleOf".to_owned(), json!(2))),
        1 => Just(("uniqueItems".to_owned(), json!(true))),
        1 => Just(("pattern".to_owned(), json!("^a"))),
        1 => Just(("format".to_owned(), json!("date"))),
        2 => Just(("description".to_owned(), json!("What it is."))),
        1 => scalar().prop_map(|it| ("default".to_owned(), it)),
        1 => Just(("x-own".to_owned(), json!({"type": "string"}))),
    ]
    .boxed()
}

/// A schema; references point to three definitions, the root, a field and an anchor.
fn inner_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        6 => types().prop_map(|it| json!({"type": it})),
        1 => reference().prop_map(|it| json!({"$ref": it})),
        1 => Just(json!({})),
        1 => any::<bool>().prop_map(Value::Bool),
        2 => prop::collection::vec(scalar(), 1..4).prop_map(|it| json!({"enum": unique(it)})),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let some = prop::collection::vec(keyword(inner.clone().boxed()), 1..5);
        prop_oneof![
            6 => some.prop_map(|fields| Value::Object(fields.into_iter().collect())),
            1 => inner.clone().prop_map(|it| json!({"anyOf": [it, {"type": "null"}]})),
            1 => inner.clone().prop_map(|it| json!({"oneOf": [{"type": "null"}, it]})),
            2 => (inner.clone(), inner).prop_map(|(a, b)| json!({
                "type": "object", "properties": {"a": a, "b": b}, "required": ["a"],
                "additionalProperties": false
            })),
        ]
    })
}

/// A whole document, in one of the drafts.
pub(crate) fn document() -> impl Strategy<Value = Value> {
    let edition = prop_oneof![
        4 => Just(None),
        1 => Just(Some("https://json-schema.org/draft/2020-12/schema")),
        1 => Just(Some("https://json-schema.org/draft/2019-09/schema")),
        1 => Just(Some("http://json-schema.org/draft-07/schema#")),
        1 => Just(Some("http://json-schema.org/draft-04/schema#")),
    ];
    let parts = [
        inner_schema().boxed(),
        inner_schema().boxed(),
        inner_schema().boxed(),
    ];
    (inner_schema(), parts, edition).prop_map(|(root, [a, b, c], edition)| {
        let mut fields = match root {
            Value::Object(fields) => fields,
            other => Map::from_iter([("not".to_owned(), json!({"not": other}))]),
        };
        if let Some(edition) = edition {
            fields.insert("$schema".to_owned(), json!(edition));
        }
        let mut b = b;
        if let Value::Object(b) = &mut b {
            b.insert("$anchor".to_owned(), json!("here"));
        }
        fields.insert("$defs".to_owned(), json!({"A": a, "B": b, "C c": c}));
        fields
            .entry("properties")
            .or_insert_with(|| json!({"a": {"type": "string"}}));
        let whole = Value::Object(fields);
        match edition {
            // Up to draft 7 the schemas under `$defs` are not validated.
            Some(edition) if edition.starts_with("http:") => whole
                .to_string()
                .replace("$defs", "definitions")
                .parse()
                .unwrap(),
            _ => whole,
        }
    })
}

/// A tool's parameters as people write them: an object of plain fields.
pub(crate) fn tool_schema() -> impl Strategy<Value = Value> {
    let plain = prop_oneof![
        3 => Just(json!({"type": "string"})),
        1 => Just(json!({"type": "string", "minLength": 2, "pattern": "^a"})),
        2 => Just(json!({"type": "integer", "minimum": 0})),
        1 => Just(json!({"type": ["number", "null"]})),
        1 => Just(json!({"type": "boolean", "default": true})),
        1 => Just(json!({"enum": ["a", "ab"]})),
        1 => Just(json!({"const": "x1"})),
        1 => Just(json!({"$ref": "#/$defs/tree"})),
    ];
    let field = plain.prop_recursive(3, 20, 3, |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|it| json!({"type": "array", "items": it})),
            inner
                .clone()
                .prop_map(|it| json!({"anyOf": [it, {"type": "null"}]})),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"anyOf": [a, b]})),
            object_of(inner),
        ]
    });
    object_of(field).prop_map(|mut root| {
        root["$defs"] = json!({"tree": {"type": "object", "required": ["a"], "properties": {
            "a": {"type": "integer"}, "b": {"$ref": "#/$defs/tree"}}}});
        root
    })
}

fn object_of(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let fields = prop::collection::vec((name(), inner), 1..4);
    (fields, names(), any::<bool>()).prop_map(|(fields, required, closed)| {
        let properties: Map<String, Value> = fields.into_iter().collect();
        let known = |name: &&Value| properties.contains_key(name.as_str().unwrap());
        let required: Vec<&Value> = required.as_array().unwrap().iter().filter(known).collect();
        let mut schema = json!({"type": "object", "properties": properties, "required": required});
        if closed {
            schema["additionalProperties"] = json!(false);
        }
        schema
    })
}

/// Builds a value by following a schema with random choices; it is often valid, but not always.
pub(crate) fn value_for_schema(
    schema: &Value,
    document: &Value,
    dice: &mut Dice,
    depth: usize,
) -> Value {
    let Value::Object(rules) = schema else {
        return dice.scalar();
    };
    if depth > 6 || dice.roll(12) == 0 {
        return dice.scalar();
    }
    if let Some(Value::String(reference)) = rules.get("$ref") {
        let pointer = reference.trim_start_matches('#').replace("%20", " ");
        let target = document.pointer(&pointer).unwrap_or(&Value::Null);
        return value_for_schema(target, document, dice, depth + 1);
    }
    if let Some(value) = rules.get("const") {
        return value.clone();
    }
    for key in ["enum", "anyOf", "oneOf", "allOf"] {
        if let Some(Value::Array(forms)) = rules.get(key)
            && !forms.is_empty()
            && (key == "enum" || !rules.contains_key("type") || dice.roll(3) == 0)
        {
            let chosen = &forms[dice.roll(forms.len())];
            return match key {
                "enum" => chosen.clone(),
                _ => value_for_schema(chosen, document, dice, depth + 1),
            };
        }
    }
    value_of_type(rules, document, dice, depth)
}

fn value_of_type(
    rules: &Map<String, Value>,
    document: &Value,
    dice: &mut Dice,
    depth: usize,
) -> Value {
    let kind = match rules.get("type") {
        Some(Value::Array(types)) => types[dice.roll(types.len())].as_str().unwrap_or_default(),
        Some(Value::String(kind)) => kind,
        _ if rules.contains_key("properties") => "object",
        _ if rules.contains_key("items") || rules.contains_key("prefixItems") => "array",
        _ => "",
    };
    match kind {
        "null" => Value::Null,
        "boolean" => json!(dice.roll(2) == 0),
        "integer" => json!(dice.roll(5)),
        "number" => json!([0.5, 1.0, 2.0, 3.5][dice.roll(4)]),
        "string" => json!(["", "a", "ab", "abc", "x1"][dice.roll(5)]),
        "array" => {
            let item = rules.get("items").unwrap_or(&Value::Null);
            let first = rules.get("prefixItems").and_then(Value::as_array);
            let of = |at: usize| first.and_then(|first| first.get(at)).unwrap_or(item);
            (0..dice.roll(4))
                .map(|at| value_for_schema(of(at), document, dice, depth + 1))
                .collect()
        }
        "object" => {
            let mut out = Map::new();
            let needed = rules.get("required").and_then(Value::as_array);
            if let Some(Value::Object(properties)) = rules.get("properties") {
                for (name, schema) in properties {
                    let needed = needed.is_some_and(|all| all.contains(&json!(name)));
                    if dice.roll(8) > if needed { 0 } else { 3 } {
                        out.insert(
                            name.clone(),
                            value_for_schema(schema, document, dice, depth + 1),
                        );
                    }
                }
            }
            if dice.roll(4) == 0 {
                out.insert(NAMES[dice.roll(4)].to_owned(), dice.scalar());
            }
            Value::Object(out)
        }
        _ => dice.scalar(),
    }
}

/// A sequence of random choices.
#[derive(Debug, Clone)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn scalar(&mut self) -> Value {
        let all = [
            json!(null),
            json!(1),
            json!("a"),
            json!(1.5),
            json!(true),
            json!({}),
            json!([]),
        ];
        all[self.roll(all.len())].clone()
    }
}
