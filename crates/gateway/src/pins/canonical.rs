//! The canonical form of a definition: equal for equal definitions, whatever the order of fields.

use std::{borrow::Cow, fmt::Write as _};

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// The `_meta` fields that a program may change each time and that do not describe the tool.
const VOLATILE_META: &[&str] = &[
    "traceparent",
    "tracestate",
    "baggage",
    "progressToken",
    "io.modelcontextprotocol/serverInfo",
];

/// Hashes everything that clients receive of a definition, without volatile fields.
pub(crate) fn hash(definition: &Value) -> String {
    digest(&without_volatile(definition))
}

fn without_volatile(definition: &Value) -> Cow<'_, Value> {
    let meta = definition.get("_meta").and_then(Value::as_object);
    let passes = |meta: &Map<String, Value>| {
        meta.is_empty()
            || meta
                .keys()
                .any(|name| VOLATILE_META.contains(&name.as_str()))
    };
    if !meta.is_some_and(passes) {
        return Cow::Borrowed(definition);
    }
    let mut lasting = definition.clone();
    if let Some(fields) = lasting.as_object_mut() {
        let meta = fields.get_mut("_meta").and_then(Value::as_object_mut);
        let left = meta.map(|meta| {
            meta.retain(|name, _| !VOLATILE_META.contains(&name.as_str()));
            meta.len()
        });
        if left == Some(0) {
            fields.shift_remove("_meta");
        }
    }
    Cow::Owned(lasting)
}

pub(crate) fn digest(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    to_hex(&Sha256::digest(text.as_bytes()))
}

/// Returns the definition for people, without volatile fields and in canonical order.
pub(crate) fn to_readable(definition: &Value) -> String {
    serde_json::to_string_pretty(&sort_keys(&without_volatile(definition))).unwrap_or_default()
}

fn sort_keys(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut all: Vec<_> = fields.iter().collect();
            all.sort_by_key(|(name, _)| *name);
            let all = all
                .into_iter()
                .map(|(name, value)| (name.clone(), sort_keys(value)));
            Value::Object(all.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(sort_keys).collect(),
        other => other.clone(),
    }
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => write_object(fields.iter(), out),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        // Written as JSON, so that a string is never mistaken for a number.
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

fn write_object<'a>(fields: impl Iterator<Item = (&'a String, &'a Value)>, out: &mut String) {
    let mut all: Vec<_> = fields.collect();
    all.sort_by_key(|(name, _)| *name);
    out.push('{');
    for (at, (name, value)) in all.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        let _ = write!(out, "{}:", Value::String(name.clone()));
        write(value, out);
    }
    out.push('}');
}

fn to_hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "\\PC{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[a-z]{1,3}", inner, 0..4)
                    .prop_map(|all| Value::Object(all.into_iter().collect())),
            ]
        })
    }

    fn reverse_fields(value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let all = fields.iter().rev();
                Value::Object(
                    all.map(|(name, value)| (name.clone(), reverse_fields(value)))
                        .collect(),
                )
            }
            Value::Array(items) => items.iter().map(reverse_fields).collect(),
            other => other.clone(),
        }
    }

    #[test]
    fn what_is_passing_does_not_count_and_all_else_does() {
        let plain = json!({ "name": "a", "inputSchema": { "_meta": 1 } });
        let passing = json!({ "_meta": { "traceparent": "00-1" }, "inputSchema": { "_meta": 1 }, "name": "a" });
        assert_eq!(hash(&plain), hash(&passing));
        for (field, value) in [
            (
                "_meta",
                json!({ "ui/template": "ui://a", "traceparent": "00-2" }),
            ),
            ("icons", json!([{ "src": "https://a.example/i.png" }])),
        ] {
            let mut more = plain.clone();
            more[field] = value;
            assert_ne!(hash(&plain), hash(&more), "{field}");
        }
        assert_ne!(
            hash(&plain),
            hash(&json!({ "name": "a", "inputSchema": {} }))
        );
        assert_ne!(hash(&json!({ "a": "1" })), hash(&json!({ "a": 1 })));
    }

    proptest! {
        #[test]
        fn order_of_fields_does_not_count(value in any_json()) {
            prop_assert_eq!(digest(&value), digest(&reverse_fields(&value)));
            let spaced: Value = serde_json::from_str(&serde_json::to_string_pretty(&value).unwrap()).unwrap();
            prop_assert_eq!(digest(&value), digest(&spaced));
        }

        #[test]
        fn everything_else_does(one in any_json(), other in any_json()) {
            prop_assert_eq!(one == other, digest(&one) == digest(&other));
        }
    }
}
