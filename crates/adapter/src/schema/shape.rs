//! What a schema says, as types: a tree of shapes. It holds every keyword it was given, in a
//! field of its own or word for word. It knows nothing of how schemas are read or written.

use serde_json::{Map, Value};

/// What a value may be.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shape {
    /// The kind of value.
    pub kind: Kind,
    /// The schema doesn't name the type: values of other types pass as well.
    pub implied: bool,
    /// `null` passes too.
    pub nullable: bool,
    /// The only values that pass (`enum`), if they are listed.
    pub choices: Option<Vec<Value>>,
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
pub enum Kind {
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
        prefix: Vec<Shape>,
        /// Every further item; none if anything goes.
        items: Option<Box<Shape>>,
    },
    /// An object.
    Object {
        /// The named fields, in the schema's order.
        params: Vec<Param>,
        /// Fields that must be there though nothing else is said of them.
        also_required: Vec<String>,
        /// The fields that are not named.
        additional: Additional,
    },
    /// At least one of these (`anyOf`, or several types).
    Union(Vec<Shape>),
    /// Exactly one of these.
    OneOf(Vec<Shape>),
    /// All of these together, where they could not be made one exactly.
    All(Vec<Shape>),
    /// Only this value.
    Const(Value),
    /// What the definition of this name says.
    Ref(String),
    /// A schema that is not modelled, kept whole.
    Schema(Value),
}

/// The fields of an object that its schema doesn't name.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Additional {
    /// They may be anything.
    #[default]
    Open,
    /// There are none.
    Closed,
    /// They have this shape.
    Shape(Box<Shape>),
}

/// One parameter of a function, or one field of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Whether it must be given.
    pub required: bool,
    /// What it may be.
    pub shape: Shape,
}

/// A shape with a name, because it holds itself or is used too often to be written out.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The name that [`Kind::Ref`] uses.
    pub name: String,
    /// What it stands for.
    pub shape: Shape,
}

impl Shape {
    /// A shape of this kind, with nothing else said.
    pub fn of(kind: Kind) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    /// A schema kept whole.
    pub(super) fn opaque(schema: Value) -> Self {
        Self::of(Kind::Schema(schema))
    }

    /// Whether nothing but its kind limits it.
    pub(super) fn is_bare(&self) -> bool {
        self.constraints.is_empty() && self.choices.is_none() && !self.nullable
    }
}
