//! What a schema says, as types: a tree of shapes. It holds every keyword it was given, in a
//! field of its own or word for word. It knows nothing of how schemas are read or written.

use serde_json::{Map, Value};

/// What a value may be.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SchemaShape {
    /// The kind of value.
    pub kind: ShapeKind,
    /// The schema doesn't name the type: values of other types pass as well.
    pub implied: bool,
    /// `null` passes too.
    pub nullable: bool,
    /// The only values that pass (`enum`), if they are listed.
    pub enum_values: Option<Vec<Value>>,
    /// What it is for.
    pub description: Option<String>,
    /// What stands when it is left out.
    pub default: Option<Value>,
    /// The other rules, word for word: lengths, ranges, patterns, `not`, `if`, and so on.
    pub constraints: Map<String, Value>,
    /// What is no rule, word for word: title, examples, unknown keywords.
    pub notes: Map<String, Value>,
}

/// A kind of value.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ShapeKind {
    /// Anything the rules allow.
    #[default]
    Any,
    /// Nothing at all (the schema `false`).
    Never,
    /// Only `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Text.
    String,
    /// A list.
    Array {
        /// The first items, each with its own shape.
        prefix: Vec<SchemaShape>,
        /// Every further item; none if anything goes.
        items: Option<Box<SchemaShape>>,
    },
    /// An object.
    Object {
        /// The named fields, in the schema's order.
        params: Vec<Param>,
        /// Fields that must be there though nothing else is said of them.
        also_required: Vec<String>,
        /// The fields that are not named.
        additional: AdditionalProperties,
    },
    /// At least one of these (`anyOf`, or several types).
    AnyOf(Vec<SchemaShape>),
    /// Exactly one of these.
    OneOf(Vec<SchemaShape>),
    /// All of these together, where they could not be made one exactly.
    AllOf(Vec<SchemaShape>),
    /// Only this value.
    Const(Value),
    /// What the definition of this name says.
    Ref(String),
    /// A schema that is not modelled, kept whole.
    Opaque(Value),
}

/// The fields of an object that its schema doesn't name.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum AdditionalProperties {
    /// They may be anything.
    #[default]
    Open,
    /// There are none.
    Closed,
    /// They have this shape.
    Shape(Box<SchemaShape>),
}

/// One parameter of a function, or one field of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Whether it must be given.
    pub required: bool,
    /// What it may be.
    pub shape: SchemaShape,
}

/// A shape with a name, because it holds itself or is used too often to be written out.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaDefinition {
    /// The name that [`ShapeKind::Ref`] uses.
    pub name: String,
    /// What it stands for.
    pub shape: SchemaShape,
}

impl SchemaShape {
    /// A shape of this kind, with nothing else said.
    pub fn new(kind: ShapeKind) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    /// A schema kept whole.
    pub(super) fn opaque(schema: Value) -> Self {
        Self::new(ShapeKind::Opaque(schema))
    }

    /// Whether nothing but its kind limits it.
    pub(super) fn is_bare(&self) -> bool {
        self.constraints.is_empty() && self.enum_values.is_none() && !self.nullable
    }
}
