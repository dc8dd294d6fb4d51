//! Estimates the cost of validating a value before a schema is used: the number of schemas that are
//! applied to the same location through references and combinations. A cycle that does not descend
//! into the value would never end.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::references::SchemaRefs;

/// The maximum number of nested schemas at one location, including references.
const MAX_CHAIN: usize = 300;

/// Keywords whose schemas are applied to the same value.
const IN_PLACE_SINGLE: [&str; 4] = ["not", "if", "then", "else"];
const IN_PLACE_LIST: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const IN_PLACE_MAP: [&str; 2] = ["dependentSchemas", "dependencies"];

/// Keywords whose schemas are applied to the contents of the value.
const DESCENDING_KEYWORDS: [&str; 10] = [
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "propertyNames",
];

/// The schemas that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CountedSchemas {
    /// All schemas.
    Any,
    /// Schemas that descend into the value: their number multiplies with each level.
    Descending,
}

/// Counts the schemas that are applied to one location through a reference, at the most; a result
/// above `most` means more than that or without end. Without references the count cannot exceed
/// what was sent.
pub(super) fn count_evaluations(refs: &SchemaRefs<'_>, what: CountedSchemas, most: u64) -> u64 {
    let mut counter = EvaluationCounter {
        refs,
        counted: what,
        limit: most,
        memo: HashMap::new(),
    };
    let mut worst = 0;
    let mut todo = vec![refs.document];
    while let Some(value) = todo.pop() {
        match value {
            Value::Object(fields) => {
                if fields.contains_key("$ref") {
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

struct EvaluationCounter<'a, 'b> {
    refs: &'a SchemaRefs<'b>,
    counted: CountedSchemas,
    limit: u64,
    memo: HashMap<String, u64>,
}

impl EvaluationCounter<'_, '_> {
    fn count(&mut self, fields: &Map<String, Value>, chain: usize) -> u64 {
        if chain >= MAX_CHAIN {
            return u64::MAX;
        }
        let counts = self.counted == CountedSchemas::Any
            || DESCENDING_KEYWORDS
                .iter()
                .any(|key| fields.contains_key(*key));
        let mut total = u64::from(counts);
        if let Some(Value::String(reference)) = fields.get("$ref")
            && let Some(pointer) = self.refs.pointer(reference)
        {
            total = total.saturating_add(self.count_pointer(&pointer, chain));
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

fn in_place_schemas(fields: &Map<String, Value>) -> impl Iterator<Item = &Value> {
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
