//! References inside one document: where they point, what they are called, and how a piece that
//! is kept whole is rewired to the new names. Nothing outside the document is ever fetched.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value};

/// Where named definitions stand.
pub(super) const SHELF: &str = "$defs";

/// Keywords that hold one schema.
const ONE: [&str; 12] = [
    "additionalProperties",
    "additionalItems",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
    "items",
];

/// Keywords that hold a list of schemas.
const LIST: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];

/// Keywords that hold schemas by name.
const NAMED: [&str; 4] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
];

/// The schemas that a keyword holds.
pub(super) enum Held<'a> {
    One(&'a Value),
    List(&'a [Value]),
    Named(&'a Map<String, Value>),
}

impl<'a> Held<'a> {
    /// None if the keyword, or what it is given, holds none.
    pub(super) fn of(key: &str, value: &'a Value) -> Option<Self> {
        match value {
            Value::Array(items) if LIST.contains(&key) => Some(Self::List(items)),
            Value::Object(named) if NAMED.contains(&key) || key == "$defs" => {
                Some(Self::Named(named))
            }
            Value::Object(_) | Value::Bool(_) if ONE.contains(&key) => Some(Self::One(value)),
            _ => None,
        }
    }
}

/// How deep a document is nested, counted without recursion, up to a bound.
pub(crate) fn depth(document: &Value, most: usize) -> usize {
    let mut deepest = 0;
    let mut todo = vec![(document, 1)];
    while let Some((value, level)) = todo.pop() {
        deepest = deepest.max(level);
        if level > most {
            return deepest;
        }
        match value {
            Value::Object(fields) => todo.extend(fields.values().map(|it| (it, level + 1))),
            Value::Array(items) => todo.extend(items.iter().map(|it| (it, level + 1))),
            _ => {}
        }
    }
    deepest
}

/// What references need to know of a document.
pub(super) struct Refs<'a> {
    pub(super) document: &'a Value,
    /// Anchors, each with the pointer it stands at.
    anchors: HashMap<&'a str, String>,
    /// A part of it has an address of its own, or references are resolved while validating.
    pub(super) many_resources: bool,
    names: HashMap<String, String>,
    taken: HashSet<String>,
    /// The pointers that were given a name and are not read yet.
    waiting: VecDeque<String>,
}

impl<'a> Refs<'a> {
    pub(super) fn of(document: &'a Value, id_is_plain: bool) -> Self {
        let mut refs = Self {
            document,
            anchors: HashMap::new(),
            many_resources: false,
            names: HashMap::new(),
            taken: HashSet::new(),
            waiting: VecDeque::new(),
        };
        refs.survey(id_is_plain);
        refs
    }

    fn survey(&mut self, id_is_plain: bool) {
        let has_address = self.document.get("$id").is_some();
        let mut todo = vec![(self.document, String::new())];
        while let Some((value, place)) = todo.pop() {
            match value {
                Value::Object(fields) => {
                    for (key, inner) in fields {
                        self.look_at(key, inner, &place, id_is_plain);
                        // With an address, a reference by address may mean the document itself.
                        let by_address =
                            key == "$ref" && inner.as_str().is_some_and(|it| !it.starts_with('#'));
                        self.many_resources |= has_address && by_address;
                        if inner.is_object() || inner.is_array() {
                            let step = key.replace('~', "~0").replace('/', "~1");
                            todo.push((inner, format!("{place}/{step}")));
                        }
                    }
                }
                Value::Array(items) => {
                    let nested = items.iter().enumerate();
                    let nested = nested.filter(|(_, it)| it.is_object() || it.is_array());
                    todo.extend(nested.map(|(at, it)| (it, format!("{place}/{at}"))));
                }
                _ => {}
            }
        }
    }

    fn look_at(&mut self, key: &str, value: &'a Value, place: &str, id_is_plain: bool) {
        match (key, value) {
            ("$anchor", Value::String(name)) => {
                let twice = self.anchors.insert(name, place.to_owned()).is_some();
                self.many_resources |= twice;
            }
            ("$id", Value::String(id)) => {
                self.many_resources |= !place.is_empty() || id.contains('#');
            }
            ("id", Value::String(_)) => self.many_resources |= id_is_plain,
            ("$dynamicRef" | "$recursiveRef" | "$dynamicAnchor", Value::String(_))
            | ("$recursiveAnchor", Value::Bool(_)) => self.many_resources = true,
            _ => {}
        }
    }

    /// The pointer a reference means, if it stays in the document and hits something.
    pub(super) fn pointer(&self, reference: &str) -> Option<String> {
        let fragment = reference.strip_prefix('#')?;
        let fragment = unescape(fragment)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            self.document.pointer(&fragment)?;
            return Some(fragment);
        }
        self.anchors.get(fragment.as_str()).cloned()
    }

    /// What stands at a pointer.
    pub(super) fn at(&self, pointer: &str) -> Option<&'a Value> {
        self.document.pointer(pointer)
    }

    /// The name of the definition for a pointer; a new one is queued to be read.
    pub(super) fn name(&mut self, pointer: &str) -> String {
        if let Some(name) = self.names.get(pointer) {
            return name.clone();
        }
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let safe = |it: char| it.is_ascii_alphanumeric() || "_.-".contains(it);
        let stem: String = last.chars().filter(|it| safe(*it)).take(40).collect();
        let stem = if stem.is_empty() {
            "root".to_owned()
        } else {
            stem
        };
        let mut name = stem.clone();
        let mut number = 2_usize;
        while !self.taken.insert(name.clone()) {
            // Many pointers may end alike: the count of all names is a number not yet tried.
            number = number.max(self.taken.len());
            name = format!("{stem}_{number}");
            number += 1;
        }
        self.names.insert(pointer.to_owned(), name.clone());
        self.waiting.push_back(pointer.to_owned());
        name
    }

    /// The next pointer that was named but not read.
    pub(super) fn next_waiting(&mut self) -> Option<(String, String)> {
        let pointer = self.waiting.pop_front()?;
        let name = self.names.get(&pointer).cloned()?;
        Some((pointer, name))
    }

    /// A schema word for word, but for its references: they go to the new definitions.
    pub(super) fn rewire(&mut self, schema: &Value) -> Value {
        let Value::Object(fields) = schema else {
            return schema.clone();
        };
        let mut out = Map::new();
        for (key, value) in fields {
            if let Some(value) = self.rewired(key, value) {
                out.insert(key.clone(), value);
            }
        }
        Value::Object(out)
    }

    /// The value of one keyword, rewired; none for what only names places.
    pub(super) fn rewired(&mut self, key: &str, value: &Value) -> Option<Value> {
        Some(match value {
            Value::String(reference) if key == "$ref" => match self.pointer(reference) {
                Some(pointer) => {
                    let name = self.name(&pointer);
                    Value::String(link(&name))
                }
                None => value.clone(),
            },
            Value::String(_) if ["$anchor", "$id", "$schema"].contains(&key) => return None,
            Value::Object(_) if key == "$defs" || key == "definitions" => return None,
            value => match Held::of(key, value) {
                Some(Held::One(schema)) => self.rewire(schema),
                Some(Held::List(schemas)) => schemas.iter().map(|it| self.rewire(it)).collect(),
                Some(Held::Named(schemas)) => {
                    let schemas = schemas.iter();
                    let all = schemas.map(|(name, it)| (name.clone(), self.rewire(it)));
                    Value::Object(all.collect())
                }
                None => value.clone(),
            },
        })
    }
}

/// How a definition is referred to in the schema that is written. In every edition they stand
/// under one name: a reference is only a path.
pub(super) fn link(name: &str) -> String {
    format!("#/{SHELF}/{name}")
}

/// Percent signs undone; none if that is no text.
fn unescape(fragment: &str) -> Option<String> {
    if !fragment.contains('%') {
        return Some(fragment.to_owned());
    }
    let mut bytes = fragment.bytes();
    let mut out = Vec::with_capacity(fragment.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let high = char::from(bytes.next()?).to_digit(16)?;
            let low = char::from(bytes.next()?).to_digit(16)?;
            out.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}
