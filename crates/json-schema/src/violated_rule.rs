//! A violation with the rule in words, as models and people are told it.

use std::fmt;

use jsonschema::{ValidationError, error::ValidationErrorKind as Kind};
use serde_json::Value;

/// One rule of a schema that a value violates.
pub struct ViolatedRule<'a>(pub(crate) ValidationError<'a>);

/// What a caller may explain in words of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViolationKind<'a> {
    /// The value has fields that the schema does not describe, with these names.
    UnknownFields(&'a [String]),
    /// The value lacks the field with this name.
    MissingField(&'a str),
    /// Another rule.
    Other,
}

impl ViolatedRule<'_> {
    /// Returns the location of the value as a JSON pointer; empty for the root.
    pub fn path(&self) -> &str {
        self.0.instance_path().as_str()
    }

    /// Returns the value that violates the rule.
    pub fn value(&self) -> &Value {
        self.0.instance()
    }

    /// Returns the kind of the rule.
    pub fn kind(&self) -> ViolationKind<'_> {
        match self.0.kind() {
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => {
                ViolationKind::UnknownFields(unexpected)
            }
            Kind::Required { property } => {
                ViolationKind::MissingField(property.as_str().unwrap_or_default())
            }
            _ => ViolationKind::Other,
        }
    }

    /// Returns the rule in words.
    pub fn rule(&self) -> String {
        // The library's text begins with the value, which is shown separately.
        let text = || self.0.masked_with("it").to_string();
        match self.0.kind() {
            Kind::Minimum { limit } => format!("must be at least {limit}"),
            Kind::Maximum { limit } => format!("must be at most {limit}"),
            Kind::MinLength { limit: 1 } => "must not be empty".to_owned(),
            Kind::MinLength { limit } => format!("must have at least {limit} characters"),
            Kind::MaxLength { limit } => format!("must have at most {limit} characters"),
            Kind::MinItems { limit } => format!("must have at least {limit} item(s)"),
            Kind::MaxItems { limit } => format!("must have at most {limit} item(s)"),
            Kind::Enum { options } => format!("must be one of {options}"),
            Kind::Pattern { pattern } => format!("must match the pattern {pattern}"),
            Kind::Required { property } => format!("must have the field {property}"),
            Kind::AdditionalProperties { unexpected } => {
                format!("must not have the fields {}", unexpected.join(", "))
            }
            Kind::Type { .. } => {
                let text = text();
                let types = text.split_once(" of type").map(|(_, types)| types);
                types.map_or_else(|| text.clone(), |types| format!("must be of type{types}"))
            }
            _ => text(),
        }
    }
}

impl fmt::Display for ViolatedRule<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
