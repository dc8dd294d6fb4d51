//! A schema of an older edition in the words of the newest, because that is what the APIs read.

use serde_json::{Map, Value};

use crate::schema::{draft::Draft, keywords::is_rule, refs::Held};

/// The same schema for the newest edition. Its depth was bounded when it was read.
pub(super) fn modern(schema: &Value, draft: Draft) -> Value {
    let Value::Object(fields) = schema else {
        return schema.clone();
    };
    let mut out = Map::new();
    let alone = draft.ref_stands_alone && fields.contains_key("$ref");
    for (key, value) in fields {
        if alone && is_rule(key) {
            continue;
        }
        match key.as_str() {
            "dependencies" => dependencies(value, &mut out, draft),
            "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => {}
            "minimum" if is_true(fields, "exclusiveMinimum") => {
                out.insert("exclusiveMinimum".to_owned(), value.clone());
            }
            "maximum" if is_true(fields, "exclusiveMaximum") => {
                out.insert("exclusiveMaximum".to_owned(), value.clone());
            }
            "items" if value.is_array() => {
                out.insert(
                    "prefixItems".to_owned(),
                    inside("prefixItems", value, draft),
                );
                if let Some(rest) = fields.get("additionalItems") {
                    out.insert("items".to_owned(), modern(rest, draft));
                }
            }
            // The one is told with the list it follows; the other was no word yet.
            "additionalItems" | "prefixItems" => {}
            key => {
                out.insert(key.to_owned(), inside(key, value, draft));
            }
        }
    }
    Value::Object(out)
}

fn is_true(fields: &Map<String, Value>, key: &str) -> bool {
    fields.get(key) == Some(&Value::Bool(true))
}

/// The value of a keyword, with the schemas in it made modern.
fn inside(key: &str, value: &Value, draft: Draft) -> Value {
    match Held::of(key, value) {
        Some(Held::One(schema)) => modern(schema, draft),
        Some(Held::List(schemas)) => schemas.iter().map(|it| modern(it, draft)).collect(),
        Some(Held::Named(schemas)) => {
            let each = schemas
                .iter()
                .map(|(name, it)| (name.clone(), modern(it, draft)));
            Value::Object(each.collect())
        }
        None => value.clone(),
    }
}

/// What was one keyword is two.
fn dependencies(value: &Value, out: &mut Map<String, Value>, draft: Draft) {
    let Value::Object(rules) = value else {
        return;
    };
    for (name, needs) in rules {
        let (key, needs) = match needs {
            Value::Array(_) => ("dependentRequired", needs.clone()),
            schema => ("dependentSchemas", modern(schema, draft)),
        };
        let held = out.entry(key).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(held) = held {
            held.insert(name.clone(), needs);
        }
    }
}
