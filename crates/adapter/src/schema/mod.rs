//! JSON Schema and function parameters, both ways, with nothing dropped.
//!
//! [`Parameters::from_schema`] reads a tool's schema into [`SchemaShape`]s and keeps the original
//! beside them; [`Parameters::to_schema`] writes a schema from the shapes that accepts the same
//! values. [`JsonSchemaValidator`] checks arguments, and [`formats`] puts a tool into the form an API of a
//! model takes. Schemas come from other servers: nothing is fetched, and everything is bounded.
//!
//! It knows nothing of servers and connections.
//!
//! ```
//! use deliberate_adapter::schema::{Parameters, formats};
//! use serde_json::json;
//!
//! let read = Parameters::from_schema(&json!({
//!     "type": "object",
//!     "properties": {"query": {"type": "string", "minLength": 3}, "limit": {"type": "integer"}},
//!     "required": ["query"],
//! }));
//! assert!(read.param("query").is_some_and(|param| param.required));
//!
//! let exported = formats::openai("find", "Finds papers.", &read, true);
//! let written = json!({"query": "tides", "limit": null});
//! assert_eq!(exported.arguments_back(&written), json!({"query": "tides"}));
//! ```

mod constraint_text;
mod draft;
pub mod formats;
mod keywords;
mod merge;
mod read_shape;
mod reader;
mod references;
mod shape;
mod validation_cost;
mod validator;
mod write;

use serde_json::{Map, Value, json};

use draft::SchemaDraft;
use reader::SchemaReader;

pub use constraint_text::describe_constraints;
pub use shape::{AdditionalProperties, Param, SchemaDefinition, SchemaShape, ShapeKind};
pub use validator::{JsonSchemaError, JsonSchemaValidator, MAX_VIOLATIONS, SchemaViolation};

/// How deep the JSON of a schema may be nested. A parser stops at 128; more is no honest tool.
pub const MAX_JSON_DEPTH: usize = 200;

/// How many definitions are followed to find what a name means.
const MAX_REF_STEPS: usize = 32;

/// The parameters of a function, as a schema says them.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// The schema as it was given, word for word (`true` if it was nested too deep to keep).
    pub original: Value,
    /// What it says.
    pub root: SchemaShape,
    /// The shapes that [`ShapeKind::Ref`] names.
    pub definitions: Vec<SchemaDefinition>,
    /// What was odd in it.
    pub warnings: Vec<SchemaWarning>,
}

/// Something odd in a schema that did not stop it from being read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaWarning {
    /// Where, as field names joined by dots; empty for the top.
    pub path: String,
    /// What, in one sentence.
    pub message: String,
}

impl Parameters {
    /// Reads a schema. It never fails: what can't be modelled is kept whole, with a warning.
    pub fn from_schema(schema: &Value) -> Self {
        let mut warnings = Vec::new();
        let mut warn = |what: &str| {
            warnings.push(SchemaWarning {
                path: String::new(),
                message: what.to_owned(),
            });
        };
        if references::depth(schema, MAX_JSON_DEPTH) > MAX_JSON_DEPTH {
            warn("the schema is nested too deep to be read; any arguments are taken");
            return Self {
                original: Value::Bool(true),
                root: SchemaShape::new(ShapeKind::Any),
                definitions: Vec::new(),
                warnings,
            };
        }
        let draft = SchemaDraft::detect(schema);
        let mut reader = SchemaReader::new(schema, draft);
        let (root, definitions) = if reader.refs.many_resources {
            warn("the schema names its own parts by address; it is kept whole");
            (SchemaShape::opaque(schema.clone()), Vec::new())
        } else {
            let root = reader.read(schema);
            if let Some(definitions) = reader.definitions() {
                (root, definitions)
            } else {
                warn("the schema refers to itself too much to be modelled; it is kept whole");
                (SchemaShape::opaque(schema.clone()), Vec::new())
            }
        };
        warnings.append(&mut reader.warnings);
        Self {
            original: schema.clone(),
            root,
            definitions,
            warnings,
        }
    }

    /// The named parameters, in the schema's order; none if the schema is no plain object.
    pub fn params(&self) -> &[Param] {
        match &self.resolve(&self.root).kind {
            ShapeKind::Object { params, .. } => params,
            _ => &[],
        }
    }

    /// The parameter of this name.
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params().iter().find(|param| param.name == name)
    }

    /// A shape with its name followed, if it is one.
    pub fn resolve<'a>(&'a self, shape: &'a SchemaShape) -> &'a SchemaShape {
        let mut shape = shape;
        for _ in 0..MAX_REF_STEPS {
            let ShapeKind::Ref(name) = &shape.kind else {
                break;
            };
            match self.definitions.iter().find(|it| it.name == *name) {
                Some(found) => shape = &found.shape,
                None => break,
            }
        }
        shape
    }

    /// A schema written from the shapes: it accepts what the original accepts.
    pub fn to_schema(&self) -> Value {
        let draft = self.draft();
        let root = write::write_schema(&self.root, draft);
        let dialect = self.original.get("$schema");
        let fields = match root {
            Value::Object(fields) => fields,
            other if dialect.is_none() && self.definitions.is_empty() => return other,
            other => {
                let mut fields = Map::new();
                fields.insert("allOf".to_owned(), json!([other]));
                fields
            }
        };
        let mut out = Map::new();
        if let Some(dialect) = dialect {
            out.insert("$schema".to_owned(), dialect.clone());
        }
        out.extend(fields);
        if !self.definitions.is_empty() {
            out.insert(references::DEFS.to_owned(), self.definitions_schema(draft));
        }
        Value::Object(out)
    }

    fn draft(&self) -> SchemaDraft {
        SchemaDraft::detect(&self.original)
    }

    /// The definitions as schemas, by name.
    fn definitions_schema(&self, draft: SchemaDraft) -> Value {
        let all = self.definitions.iter();
        let all = all.map(|it| (it.name.clone(), write::write_schema(&it.shape, draft)));
        Value::Object(all.collect())
    }
}
