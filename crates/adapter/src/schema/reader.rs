//! Reads a schema into shapes. It never fails: a part that cannot be modeled exactly is kept whole,
//! and an oddity becomes a warning.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    SchemaWarning,
    draft::SchemaDraft,
    merge::merge_all,
    read_shape::{self, SchemaKeywords},
    references::SchemaRefs,
    shape::{SchemaDefinition, SchemaShape, ShapeKind},
};

/// The maximum depth of shapes; deeper parts are kept whole.
const MAX_DEPTH: usize = 40;

/// The maximum number of schemas that are modeled.
const MAX_NODES: usize = 20_000;

/// The maximum size of a schema that is inlined in place of a reference, and of all such schemas
/// together; a larger one stays a definition. Sizes are as [`weight`] counts them.
const MAX_INLINE_SIZE: usize = 2_000;
const MAX_INLINE_TOTAL: usize = 50_000;

/// The maximum size of all definitions together, relative to the document. They may overlap, so it
/// is more than what was sent, but not many times more.
const MAX_DEFINITION_FACTOR: usize = 4;
const MIN_DEFINITION_BUDGET: usize = 10_000;

/// The maximum number of warnings.
const MAX_WARNINGS: usize = 20;

/// The maximum number of nested `allOf` that are merged.
const MAX_MERGES: usize = 16;

/// Reads one document.
pub(super) struct SchemaReader<'a> {
    pub(super) refs: SchemaRefs<'a>,
    pub(super) draft: SchemaDraft,
    /// The references that are being inlined, outermost first.
    open_refs: Vec<String>,
    /// The references that contain themselves.
    recursive: HashSet<String>,
    nodes: usize,
    inlined_size: usize,
    defined_size: usize,
    level: usize,
    path: Vec<String>,
    pub(super) warnings: Vec<SchemaWarning>,
}

impl<'a> SchemaReader<'a> {
    pub(super) fn new(document: &'a Value, draft: SchemaDraft) -> Self {
        Self {
            refs: SchemaRefs::new(document, draft.has_legacy_id),
            draft,
            open_refs: vec![String::new()],
            recursive: HashSet::new(),
            nodes: 0,
            inlined_size: 0,
            defined_size: 0,
            level: 0,
            path: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Reads all referenced definitions until no new one appears; returns none if they are too
    /// large.
    pub(super) fn definitions(&mut self) -> Option<Vec<SchemaDefinition>> {
        let most =
            MIN_DEFINITION_BUDGET + MAX_DEFINITION_FACTOR * weight(self.refs.document, usize::MAX);
        let mut out = Vec::new();
        while let Some((pointer, name)) = self.refs.next_pending() {
            let Some(schema) = self.refs.resolve(&pointer) else {
                continue;
            };
            self.defined_size += weight(schema, most);
            if self.defined_size > most {
                return None;
            }
            self.recursive.insert(pointer.clone());
            self.open_refs = vec![pointer];
            self.path = vec![name.clone()];
            let shape = self.read(schema);
            out.push(SchemaDefinition { name, shape });
        }
        Some(out)
    }

    pub(super) fn warn(&mut self, what: impl Into<String>) {
        if self.warnings.len() < MAX_WARNINGS {
            let place = self.path.join(".");
            self.warnings.push(SchemaWarning {
                path: place,
                message: what.into(),
            });
        }
    }

    /// Reads a schema at a named place inside the current one.
    pub(super) fn read_at(&mut self, place: &str, schema: &Value) -> SchemaShape {
        self.path.push(place.to_owned());
        let shape = self.read(schema);
        self.path.pop();
        shape
    }

    pub(super) fn read(&mut self, schema: &Value) -> SchemaShape {
        self.nodes += 1;
        match schema {
            Value::Bool(true) => SchemaShape::new(ShapeKind::Any),
            Value::Bool(false) => SchemaShape::new(ShapeKind::Never),
            Value::Object(fields) if self.level < MAX_DEPTH && self.nodes < MAX_NODES => {
                self.level += 1;
                let shape = self.read_fields(fields);
                self.level -= 1;
                shape
            }
            Value::Object(_) => {
                self.warn(
                    "the schema is too deep or too large to be modeled; this part is kept whole",
                );
                self.read_opaque(schema)
            }
            _ => {
                self.warn("a schema must be an object, true or false; this one is kept as it is");
                SchemaShape::opaque(schema.clone())
            }
        }
    }

    /// Returns true if there is room to inline this schema in place of a reference.
    fn can_inline(&mut self, schema: &Value) -> bool {
        let weight = weight(schema, MAX_INLINE_SIZE);
        let fits = weight <= MAX_INLINE_SIZE && self.inlined_size + weight <= MAX_INLINE_TOTAL;
        self.inlined_size += if fits { weight } else { 0 };
        fits
    }

    /// Keeps a schema whole and rewrites its references.
    pub(super) fn read_opaque(&mut self, schema: &Value) -> SchemaShape {
        SchemaShape::opaque(self.refs.rewrite_refs(schema))
    }

    fn read_fields(&mut self, fields: &Map<String, Value>) -> SchemaShape {
        if let Some(reference) = fields.get("$ref") {
            return self.read_reference(reference, fields);
        }
        let Some(Value::Array(parts)) = fields.get("allOf") else {
            return self.read_node(fields);
        };
        if let Some(whole) = self.flatten_all_of(fields, parts) {
            return self.read_node(&whole);
        }
        self.read_node(fields)
    }

    fn read_node(&mut self, fields: &Map<String, Value>) -> SchemaShape {
        match read_shape::read(self, fields) {
            Ok(shape) => shape,
            Err(why) => {
                self.warn(why);
                self.read_opaque(&Value::Object(fields.clone()))
            }
        }
    }

    /// Merges `allOf` and its siblings into one schema, if that is exact.
    fn flatten_all_of(
        &mut self,
        fields: &Map<String, Value>,
        parts: &[Value],
    ) -> Option<Map<String, Value>> {
        let mut base = fields.clone();
        let mut parts = parts.to_vec();
        let mut seen: HashSet<String> = HashSet::new();
        for _ in 0..MAX_MERGES {
            base.shift_remove("allOf");
            let mut all = vec![base];
            for part in &parts {
                all.push(self.resolve_part(part, &mut seen)?);
            }
            base = merge_all(&all)?;
            match base.get("allOf") {
                Some(Value::Array(inner)) => parts.clone_from(inner),
                Some(_) => return None,
                None => return Some(base),
            }
        }
        None
    }

    /// Resolves the reference of one part of an `allOf`.
    fn resolve_part(
        &mut self,
        part: &Value,
        seen: &mut HashSet<String>,
    ) -> Option<Map<String, Value>> {
        let mut part = part;
        while let Some(Value::String(reference)) = part.get("$ref") {
            let pointer = self.refs.pointer(reference)?;
            let alone = part.as_object()?.len() == 1;
            if !alone || self.open_refs.contains(&pointer) || !seen.insert(pointer.clone()) {
                return None;
            }
            part = self.refs.resolve(&pointer)?;
            if !self.can_inline(part) {
                return None;
            }
        }
        match part {
            Value::Bool(true) => Some(Map::new()),
            Value::Object(fields) if !fields.contains_key("$ref") => Some(fields.clone()),
            _ => None,
        }
    }

    fn read_reference(&mut self, reference: &Value, fields: &Map<String, Value>) -> SchemaShape {
        let all = Value::Object(fields.clone());
        let Some(reference) = reference.as_str() else {
            self.warn("a $ref must be a string; this part is kept whole");
            return self.read_opaque(&all);
        };
        let Some(pointer) = self.refs.pointer(reference) else {
            let shown: String = reference.chars().take(120).collect();
            self.warn(if reference.starts_with('#') {
                format!("the reference {shown} has no target; it is kept as it is")
            } else {
                format!("the reference {shown} points outside the schema; it is not fetched and kept as it is")
            });
            return self.read_opaque(&all);
        };
        let beside: Map<String, Value> = fields
            .iter()
            .filter(|(key, _)| key.as_str() != "$ref")
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let rules = SchemaKeywords::split(&beside);
        if rules.constraints.is_empty() {
            let mut shape = self.follow_reference(&pointer);
            rules.apply_to(&mut shape);
            return shape;
        }
        let hangs_on_all = beside.keys().any(|key| key.starts_with("unevaluated"));
        if self.draft.ref_ignores_siblings || hangs_on_all {
            return self.read_opaque(&all);
        }
        let mut parts = match beside.get("allOf") {
            Some(Value::Array(parts)) => parts.clone(),
            _ => Vec::new(),
        };
        parts.push(serde_json::json!({"$ref": reference}));
        if let Some(whole) = self.flatten_all_of(&beside, &parts) {
            return self.read_node(&whole);
        }
        let target = self.follow_reference(&pointer);
        SchemaShape::new(ShapeKind::AllOf(vec![target, self.read_fields(&beside)]))
    }

    /// Follows a reference: inlines its target, or names it if it contains itself or is used often.
    fn follow_reference(&mut self, pointer: &str) -> SchemaShape {
        let by_name = |reader: &mut Self| {
            let name = reader.refs.definition_name(pointer);
            SchemaShape::new(ShapeKind::Ref(name))
        };
        if self.open_refs.iter().any(|open| open == pointer) {
            self.recursive.insert(pointer.to_owned());
            return by_name(self);
        }
        let Some(schema) = self.refs.resolve(pointer) else {
            return by_name(self);
        };
        if self.recursive.contains(pointer) || self.level >= MAX_DEPTH || !self.can_inline(schema) {
            return by_name(self);
        }
        self.open_refs.push(pointer.to_owned());
        let shape = self.read(schema);
        self.open_refs.pop();
        if self.recursive.contains(pointer) {
            return by_name(self);
        }
        shape
    }
}

/// Returns the size of a value: its parts, and its text by the line. Counting stops a little above
/// the bound.
fn weight(value: &Value, most: usize) -> usize {
    let mut total = 0;
    let mut todo = vec![value];
    while let Some(value) = todo.pop() {
        total += match value {
            Value::String(text) => 1 + text.len() / 80,
            Value::Object(fields) => {
                todo.extend(fields.values());
                1 + fields.keys().map(|key| key.len() / 80).sum::<usize>()
            }
            Value::Array(items) => {
                todo.extend(items);
                1
            }
            _ => 1,
        };
        if total > most {
            break;
        }
    }
    total
}
