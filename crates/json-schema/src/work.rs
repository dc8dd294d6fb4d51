//! Bounds the work of a validation before it is done. Schema and value are walked together as a
//! validator does, but no keyword is evaluated: what counts is how often a schema is applied to a
//! part of the value, and how much of the value a keyword reads.

use serde_json::{Map, Value};

use crate::{
    references::SchemaRefs,
    validation_cost::{in_place_schemas, references_in},
    value_size::{compared_size, copied_rules, value_size},
};

/// The maximum nesting of schemas on one path through the value, including references.
const MAX_CHAIN: usize = 600;

/// The address of the schemas of schemas, which a validator knows without fetching them.
const META_SCHEMAS: &str = "://json-schema.org/";

/// The assumed work of such a schema for each part of a value.
const META_SCHEMA_WORK: usize = 200;

/// The assumed work of finding out which parts of a value other keywords evaluated.
const UNEVALUATED_WORK: usize = 32;

/// Keywords whose schema is applied to every item of a list.
const EVERY_ITEM: [&str; 4] = ["items", "additionalItems", "unevaluatedItems", "contains"];

/// Keywords whose schema is applied to every field of an object.
const EVERY_FIELD: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];

/// The validation would take more work than is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooMuchWork;

/// What a validation costs, at the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ValidationWork {
    pub(crate) steps: u64,
    /// The size of the rules that are copied if all that can be violated is; counted no further than
    /// the work may be.
    pub(crate) copied: u64,
}

/// Returns the work of validating `value` against the document, at the most.
pub(crate) fn count_work(
    refs: &SchemaRefs<'_>,
    value: &Value,
    most: u64,
) -> Result<ValidationWork, TooMuchWork> {
    let mut counter = WorkCounter {
        refs,
        left: most,
        copied: 0,
        most_copied: most,
    };
    counter.apply(refs.document, value, 0)?;
    Ok(ValidationWork {
        steps: most - counter.left,
        copied: counter.copied,
    })
}

struct WorkCounter<'a, 'b> {
    refs: &'a SchemaRefs<'b>,
    left: u64,
    copied: u64,
    most_copied: u64,
}

impl WorkCounter<'_, '_> {
    fn spend(&mut self, work: usize) -> Result<(), TooMuchWork> {
        let work = u64::try_from(work).unwrap_or(u64::MAX);
        self.left = self.left.checked_sub(work).ok_or(TooMuchWork)?;
        Ok(())
    }

    /// Counts what the violations of a schema's own rules would copy. Beyond the bound the exact size
    /// is of no interest, and counting it would itself take long.
    fn count_copied_rules(&mut self, fields: &Map<String, Value>) {
        for rule in copied_rules(fields) {
            if self.copied > self.most_copied {
                return;
            }
            let size = u64::try_from(value_size(rule)).unwrap_or(u64::MAX);
            self.copied = self.copied.saturating_add(size);
        }
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
        self.count_copied_rules(fields);
        for reference in references_in(fields) {
            if reference.starts_with("http") && reference.contains(META_SCHEMAS) {
                self.spend(value_size(value).saturating_mul(META_SCHEMA_WORK))?;
            }
            self.spend(self.refs.resource_count())?;
            for target in self.refs.possible_targets(reference) {
                if let Some(target) = self.refs.resolve(&target) {
                    self.apply(target, value, chain + 1)?;
                }
            }
        }
        // To know what was evaluated, a validator applies the schemas in place once more.
        let is_read_twice =
            fields.contains_key("unevaluatedProperties") || fields.contains_key("unevaluatedItems");
        if is_read_twice {
            self.spend(UNEVALUATED_WORK)?;
        }
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
    if let Some(Value::Array(options)) = fields.get("enum") {
        work = work.saturating_add(compared_size(options, value));
    }
    work = work.saturating_add(compared_size(fields.get("const"), value));
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
        Value::Array(_) if fields.contains_key("uniqueItems") => {
            work.saturating_add(value_size(value).saturating_mul(16))
        }
        _ => work,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn work(schema: &Value, value: &Value) -> Result<u64, TooMuchWork> {
        count_work(&SchemaRefs::new(schema, false), value, 100_000).map(|it| it.steps)
    }

    #[test]
    fn comparing_large_values_is_work() {
        let list = json!(vec![1; 50_000]);
        for rule in [
            json!({ "const": list }),
            json!({ "enum": [list] }),
            json!({ "uniqueItems": true }),
        ] {
            let many = json!({ "allOf": [rule, rule, rule] });
            assert_eq!(work(&many, &list), Err(TooMuchWork));
            assert!(work(&rule, &json!([1])).unwrap() < 100);
            assert!(work(&many, &json!("text")).unwrap() < 100);
        }
        let name = json!({ "enum": ["a", "b", "c"] });
        assert!(work(&name, &json!("c")).unwrap() < 20);
    }

    #[test]
    fn nested_parts_that_ask_what_was_evaluated_double_the_work() {
        let mut schema = json!({ "type": "object" });
        for _ in 0..16 {
            schema = json!({ "allOf": [schema], "unevaluatedProperties": false });
        }
        assert_eq!(work(&schema, &json!({ "a": 1 })), Err(TooMuchWork));
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
    fn doubling_is_too_much_by_every_kind_of_reference() {
        // Each definition applies the next one twice.
        type Written = fn(usize) -> Value;
        let kinds: [(&str, &str, Written, Written); 6] = [
            (
                "$defs",
                "title",
                |_| json!("named by the address of the document"),
                |at| json!({ "$ref": format!("https://example.com/s#/$defs/d{at}") }),
            ),
            (
                "$defs",
                "$id",
                |at| json!(format!("d{at}")),
                |at| json!({ "$ref": format!("x/../d{at}") }),
            ),
            (
                "$defs",
                "$dynamicAnchor",
                |at| json!(format!("d{at}")),
                |at| json!({ "$dynamicRef": format!("#d{at}") }),
            ),
            (
                "$defs",
                "$dynamicAnchor",
                |at| json!(format!("d{at}")),
                |at| json!({ "$ref": format!("#d{at}") }),
            ),
            (
                "definitions",
                "$id",
                |at| json!(format!("#d{at}")),
                |at| json!({ "$ref": format!("#d{at}") }),
            ),
            (
                "definitions",
                "id",
                |at| json!(format!("#d{at}")),
                |at| json!({ "$ref": format!("#d{at}") }),
            ),
        ];
        for (number, (defs, keyword, name, reference)) in kinds.into_iter().enumerate() {
            let mut definitions: Map<String, Value> = (0..34)
                .map(|at| {
                    let next = reference(at + 1);
                    let definition = json!({ "allOf": [next.clone(), next], keyword: name(at) });
                    (format!("d{at}"), definition)
                })
                .collect();
            definitions.insert(
                "d34".to_owned(),
                json!({ "type": "string", keyword: name(34) }),
            );
            let draft = if keyword == "id" {
                "http://json-schema.org/draft-04/schema#"
            } else {
                "https://json-schema.org/draft/2020-12/schema"
            };
            let schema = json!({
                "$schema": draft,
                "$id": "https://example.com/s",
                defs: definitions,
                "allOf": [reference(0)],
            });
            assert_eq!(work(&schema, &json!(1)), Err(TooMuchWork), "{number}");
            let refs = SchemaRefs::new(&schema, false);
            let evaluations = crate::validation_cost::count_evaluations(&refs, 100_000);
            assert!(evaluations > 100_000, "{number}: {evaluations}");
        }
    }

    #[test]
    fn an_address_that_a_document_has_by_default_is_no_way_around() {
        for base in ["", "json-schema:///", "/", "."] {
            let mut definitions: Map<String, Value> = (0..34)
                .map(|at| {
                    let next = json!({ "$ref": format!("{base}#/$defs/d{}", at + 1) });
                    (format!("d{at}"), json!({ "allOf": [next.clone(), next] }))
                })
                .collect();
            definitions.insert("d34".to_owned(), json!({ "type": "string" }));
            let first = format!("{base}#/$defs/d0");
            let schema = json!({ "$defs": definitions, "$ref": first });
            assert_eq!(work(&schema, &json!(1)), Err(TooMuchWork), "{base}");
        }
        // What leads outside is not followed, whatever the validator says about it.
        let outside = json!({ "$ref": "https://json-schema.org/draft/2020-12/schema" });
        assert!(work(&outside, &json!({ "type": "object" })).unwrap() < 1_000);
    }

    #[test]
    fn parts_with_addresses_and_dynamic_references_are_counted_and_taken() {
        let bundle = json!({
            "$id": "https://example.com/s",
            "properties": { "a": { "$ref": "part" }, "s": { "$ref": "https://json-schema.org/draft/2020-12/schema" } },
            "$defs": { "part": { "$id": "part", "type": "object", "properties": { "b": { "$ref": "#/$defs/c" } }, "$defs": { "c": { "type": "string" } } } },
        });
        assert!(
            work(
                &bundle,
                &json!({ "a": { "b": "c" }, "s": { "type": "object" } })
            )
            .unwrap()
                < 2_000
        );
        let tree = json!({
            "$dynamicAnchor": "node",
            "properties": { "kids": { "items": { "$dynamicRef": "#node" } } },
        });
        assert!(work(&tree, &json!({ "kids": [{ "kids": [] }, {}] })).unwrap() < 100);
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
