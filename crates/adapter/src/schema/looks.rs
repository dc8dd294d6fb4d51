//! How much work one value can be to a schema, told before it is used: how many schemas look at
//! the same place, through references and combinations. A circle without a step into the value
//! would never end.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::refs::Refs;

/// How many schemas may stand in each other at one place, through references too.
const LONGEST_CHAIN: usize = 300;

/// Keywords whose schemas look at the same value as the one they stand in.
const SAME_PLACE_ONE: [&str; 4] = ["not", "if", "then", "else"];
const SAME_PLACE_LIST: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SAME_PLACE_NAMED: [&str; 2] = ["dependentSchemas", "dependencies"];

/// Keywords whose schemas look at what is inside the value.
const STEPS: [&str; 10] = [
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

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Every schema.
    Any,
    /// Those that look on into the value: with each level of it they multiply.
    Inward,
}

/// The most schemas that look at one place through a reference; more than `most` if it is more
/// or has no end. Where nothing is referred to, the count can't exceed what was sent.
pub(super) fn looks(refs: &Refs<'_>, what: Look, most: u64) -> u64 {
    let mut counter = Counter {
        refs,
        what,
        most,
        known: HashMap::new(),
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

struct Counter<'a, 'b> {
    refs: &'a Refs<'b>,
    what: Look,
    most: u64,
    known: HashMap<String, u64>,
}

impl Counter<'_, '_> {
    fn count(&mut self, fields: &Map<String, Value>, chain: usize) -> u64 {
        if chain >= LONGEST_CHAIN {
            return u64::MAX;
        }
        let counts = self.what == Look::Any || STEPS.iter().any(|key| fields.contains_key(*key));
        let mut total = u64::from(counts);
        if let Some(Value::String(reference)) = fields.get("$ref")
            && let Some(pointer) = self.refs.pointer(reference)
        {
            total = total.saturating_add(self.count_at(&pointer, chain));
        }
        for inner in same_place(fields) {
            let Value::Object(inner) = inner else {
                continue;
            };
            total = total.saturating_add(self.count(inner, chain + 1));
            if total > self.most {
                break;
            }
        }
        total
    }

    fn count_at(&mut self, pointer: &str, chain: usize) -> u64 {
        if let Some(count) = self.known.get(pointer) {
            return *count;
        }
        // Until it is counted it counts as endless: meeting it again is a circle.
        self.known.insert(pointer.to_owned(), u64::MAX);
        let count = match self.refs.at(pointer) {
            Some(Value::Object(fields)) => self.count(fields, chain + 1),
            _ => 1,
        };
        self.known.insert(pointer.to_owned(), count);
        count
    }
}

fn same_place(fields: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let one = SAME_PLACE_ONE.iter().filter_map(|key| fields.get(*key));
    let list = SAME_PLACE_LIST
        .iter()
        .filter_map(|key| fields.get(*key)?.as_array());
    let named = SAME_PLACE_NAMED
        .iter()
        .filter_map(|key| fields.get(*key)?.as_object());
    one.chain(list.flatten())
        .chain(named.flat_map(|named| named.values()))
}
