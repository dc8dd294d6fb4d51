//! A schema read into shapes. It never fails: what can't be modelled exactly is kept whole, and
//! what is odd becomes a warning.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    Warning,
    draft::Draft,
    merge::merged,
    node::{self, Rules},
    refs::Refs,
    shape::{Definition, Kind, Shape},
};

/// How deep shapes are nested before the rest is kept whole.
const DEEPEST: usize = 40;

/// How many schemas are modelled.
const MOST_NODES: usize = 20_000;

/// How large something may be that is written out in place of a reference, and all such together;
/// what is larger stays a definition. Sizes are as [`weight`] counts them.
const LARGEST_WRITTEN_OUT: usize = 2_000;
const MOST_WRITTEN_OUT: usize = 50_000;

/// How large all definitions may be together: they may overlap, so it is more than was sent, but
/// not many times more.
const MOST_TIMES_DEFINED: usize = 4;
const ALWAYS_DEFINED: usize = 10_000;

/// How many warnings are told.
const MOST_WARNINGS: usize = 20;

/// How many times `allOf` inside `allOf` is made one.
const MOST_MERGES: usize = 16;

/// Reads one document.
pub(super) struct Reader<'a> {
    pub(super) refs: Refs<'a>,
    pub(super) draft: Draft,
    /// The references that are being written out, outermost first.
    open: Vec<String>,
    /// Those that hold themselves.
    recursive: HashSet<String>,
    nodes: usize,
    written_out: usize,
    defined: usize,
    level: usize,
    place: Vec<String>,
    pub(super) warnings: Vec<Warning>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(document: &'a Value, draft: Draft) -> Self {
        Self {
            refs: Refs::of(document, draft.id_is_plain),
            draft,
            open: vec![String::new()],
            recursive: HashSet::new(),
            nodes: 0,
            written_out: 0,
            defined: 0,
            level: 0,
            place: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Everything that references asked for, until nothing new is asked; none if it is too much.
    pub(super) fn definitions(&mut self) -> Option<Vec<Definition>> {
        let most = ALWAYS_DEFINED + MOST_TIMES_DEFINED * weight(self.refs.document, usize::MAX);
        let mut out = Vec::new();
        while let Some((pointer, name)) = self.refs.next_waiting() {
            let Some(schema) = self.refs.at(&pointer) else {
                continue;
            };
            self.defined += weight(schema, most);
            if self.defined > most {
                return None;
            }
            self.recursive.insert(pointer.clone());
            self.open = vec![pointer];
            self.place = vec![name.clone()];
            let shape = self.read(schema);
            out.push(Definition { name, shape });
        }
        Some(out)
    }

    pub(super) fn warn(&mut self, what: impl Into<String>) {
        if self.warnings.len() < MOST_WARNINGS {
            let place = self.place.join(".");
            self.warnings.push(Warning {
                place,
                what: what.into(),
            });
        }
    }

    /// A schema at a named place inside the present one.
    pub(super) fn read_at(&mut self, place: &str, schema: &Value) -> Shape {
        self.place.push(place.to_owned());
        let shape = self.read(schema);
        self.place.pop();
        shape
    }

    pub(super) fn read(&mut self, schema: &Value) -> Shape {
        self.nodes += 1;
        match schema {
            Value::Bool(true) => Shape::of(Kind::Any),
            Value::Bool(false) => Shape::of(Kind::Never),
            Value::Object(fields) if self.level < DEEPEST && self.nodes < MOST_NODES => {
                self.level += 1;
                let shape = self.read_fields(fields);
                self.level -= 1;
                shape
            }
            Value::Object(_) => {
                self.warn(
                    "the schema is too deep or too large to be modelled; this part is kept whole",
                );
                self.whole(schema)
            }
            _ => {
                self.warn("a schema must be an object, true or false; this one is kept as it is");
                Shape::opaque(schema.clone())
            }
        }
    }

    /// Whether there is room to write this out in place of a reference.
    fn has_room(&mut self, schema: &Value) -> bool {
        let weight = weight(schema, LARGEST_WRITTEN_OUT);
        let fits = weight <= LARGEST_WRITTEN_OUT && self.written_out + weight <= MOST_WRITTEN_OUT;
        self.written_out += if fits { weight } else { 0 };
        fits
    }

    /// A schema that is kept whole, its references rewired.
    pub(super) fn whole(&mut self, schema: &Value) -> Shape {
        Shape::opaque(self.refs.rewire(schema))
    }

    fn read_fields(&mut self, fields: &Map<String, Value>) -> Shape {
        if let Some(reference) = fields.get("$ref") {
            return self.read_reference(reference, fields);
        }
        let Some(Value::Array(parts)) = fields.get("allOf") else {
            return self.read_node(fields);
        };
        if let Some(whole) = self.flattened(fields, parts) {
            return self.read_node(&whole);
        }
        self.read_node(fields)
    }

    fn read_node(&mut self, fields: &Map<String, Value>) -> Shape {
        match node::read(self, fields) {
            Ok(shape) => shape,
            Err(why) => {
                self.warn(why);
                self.whole(&Value::Object(fields.clone()))
            }
        }
    }

    /// `allOf` and all beside it as one schema, if that is exact.
    fn flattened(
        &mut self,
        fields: &Map<String, Value>,
        parts: &[Value],
    ) -> Option<Map<String, Value>> {
        let mut base = fields.clone();
        let mut parts = parts.to_vec();
        let mut seen: HashSet<String> = HashSet::new();
        for _ in 0..MOST_MERGES {
            base.shift_remove("allOf");
            let mut all = vec![base];
            for part in &parts {
                all.push(self.plain_part(part, &mut seen)?);
            }
            base = merged(&all)?;
            match base.get("allOf") {
                Some(Value::Array(inner)) => parts.clone_from(inner),
                Some(_) => return None,
                None => return Some(base),
            }
        }
        None
    }

    /// One part of an `allOf` without a reference.
    fn plain_part(
        &mut self,
        part: &Value,
        seen: &mut HashSet<String>,
    ) -> Option<Map<String, Value>> {
        let mut part = part;
        while let Some(Value::String(reference)) = part.get("$ref") {
            let pointer = self.refs.pointer(reference)?;
            let alone = part.as_object()?.len() == 1;
            if !alone || self.open.contains(&pointer) || !seen.insert(pointer.clone()) {
                return None;
            }
            part = self.refs.at(&pointer)?;
            if !self.has_room(part) {
                return None;
            }
        }
        match part {
            Value::Bool(true) => Some(Map::new()),
            Value::Object(fields) if !fields.contains_key("$ref") => Some(fields.clone()),
            _ => None,
        }
    }

    fn read_reference(&mut self, reference: &Value, fields: &Map<String, Value>) -> Shape {
        let all = Value::Object(fields.clone());
        let Some(reference) = reference.as_str() else {
            self.warn("a $ref must be text; this part is kept whole");
            return self.whole(&all);
        };
        let Some(pointer) = self.refs.pointer(reference) else {
            let shown: String = reference.chars().take(120).collect();
            self.warn(if reference.starts_with('#') {
                format!("the reference {shown} points at nothing; it is kept as it is")
            } else {
                format!("the reference {shown} leads outside; it is not fetched, and kept as it is")
            });
            return self.whole(&all);
        };
        let beside: Map<String, Value> = fields
            .iter()
            .filter(|(key, _)| key.as_str() != "$ref")
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let rules = Rules::split(&beside);
        if rules.limits.is_empty() {
            let mut shape = self.follow(&pointer);
            rules.tell(&mut shape);
            return shape;
        }
        let hangs_on_all = beside.keys().any(|key| key.starts_with("unevaluated"));
        if self.draft.ref_stands_alone || hangs_on_all {
            return self.whole(&all);
        }
        let mut parts = match beside.get("allOf") {
            Some(Value::Array(parts)) => parts.clone(),
            _ => Vec::new(),
        };
        parts.push(serde_json::json!({"$ref": reference}));
        if let Some(whole) = self.flattened(&beside, &parts) {
            return self.read_node(&whole);
        }
        let target = self.follow(&pointer);
        Shape::of(Kind::All(vec![target, self.read_fields(&beside)]))
    }

    /// What a reference means: written out, or by name if it holds itself or there were many.
    fn follow(&mut self, pointer: &str) -> Shape {
        let by_name = |reader: &mut Self| {
            let name = reader.refs.name(pointer);
            Shape::of(Kind::Ref(name))
        };
        if self.open.iter().any(|open| open == pointer) {
            self.recursive.insert(pointer.to_owned());
            return by_name(self);
        }
        let Some(schema) = self.refs.at(pointer) else {
            return by_name(self);
        };
        if self.recursive.contains(pointer) || self.level >= DEEPEST || !self.has_room(schema) {
            return by_name(self);
        }
        self.open.push(pointer.to_owned());
        let shape = self.read(schema);
        self.open.pop();
        if self.recursive.contains(pointer) {
            return by_name(self);
        }
        shape
    }
}

/// How large a value is: its parts, and its text by the line. Counted up to a little over a bound.
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
