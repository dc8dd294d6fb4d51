//! References within one document: resolves them, names their targets, and rewrites them in schemas
//! that are kept whole. Nothing outside the document is ever fetched.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value};

use crate::draft::SchemaDraft;

/// The keyword that holds named definitions.
pub const DEFS: &str = "$defs";

/// Keywords that hold one schema.
const SINGLE_KEYWORDS: [&str; 12] = [
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
const LIST_KEYWORDS: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];

/// Keywords that hold schemas by name.
const MAP_KEYWORDS: [&str; 4] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
];

/// The schemas that a keyword holds.
pub enum SubSchemas<'a> {
    Single(&'a Value),
    List(&'a [Value]),
    Named(&'a Map<String, Value>),
}

impl<'a> SubSchemas<'a> {
    /// Returns the schemas of a keyword; none if the keyword or its value holds no schema.
    pub fn from_keyword(key: &str, value: &'a Value) -> Option<Self> {
        match value {
            Value::Array(items) if LIST_KEYWORDS.contains(&key) => Some(Self::List(items)),
            Value::Object(named) if MAP_KEYWORDS.contains(&key) || key == "$defs" => {
                Some(Self::Named(named))
            }
            Value::Object(_) | Value::Bool(_) if SINGLE_KEYWORDS.contains(&key) => {
                Some(Self::Single(value))
            }
            _ => None,
        }
    }
}

/// Returns the nesting depth of a document, counted without recursion, up to a bound.
pub fn depth(document: &Value, most: usize) -> usize {
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

/// The references of a document.
pub struct SchemaRefs<'a> {
    pub document: &'a Value,
    /// The anchors, each with its JSON pointer.
    anchors: HashMap<&'a str, String>,
    /// All names that a fragment can mean, in every draft, each with the JSON pointers that have it.
    fragment_names: HashMap<&'a str, Vec<String>>,
    /// The JSON pointers of the parts with a URI of their own, after that of the document itself.
    resources: Vec<String>,
    /// Whether the document or a part of it has a URI.
    has_ids: bool,
    /// The ids of draft 4 with their JSON pointers, if anything in the document is of that draft.
    legacy_ids: Vec<(&'a str, String)>,
    has_legacy_part: bool,
    /// Whether a part of the document has its own URI, or references are resolved dynamically.
    pub many_resources: bool,
    names: HashMap<String, String>,
    used_names: HashSet<String>,
    /// The pointers that were named and not read yet.
    pending: VecDeque<String>,
}

impl<'a> SchemaRefs<'a> {
    pub fn new(document: &'a Value, id_is_plain: bool) -> Self {
        let mut refs = Self {
            document,
            anchors: HashMap::new(),
            fragment_names: HashMap::new(),
            resources: vec![String::new()],
            has_ids: false,
            legacy_ids: Vec::new(),
            has_legacy_part: id_is_plain,
            many_resources: false,
            names: HashMap::new(),
            used_names: HashSet::new(),
            pending: VecDeque::new(),
        };
        refs.index_document(id_is_plain);
        let legacy_ids = std::mem::take(&mut refs.legacy_ids);
        if refs.has_legacy_part {
            for (id, place) in legacy_ids {
                refs.add_resource(id, &place);
            }
        }
        refs
    }

    fn index_document(&mut self, id_is_plain: bool) {
        let has_address = self.document.get("$id").is_some();
        let mut todo = vec![(self.document, String::new())];
        while let Some((value, place)) = todo.pop() {
            match value {
                Value::Object(fields) => {
                    for (key, inner) in fields {
                        self.index_keyword(key, inner, &place, id_is_plain);
                        // If the document has a URI, a reference by URI may mean the document
                        // itself.
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

    fn index_keyword(&mut self, key: &str, value: &'a Value, place: &str, id_is_plain: bool) {
        if let Value::String(text) = value {
            match key {
                "$anchor" | "$dynamicAnchor" => self.add_fragment_name(text, place),
                "$id" => self.add_resource(text, place),
                "id" => self.legacy_ids.push((text, place.to_owned())),
                // A part may be written in an older draft than the whole.
                "$schema" => self.has_legacy_part |= SchemaDraft::has_legacy_id(text),
                _ => {}
            }
        }
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

    fn add_fragment_name(&mut self, name: &'a str, place: &str) {
        let places = self.fragment_names.entry(name).or_default();
        places.push(place.to_owned());
    }

    fn add_resource(&mut self, id: &'a str, place: &str) {
        // Up to draft 7, an id that is only a fragment is an anchor.
        if let Some((_, name)) = id.split_once('#').filter(|(_, name)| !name.is_empty()) {
            self.add_fragment_name(name, place);
        }
        self.has_ids = true;
        if !place.is_empty() {
            self.resources.push(place.to_owned());
        }
    }

    /// Resolves a reference to a pointer, if its target exists in the document.
    pub fn pointer(&self, reference: &str) -> Option<String> {
        let fragment = reference.strip_prefix('#')?;
        let fragment = percent_decode(fragment)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            self.document.pointer(&fragment)?;
            return Some(fragment);
        }
        self.anchors.get(fragment.as_str()).cloned()
    }

    /// Returns the number of parts with a URI of their own, including the document.
    pub(crate) const fn resource_count(&self) -> usize {
        self.resources.len()
    }

    /// Returns the pointers of all parts that a reference may mean, whatever URIs the document's parts
    /// have and whatever anchors are in scope. An estimate of work must not miss one.
    pub(crate) fn possible_targets(&self, reference: &str) -> Vec<String> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let is_web_address = ["http://", "https://"]
            .iter()
            .any(|scheme| address.starts_with(scheme));
        // Without any id, the document has no such address: the reference leads outside.
        if is_web_address && !self.has_ids {
            return Vec::new();
        }
        let Some(fragment) = percent_decode(fragment) else {
            return Vec::new();
        };
        if let Some(named) = self.fragment_names.get(fragment.as_str()) {
            return named.clone();
        }
        // Without an address and with one URI at most, the pointer begins at the document.
        let is_plain = address.is_empty() && self.resources.len() == 1;
        let resources = if is_plain { 1 } else { self.resources.len() };
        let within = self.resources.iter().take(resources);
        within
            .map(|resource| format!("{resource}{fragment}"))
            .filter(|pointer| self.document.pointer(pointer).is_some())
            .collect()
    }

    /// Returns the value at a pointer.
    pub fn resolve(&self, pointer: &str) -> Option<&'a Value> {
        self.document.pointer(pointer)
    }

    /// Returns the definition name of a pointer; a new name is queued to be read.
    pub fn definition_name(&mut self, pointer: &str) -> String {
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
        while !self.used_names.insert(name.clone()) {
            // Many pointers may have the same last segment; the number of all names has not been
            // tried yet.
            number = number.max(self.used_names.len());
            name = format!("{stem}_{number}");
            number += 1;
        }
        self.names.insert(pointer.to_owned(), name.clone());
        self.pending.push_back(pointer.to_owned());
        name
    }

    /// Returns the next pointer that was named and not read.
    pub fn next_pending(&mut self) -> Option<(String, String)> {
        let pointer = self.pending.pop_front()?;
        let name = self.names.get(&pointer).cloned()?;
        Some((pointer, name))
    }

    /// Copies a schema unchanged, except that its references point to the new definitions.
    pub fn rewrite_refs(&mut self, schema: &Value) -> Value {
        let Value::Object(fields) = schema else {
            return schema.clone();
        };
        let mut out = Map::new();
        for (key, value) in fields {
            if let Some(value) = self.rewrite_keyword(key, value) {
                out.insert(key.clone(), value);
            }
        }
        Value::Object(out)
    }

    /// Rewrites the value of a keyword; returns none for keywords that only name locations.
    pub fn rewrite_keyword(&mut self, key: &str, value: &Value) -> Option<Value> {
        Some(match value {
            Value::String(reference) if key == "$ref" => match self.pointer(reference) {
                Some(pointer) => {
                    let name = self.definition_name(&pointer);
                    Value::String(definition_ref(&name))
                }
                None => value.clone(),
            },
            Value::String(_) if ["$anchor", "$id", "$schema"].contains(&key) => return None,
            Value::Object(_) if key == "$defs" || key == "definitions" => return None,
            value => match SubSchemas::from_keyword(key, value) {
                Some(SubSchemas::Single(schema)) => self.rewrite_refs(schema),
                Some(SubSchemas::List(schemas)) => {
                    schemas.iter().map(|it| self.rewrite_refs(it)).collect()
                }
                Some(SubSchemas::Named(schemas)) => {
                    let schemas = schemas.iter();
                    let all = schemas.map(|(name, it)| (name.clone(), self.rewrite_refs(it)));
                    Value::Object(all.collect())
                }
                None => value.clone(),
            },
        })
    }
}

/// Returns the reference to a definition in the written schema. All drafts use one keyword, because
/// a reference is only a path.
pub fn definition_ref(name: &str) -> String {
    format!("#/{DEFS}/{name}")
}

/// Decodes percent escapes; returns none if the result is not UTF-8.
fn percent_decode(fragment: &str) -> Option<String> {
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
