//! Validates values against a schema of another server. The schema refers to nothing outside
//! itself, its patterns never backtrack, and an unusable schema is reported once.

use jsonschema::{PatternOptions, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;

use super::{
    MAX_JSON_DEPTH,
    draft::SchemaDraft,
    references, truncate_at_word,
    validation_cost::{CountedSchemas, count_evaluations},
};

/// The maximum number of violations that are reported at once.
pub const MAX_VIOLATIONS: usize = 10;

/// The maximum size of a compiled pattern in bytes.
const MAX_PATTERN_BYTES: usize = 256 << 10;

/// The maximum number of characters that are shown of a value or a rule.
const MAX_SHOWN_CHARS: usize = 120;

/// The maximum nesting depth of arguments.
const MAX_ARGUMENT_DEPTH: usize = 128;

/// The maximum number of schemas that are applied to one value, counted for the worst case.
const MAX_EVALUATIONS: u64 = 100_000;

/// The maximum number of paths through the alternatives of a schema when violations are collected.
const MAX_ERROR_PATHS: u64 = 20_000;

/// The assumed fan-out of a schema whose references cannot be followed here.
const DEFAULT_FANOUT: u64 = 8;

/// The reason why a schema cannot be used for validation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonSchemaError {
    /// The schema is nested too deeply.
    #[error(
        "the schema is nested deeper than {MAX_JSON_DEPTH} levels; ask its server to flatten it"
    )]
    TooDeep,
    /// The schema's parts refer to each other so often that validating one value would take too
    /// long.
    #[error(
        "the schema's parts refer to each other in cycles or too often to be checked in time; ask its server to simplify it"
    )]
    TooExpensive,
    /// The schema violates the rules of JSON Schema or refers to something outside itself.
    #[error("the schema cannot be used: {0}")]
    Invalid(String),
}

/// A rule that a value violates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaViolation {
    /// The location as a JSON pointer; empty for the root.
    pub path: String,
    /// The violated keyword.
    pub keyword: String,
    /// The rule in words.
    pub rule: String,
    /// The value, shortened.
    pub value: String,
}

impl std::fmt::Display for SchemaViolation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = if self.path.is_empty() {
            "the arguments"
        } else {
            &self.path
        };
        write!(f, "{place}: {} (given: {})", self.rule, self.value)
    }
}

/// Validates values against one schema.
#[derive(Debug)]
pub struct JsonSchemaValidator {
    validator: Validator,
    /// The maximum number of schemas that are applied from one level of a value to the next.
    fanout: u64,
}

impl JsonSchemaValidator {
    /// Compiles a schema for many validations.
    pub fn new(schema: &Value) -> Result<Self, JsonSchemaError> {
        if references::depth(schema, MAX_JSON_DEPTH) > MAX_JSON_DEPTH {
            return Err(JsonSchemaError::TooDeep);
        }
        let draft = SchemaDraft::detect(schema);
        let known = references::SchemaRefs::new(schema, draft.has_legacy_id);
        if count_evaluations(&known, CountedSchemas::Any, MAX_EVALUATIONS) > MAX_EVALUATIONS {
            return Err(JsonSchemaError::TooExpensive);
        }
        let spread = if known.many_resources {
            DEFAULT_FANOUT
        } else {
            count_evaluations(&known, CountedSchemas::Descending, MAX_EVALUATIONS)
        };
        let patterns = PatternOptions::regex()
            .size_limit(MAX_PATTERN_BYTES)
            .dfa_size_limit(MAX_PATTERN_BYTES);
        let validator = jsonschema::options()
            .offline()
            .with_pattern_options(patterns)
            .build(schema)
            .map_err(|error| JsonSchemaError::Invalid(truncate_at_word(&error.to_string(), 300)))?;
        Ok(Self {
            validator,
            fanout: spread,
        })
    }

    /// Returns the rules that the value violates, up to [`MAX_VIOLATIONS`]; none if it is valid.
    pub fn check(&self, value: &Value) -> Vec<SchemaViolation> {
        if references::depth(value, MAX_ARGUMENT_DEPTH) > MAX_ARGUMENT_DEPTH {
            return vec![SchemaViolation {
                path: String::new(),
                keyword: "depth".to_owned(),
                rule: format!("must not be nested deeper than {MAX_ARGUMENT_DEPTH} levels"),
                value: "…".to_owned(),
            }];
        }
        // Valid values are the common case, and faster to recognize.
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        if self.is_too_expensive(value) {
            return vec![SchemaViolation {
                path: String::new(),
                keyword: "schema".to_owned(),
                rule: "must match the schema, which has too many alternatives to say where it does not"
                    .to_owned(),
                value: truncate_at_word(&value.to_string(), MAX_SHOWN_CHARS),
            }];
        }
        let errors = self.validator.iter_errors(value);
        let told = errors
            .filter(|error| !is_false_missing(error))
            .take(MAX_VIOLATIONS);
        told.map(|error| to_violation(&error)).collect()
    }

    /// Returns true if collecting the violations of this value could take too long: unlike the
    /// verdict, they are collected again for every alternative at every level.
    fn is_too_expensive(&self, value: &Value) -> bool {
        let levels = references::depth(value, MAX_ARGUMENT_DEPTH);
        let levels = u32::try_from(levels).unwrap_or(u32::MAX);
        self.fanout.max(1).saturating_pow(levels) > MAX_ERROR_PATHS
    }

    /// Returns true if the value is valid.
    pub fn accepts(&self, value: &Value) -> bool {
        references::depth(value, MAX_ARGUMENT_DEPTH) <= MAX_ARGUMENT_DEPTH
            && self.validator.is_valid(value)
    }
}

/// Detects a false report: in a closed object the library also reports an undescribed field that is
/// present as missing.
fn is_false_missing(error: &ValidationError<'_>) -> bool {
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            error.instance().get(name).is_some()
        }
        _ => false,
    }
}

fn to_violation(error: &ValidationError<'_>) -> SchemaViolation {
    SchemaViolation {
        path: error.instance_path().as_str().to_owned(),
        keyword: error.kind().keyword().to_owned(),
        rule: rule_text(error),
        value: truncate_at_word(&error.instance().to_string(), MAX_SHOWN_CHARS),
    }
}

fn rule_text(error: &ValidationError<'_>) -> String {
    use ValidationErrorKind as Kind;
    let said = match error.kind() {
        Kind::Minimum { limit } => format!("must be at least {limit}"),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::MinLength { limit } => format!("must have at least {limit} characters"),
        Kind::MaxLength { limit } => format!("must have at most {limit} characters"),
        Kind::MinItems { limit } => format!("must have at least {limit} items"),
        Kind::MaxItems { limit } => format!("must have at most {limit} items"),
        Kind::Enum { options } => format!("must be one of {options}"),
        Kind::Pattern { pattern } => format!("must match the pattern {pattern}"),
        Kind::Required { property } => format!("must have the field {property}"),
        Kind::AdditionalProperties { unexpected } => {
            format!("must not have the fields {}", unexpected.join(", "))
        }
        // The library's text begins with the value, which is shown separately.
        _ => error.masked_with("it").to_string(),
    };
    truncate_at_word(&said, MAX_SHOWN_CHARS * 2)
}
