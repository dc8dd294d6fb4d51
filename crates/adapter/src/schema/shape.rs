//! A schema as a tree of typed shapes. It keeps every keyword, in a field of its own or unchanged.
//! It knows nothing about how schemas are read or written.

use serde_json::{Map, Value};

/// The values that a schema accepts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SchemaShape {
    /// The kind of value.
    pub kind: ShapeKind,
    /// Whether the schema does not name the type, so that values of other types are valid too.
    pub implied: bool,
    /// Whether `null` is valid too.
    pub nullable: bool,
    /// The only valid values (`enum`), if they are listed.
    pub enum_values: Option<Vec<Value>>,
    /// The description.
    pub description: Option<String>,
    /// The default value.
    pub default: Option<Value>,
    /// The other rules, unchanged: lengths, ranges, patterns, `not`, `if`, and so on.
    pub constraints: Map<String, Value>,
    /// The keywords that are not rules, unchanged: title, examples, unknown keywords.
    pub notes: Map<String, Value>,
}

/// A kind of value.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ShapeKind {
    /// Any value that the rules allow.
    #[default]
    Any,
    /// No value (the schema `false`).
    Never,
    /// Only `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// An integer.
    Integer,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array {
        /// The first items, each with its own shape.
        prefix: Vec<SchemaShape>,
        /// The shape of the further items; none if they may be anything.
        items: Option<Box<SchemaShape>>,
    },
    /// An object.
    Object {
        /// The named fields, in the schema's order.
        params: Vec<Param>,
        /// The names of required fields that are not described.
        also_required: Vec<String>,
        /// The fields that are not named.
        additional: AdditionalProperties,
    },
    /// At least one of these (`anyOf`, or several types).
    AnyOf(Vec<SchemaShape>),
    /// Exactly one of these.
    OneOf(Vec<SchemaShape>),
    /// All of these together, where they could not be merged exactly.
    AllOf(Vec<SchemaShape>),
    /// Only this value.
    Const(Value),
    /// The definition with this name.
    Ref(String),
    /// A schema that is not modeled, kept whole.
    Opaque(Value),
}

/// The fields of an object that its schema does not name.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum AdditionalProperties {
    /// They may be anything.
    #[default]
    Open,
    /// They are not allowed.
    Closed,
    /// They have this shape.
    Shape(Box<SchemaShape>),
}

/// A parameter of a function, or a field of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    /// The parameter's name.
    pub name: String,
    /// Whether the parameter is required.
    pub required: bool,
    /// The values that the parameter accepts.
    pub shape: SchemaShape,
}

/// A named shape, because it contains itself or is used too often to be inlined.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaDefinition {
    /// The name that [`ShapeKind::Ref`] uses.
    pub name: String,
    /// The shape of the definition.
    pub shape: SchemaShape,
}

impl SchemaShape {
    /// Creates a shape of this kind without further rules.
    pub fn new(kind: ShapeKind) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    /// Creates a shape that keeps a schema whole.
    pub(super) fn opaque(schema: Value) -> Self {
        Self::new(ShapeKind::Opaque(schema))
    }

    /// Returns true if only its kind restricts the shape.
    pub(super) fn is_bare(&self) -> bool {
        self.constraints.is_empty() && self.enum_values.is_none() && !self.nullable
    }
}
