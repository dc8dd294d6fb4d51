//! Validates values against the schemas of this program itself: those of its tools' arguments and of
//! the answers that it asks models for. Only the values are foreign.

use jsonschema::Validator;
use serde_json::Value;

use crate::{JsonSchemaError, ViolatedRule, has_alternatives};

/// A compiled schema that needs no bounds, because this program made it.
pub struct TrustedSchema {
    validator: Validator,
    has_alternatives: bool,
}

impl TrustedSchema {
    /// Compiles a schema.
    pub fn new(schema: &Value) -> Result<Self, JsonSchemaError> {
        let validator = jsonschema::validator_for(schema)
            .map_err(|error| JsonSchemaError::Invalid(error.to_string()))?;
        Ok(Self {
            validator,
            has_alternatives: has_alternatives(schema),
        })
    }

    /// Returns true if the value violates no rule.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }

    /// Returns the rules that the value violates. All of them are collected before the first can be
    /// read, so a caller bounds the size of the value.
    pub fn violations<'a>(&'a self, value: &'a Value) -> impl Iterator<Item = ViolatedRule<'a>> {
        self.validator.iter_errors(value).map(ViolatedRule)
    }

    /// Returns the first violated rule of a value of any size; none if the schema has alternatives,
    /// because the violation of an alternative contains those of each alternative.
    pub fn first_violation<'a>(&self, value: &'a Value) -> Option<ViolatedRule<'a>> {
        if self.has_alternatives {
            return None;
        }
        self.validator.validate(value).err().map(ViolatedRule)
    }
}
