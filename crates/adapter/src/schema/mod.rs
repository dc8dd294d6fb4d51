//! JSON Schema and function parameters, converted in both directions without loss.
//!
//! [`Parameters::from_schema`] reads a tool's schema into [`SchemaShape`]s and keeps the original
//! beside them; [`Parameters::to_schema`] writes a schema from the shapes that accepts the same
//! values. [`JsonSchemaValidator`] validates arguments, and [`formats`] exports a tool in the form
//! of a model API. Schemas come from other servers: nothing is fetched, and everything is bounded.
//!
//! The module knows nothing about servers and connections.
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
//! assert_eq!(exported.restore_arguments(&written), json!({"query": "tides"}));
//! ```

mod constraint_text;
pub mod formats;
mod keywords;
mod merge;
mod read_shape;
mod reader;
mod shape;
mod write;

use serde_json::{Map, Value, json};

use draft::SchemaDraft;
use reader::SchemaReader;

pub use deliberate_json_schema::{
    JsonSchemaError, JsonSchemaValidator, MAX_JSON_DEPTH, MAX_VIOLATIONS, SchemaViolation,
};
pub(crate) use deliberate_json_schema::{draft, references};

pub use constraint_text::describe_constraints;
pub use shape::{AdditionalProperties, Param, SchemaDefinition, SchemaShape, ShapeKind};

/// The maximum number of references that are followed to resolve a name.
const MAX_REF_STEPS: usize = 32;

/// The parameters of a function, read from a schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// The original schema, unchanged (`true` if it was nested too deeply to keep).
    pub original: Value,
    /// The shape of the schema.
    pub root: SchemaShape,
    /// The shapes that [`ShapeKind::Ref`] refers to.
    pub definitions: Vec<SchemaDefinition>,
    /// The oddities of the schema.
    pub warnings: Vec<SchemaWarning>,
}

/// An oddity of a schema that did not prevent it from being read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaWarning {
    /// The location as field names joined by dots; empty for the root.
    pub path: String,
    /// The oddity, in one sentence.
    pub message: String,
}

impl Parameters {
    /// Reads a schema. It never fails: a part that cannot be modeled is kept whole, with a warning.
    pub fn from_schema(schema: &Value) -> Self {
        let mut warnings = Vec::new();
        let mut warn = |what: &str| {
            warnings.push(SchemaWarning {
                path: String::new(),
                message: what.to_owned(),
            });
        };
        if references::depth(schema, MAX_JSON_DEPTH) > MAX_JSON_DEPTH {
            warn("the schema is nested too deeply to be read; any arguments are accepted");
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
            warn("the schema identifies its parts by URI; it is kept whole");
            (SchemaShape::opaque(schema.clone()), Vec::new())
        } else {
            let root = reader.read(schema);
            if let Some(definitions) = reader.definitions() {
                (root, definitions)
            } else {
                warn("the schema refers to itself too often to be modeled; it is kept whole");
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

    /// Returns the named parameters in the schema's order; none if the schema is not a plain
    /// object.
    pub fn params(&self) -> &[Param] {
        match &self.resolve(&self.root).kind {
            ShapeKind::Object { params, .. } => params,
            _ => &[],
        }
    }

    /// Returns the parameter with this name.
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params().iter().find(|param| param.name == name)
    }

    /// Follows the references of a shape.
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

    /// Writes a schema from the shapes that accepts the same values as the original.
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

    /// Writes the definitions as schemas, by name.
    fn definitions_schema(&self, draft: SchemaDraft) -> Value {
        let all = self.definitions.iter();
        let all = all.map(|it| (it.name.clone(), write::write_schema(&it.shape, draft)));
        Value::Object(all.collect())
    }
}
