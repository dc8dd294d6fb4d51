//! Estimates the cost of validating a value before a schema is used: the number of schemas that are
//! applied to the same location through references and combinations. A cycle that does not descend
//! into the value would never end.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::references::SchemaRefs;

/// The maximum number of nested schemas at one location, including references.
const MAX_CHAIN: usize = 300;

/// Keywords that refer to another schema.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Keywords whose schemas are applied to the same value.
const IN_PLACE_SINGLE: [&str; 4] = ["not", "if", "then", "else"];
const IN_PLACE_LIST: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const IN_PLACE_MAP: [&str; 2] = ["dependentSchemas", "dependencies"];

/// Counts the schemas that are applied to one location through a reference, at the most; a result
/// above `most` means more than that or without end. Without references the count cannot exceed
/// what was sent.
pub(super) fn count_evaluations(refs: &SchemaRefs<'_>, most: u64) -> u64 {
    let mut counter = EvaluationCounter {
        refs,
        limit: most,
        memo: HashMap::new(),
    };
    let mut worst = 0;
    let mut todo = vec![refs.document];
    while let Some(value) = todo.pop() {
        match value {
            Value::Object(fields) => {
                if references_in(fields).next().is_some() {
                    worst = worst.max(counter.count(fields, 0));
                    if worst > most {
                        return worst;
                    }
                }
                todo.extend(fields.values());
            }
            Value::Array(items) => todo.extend(items),
            _ => {}
        }
    }
    worst
}

/// Returns the number of references in a document.
pub(super) fn count_references(document: &Value) -> usize {
    let mut count = 0;
    let mut todo = vec![document];
    while let Some(value) = todo.pop() {
        match value {
            Value::Object(fields) => {
                count += references_in(fields).count();
                todo.extend(fields.values());
            }
            Value::Array(items) => todo.extend(items),
            _ => {}
        }
    }
    count
}

struct EvaluationCounter<'a, 'b> {
    refs: &'a SchemaRefs<'b>,
    limit: u64,
    memo: HashMap<String, u64>,
}

impl EvaluationCounter<'_, '_> {
    fn count(&mut self, fields: &Map<String, Value>, chain: usize) -> u64 {
        if chain >= MAX_CHAIN {
            return u64::MAX;
        }
        let mut total = 1_u64;
        for reference in references_in(fields) {
            for pointer in self.refs.possible_targets(reference) {
                total = total.saturating_add(self.count_pointer(&pointer, chain));
                if total > self.limit {
                    return total;
                }
            }
        }
        for inner in in_place_schemas(fields) {
            let Value::Object(inner) = inner else {
                continue;
            };
            total = total.saturating_add(self.count(inner, chain + 1));
            if total > self.limit {
                break;
            }
        }
        total
    }

    fn count_pointer(&mut self, pointer: &str, chain: usize) -> u64 {
        if let Some(count) = self.memo.get(pointer) {
            return *count;
        }
        // Until it is counted, a pointer counts as endless: meeting it again is a cycle.
        self.memo.insert(pointer.to_owned(), u64::MAX);
        let count = match self.refs.resolve(pointer) {
            Some(Value::Object(fields)) => self.count(fields, chain + 1),
            _ => 1,
        };
        self.memo.insert(pointer.to_owned(), count);
        count
    }
}

/// The references of a schema, each of which is applied to the same value.
pub(super) fn references_in(fields: &Map<String, Value>) -> impl Iterator<Item = &str> {
    REFERENCES
        .iter()
        .filter_map(|keyword| fields.get(*keyword)?.as_str())
}

pub(super) fn in_place_schemas(fields: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let one = IN_PLACE_SINGLE.iter().filter_map(|key| fields.get(*key));
    let list = IN_PLACE_LIST
        .iter()
        .filter_map(|key| fields.get(*key)?.as_array());
    let named = IN_PLACE_MAP
        .iter()
        .filter_map(|key| fields.get(*key)?.as_object());
    one.chain(list.flatten())
        .chain(named.flat_map(|named| named.values()))
}
