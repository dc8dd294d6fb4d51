//! Converts a schema of an older draft to the newest draft, which is what the APIs read.

use serde_json::{Map, Value};

use crate::schema::{draft::SchemaDraft, keywords::is_validation_keyword, references::SubSchemas};

/// Converts a schema to the newest draft. Its depth was bounded when it was read.
pub(super) fn upgrade_schema(schema: &Value, draft: SchemaDraft) -> Value {
    let Value::Object(fields) = schema else {
        return schema.clone();
    };
    let mut out = Map::new();
    let alone = draft.ref_ignores_siblings && fields.contains_key("$ref");
    for (key, value) in fields {
        if alone && is_validation_keyword(key) {
            continue;
        }
        match key.as_str() {
            "dependencies" => split_dependencies(value, &mut out, draft),
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
                    upgrade_keyword("prefixItems", value, draft),
                );
                if let Some(rest) = fields.get("additionalItems") {
                    out.insert("items".to_owned(), upgrade_schema(rest, draft));
                }
            }
            // `additionalItems` is written with the list that it follows; `prefixItems` was not a
            // keyword yet.
            "additionalItems" | "prefixItems" => {}
            key => {
                out.insert(key.to_owned(), upgrade_keyword(key, value, draft));
            }
        }
    }
    Value::Object(out)
}

fn is_true(fields: &Map<String, Value>, key: &str) -> bool {
    fields.get(key) == Some(&Value::Bool(true))
}

/// Converts the schemas in the value of a keyword.
fn upgrade_keyword(key: &str, value: &Value, draft: SchemaDraft) -> Value {
    match SubSchemas::from_keyword(key, value) {
        Some(SubSchemas::Single(schema)) => upgrade_schema(schema, draft),
        Some(SubSchemas::List(schemas)) => {
            schemas.iter().map(|it| upgrade_schema(it, draft)).collect()
        }
        Some(SubSchemas::Named(schemas)) => {
            let each = schemas
                .iter()
                .map(|(name, it)| (name.clone(), upgrade_schema(it, draft)));
            Value::Object(each.collect())
        }
        None => value.clone(),
    }
}

/// Splits `dependencies`, which is two keywords in the newest draft.
fn split_dependencies(value: &Value, out: &mut Map<String, Value>, draft: SchemaDraft) {
    let Value::Object(rules) = value else {
        return;
    };
    for (name, needs) in rules {
        let (key, needs) = match needs {
            Value::Array(_) => ("dependentRequired", needs.clone()),
            schema => ("dependentSchemas", upgrade_schema(schema, draft)),
        };
        let held = out.entry(key).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(held) = held {
            held.insert(name.clone(), needs);
        }
    }
}
