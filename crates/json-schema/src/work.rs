//! Bounds the work of a validation before it is done. Schema and value are walked together as a
//! validator does, but no keyword is evaluated: what counts is how often a schema is applied to a
//! part of the value, and how much of the value a keyword reads.

use serde_json::{Map, Value};

use crate::{references::SchemaRefs, validation_cost::in_place_schemas};

/// The maximum nesting of schemas on one path through the value, including references.
const MAX_CHAIN: usize = 600;

/// The assumed work of a reference that is resolved while validating, which is not followed here.
const DYNAMIC_REFERENCE_WORK: u64 = 1_000;

/// Keywords whose schema is applied to every item of a list.
const EVERY_ITEM: [&str; 4] = ["items", "additionalItems", "unevaluatedItems", "contains"];

/// Keywords whose schema is applied to every field of an object.
const EVERY_FIELD: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];

/// The validation would take more work than is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooMuchWork;

/// Returns the work of validating `value` against the document, at the most.
pub(crate) fn count_work(
    refs: &SchemaRefs<'_>,
    value: &Value,
    most: u64,
) -> Result<u64, TooMuchWork> {
    let mut counter = WorkCounter { refs, left: most };
    counter.apply(refs.document, value, 0)?;
    Ok(most - counter.left)
}

struct WorkCounter<'a, 'b> {
    refs: &'a SchemaRefs<'b>,
    left: u64,
}

impl WorkCounter<'_, '_> {
    fn spend(&mut self, work: usize) -> Result<(), TooMuchWork> {
        let work = u64::try_from(work).unwrap_or(u64::MAX);
        self.left = self.left.checked_sub(work).ok_or(TooMuchWork)?;
        Ok(())
    }

    fn apply(&mut self, schema: &Value, value: &Value, chain: usize) -> Result<(), TooMuchWork> {
        self.spend(1)?;
        if chain > MAX_CHAIN {
            return Err(TooMuchWork);
        }
        let Value::Object(fields) = schema else {
            return Ok(());
        };
        self.spend(own_work(fields, value))?;
        if let Some(Value::String(reference)) = fields.get("$ref")
            && let Some(target) = self.refs.pointer(reference)
            && let Some(target) = self.refs.resolve(&target)
        {
            self.apply(target, value, chain + 1)?;
        }
        if ["$dynamicRef", "$recursiveRef"]
            .iter()
            .any(|key| fields.contains_key(*key))
        {
            self.spend(usize::try_from(DYNAMIC_REFERENCE_WORK).unwrap_or(usize::MAX))?;
        }
        // To know what was evaluated, a validator applies the schemas in place once more.
        let is_read_twice =
            fields.contains_key("unevaluatedProperties") || fields.contains_key("unevaluatedItems");
        for _ in 0..=usize::from(is_read_twice) {
            for inner in in_place_schemas(fields) {
                self.apply(inner, value, chain + 1)?;
            }
        }
        match value {
            Value::Array(items) => self.apply_to_items(fields, items, chain + 1),
            Value::Object(members) => self.apply_to_members(fields, members, chain + 1),
            _ => Ok(()),
        }
    }

    fn apply_to_items(
        &mut self,
        fields: &Map<String, Value>,
        items: &[Value],
        chain: usize,
    ) -> Result<(), TooMuchWork> {
        for keyword in EVERY_ITEM {
            match fields.get(keyword) {
                Some(Value::Array(schemas)) => self.apply_in_turn(schemas, items, chain)?,
                Some(schema) => {
                    for item in items {
                        self.apply(schema, item, chain)?;
                    }
                }
                None => {}
            }
        }
        match fields.get("prefixItems") {
            Some(Value::Array(schemas)) => self.apply_in_turn(schemas, items, chain),
            _ => Ok(()),
        }
    }

    fn apply_in_turn(
        &mut self,
        schemas: &[Value],
        items: &[Value],
        chain: usize,
    ) -> Result<(), TooMuchWork> {
        for (schema, item) in schemas.iter().zip(items) {
            self.apply(schema, item, chain)?;
        }
        Ok(())
    }

    fn apply_to_members(
        &mut self,
        fields: &Map<String, Value>,
        members: &Map<String, Value>,
        chain: usize,
    ) -> Result<(), TooMuchWork> {
        if let Some(Value::Object(named)) = fields.get("properties") {
            for (name, schema) in named {
                if let Some(member) = members.get(name) {
                    self.apply(schema, member, chain)?;
                }
            }
        }
        if let Some(Value::Object(patterns)) = fields.get("patternProperties") {
            for schema in patterns.values() {
                self.spend(members.keys().map(String::len).sum())?;
                for member in members.values() {
                    self.apply(schema, member, chain)?;
                }
            }
        }
        for keyword in EVERY_FIELD {
            if let Some(schema) = fields.get(keyword) {
                for member in members.values() {
                    self.apply(schema, member, chain)?;
                }
            }
        }
        if let Some(schema) = fields.get("propertyNames") {
            for name in members.keys() {
                self.apply(schema, &Value::String(name.clone()), chain)?;
            }
        }
        Ok(())
    }
}

/// The work of a schema's keywords that apply no other schema.
fn own_work(fields: &Map<String, Value>, value: &Value) -> usize {
    let mut work = fields.len();
    if let Some(Value::Array(values)) = fields.get("enum") {
        work = work.saturating_add(values.len());
    }
    if let Some(Value::Array(names)) = fields.get("required") {
        work = work.saturating_add(names.len());
    }
    if let Some(Value::Object(named)) = fields.get("properties") {
        work = work.saturating_add(named.len());
    }
    match value {
        Value::String(text) if fields.contains_key("pattern") || fields.contains_key("format") => {
            work.saturating_add(text.len())
        }
        Value::Array(items) if fields.contains_key("uniqueItems") => {
            work.saturating_add(items.len().saturating_mul(16))
        }
        _ => work,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn work(schema: &Value, value: &Value) -> Result<u64, TooMuchWork> {
        count_work(&SchemaRefs::new(schema, false), value, 100_000)
    }

    #[test]
    fn work_grows_with_alternatives_times_items() {
        let constants: Vec<Value> = (0..100).map(|at| json!({ "const": at })).collect();
        let schema = json!({ "items": { "anyOf": constants } });
        let few = work(&schema, &json!(vec![0; 10])).unwrap();
        let many = work(&schema, &json!(vec![0; 100])).unwrap();
        assert!(few > 1_000 && many > 9 * few, "{few} {many}");
        assert_eq!(work(&schema, &json!(vec![0; 1_000])), Err(TooMuchWork));
    }

    #[test]
    fn cycles_and_doubling_are_too_much() {
        let cycle = json!({ "allOf": [{ "$ref": "#" }] });
        assert_eq!(work(&cycle, &json!(1)), Err(TooMuchWork));
        let doubling = json!({
            "anyOf": [
                { "type": "array", "items": { "$ref": "#" } },
                { "items": { "$ref": "#" }, "maxItems": 3 },
            ]
        });
        let mut deep = json!(1);
        for _ in 0..30 {
            deep = json!([deep]);
        }
        assert_eq!(work(&doubling, &deep), Err(TooMuchWork));
        assert!(work(&doubling, &json!([[1]])).is_ok());
    }

    #[test]
    fn a_recursive_schema_costs_what_the_value_has() {
        let tree = json!({
            "type": "object",
            "properties": { "name": { "type": "string" }, "kids": { "items": { "$ref": "#" } } },
        });
        let mut value = json!({ "name": "leaf" });
        for _ in 0..50 {
            value = json!({ "name": "node", "kids": [value] });
        }
        assert!(work(&tree, &value).unwrap() < 2_000);
    }
}
