//! Arguments checked against a schema. The schema is another server's work: it refers to nothing
//! outside itself, its patterns never backtrack, and one that can't be used says so once.

use jsonschema::{PatternOptions, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;

use super::{
    DEEPEST_JSON,
    draft::Draft,
    looks::{Look, looks},
    refs, words,
};

/// The most faults that are told at once.
pub const MOST_FAULTS: usize = 10;

/// The most bytes a pattern may be read into.
const LARGEST_PATTERN: usize = 256 << 10;

/// The most characters of a value or a rule that are shown.
const LONGEST_SHOWN: usize = 120;

/// How deep arguments may be nested.
const DEEPEST_ARGUMENTS: usize = 128;

/// How many schemas may look at one and the same value. What is counted is the worst case.
const MOST_LOOKS: u64 = 100_000;

/// How many ways through the forms of a schema may be gone to tell faults.
const MOST_GATHERED: u64 = 20_000;

/// What is taken for the spread of a schema whose references can't be followed here.
const UNKNOWN_SPREAD: u64 = 8;

/// Why a schema can't be used to check anything.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaFault {
    /// It is nested too deep.
    #[error("the schema is nested deeper than {DEEPEST_JSON} levels; ask its server to flatten it")]
    TooDeep,
    /// Its parts refer to each other so often that checking one value would take too long.
    #[error(
        "the schema's parts refer to each other in circles or too often to be checked in time; ask its server to simplify it"
    )]
    TooManyLooks,
    /// It breaks the rules of JSON Schema, or refers to something outside itself.
    #[error("the schema can't be used: {0}")]
    Broken(String),
}

/// One rule that a value breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where, as a JSON pointer; empty for the top.
    pub path: String,
    /// The keyword that is broken.
    pub keyword: String,
    /// The rule in words.
    pub rule: String,
    /// The value, shortened.
    pub value: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = if self.path.is_empty() {
            "the arguments"
        } else {
            &self.path
        };
        write!(f, "{place}: {} (given: {})", self.rule, self.value)
    }
}

/// Checks values against one schema.
#[derive(Debug)]
pub struct Checker {
    validator: Validator,
    /// How many schemas look from one level of a value into the next, at most.
    spread: u64,
}

impl Checker {
    /// Reads the schema once, for many checks.
    pub fn new(schema: &Value) -> Result<Self, SchemaFault> {
        if refs::depth(schema, DEEPEST_JSON) > DEEPEST_JSON {
            return Err(SchemaFault::TooDeep);
        }
        let draft = Draft::of(schema);
        let known = refs::Refs::of(schema, draft.id_is_plain);
        if looks(&known, Look::Any, MOST_LOOKS) > MOST_LOOKS {
            return Err(SchemaFault::TooManyLooks);
        }
        let spread = if known.many_resources {
            UNKNOWN_SPREAD
        } else {
            looks(&known, Look::Inward, MOST_LOOKS)
        };
        let patterns = PatternOptions::regex()
            .size_limit(LARGEST_PATTERN)
            .dfa_size_limit(LARGEST_PATTERN);
        let validator = jsonschema::options()
            .offline()
            .with_pattern_options(patterns)
            .build(schema)
            .map_err(|error| SchemaFault::Broken(words::cut(&error.to_string(), 300)))?;
        Ok(Self { validator, spread })
    }

    /// Every rule the value breaks, up to [`MOST_FAULTS`]; none if it passes.
    pub fn check(&self, value: &Value) -> Vec<Fault> {
        if refs::depth(value, DEEPEST_ARGUMENTS) > DEEPEST_ARGUMENTS {
            return vec![Fault {
                path: String::new(),
                keyword: "depth".to_owned(),
                rule: format!("must not be nested deeper than {DEEPEST_ARGUMENTS} levels"),
                value: "…".to_owned(),
            }];
        }
        // Passing is the common case, and quicker to tell.
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        if self.is_tangled(value) {
            return vec![Fault {
                path: String::new(),
                keyword: "schema".to_owned(),
                rule: "must match the schema, which has too many forms to say where it doesn't"
                    .to_owned(),
                value: words::cut(&value.to_string(), LONGEST_SHOWN),
            }];
        }
        let errors = self.validator.iter_errors(value);
        let told = errors.filter(|error| !is_met(error)).take(MOST_FAULTS);
        told.map(|error| fault(&error)).collect()
    }

    /// Whether telling the faults of this value could take too long: unlike the answer itself,
    /// faults are gathered anew for every form at every level.
    fn is_tangled(&self, value: &Value) -> bool {
        let levels = refs::depth(value, DEEPEST_ARGUMENTS);
        let levels = u32::try_from(levels).unwrap_or(u32::MAX);
        self.spread.max(1).saturating_pow(levels) > MOST_GATHERED
    }

    /// Whether the value passes.
    pub fn accepts(&self, value: &Value) -> bool {
        refs::depth(value, DEEPEST_ARGUMENTS) <= DEEPEST_ARGUMENTS && self.validator.is_valid(value)
    }
}

/// In a closed object the library also tells a field as missing that is there but not described.
fn is_met(error: &ValidationError<'_>) -> bool {
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            error.instance().get(name).is_some()
        }
        _ => false,
    }
}

fn fault(error: &ValidationError<'_>) -> Fault {
    Fault {
        path: error.instance_path().as_str().to_owned(),
        keyword: error.kind().keyword().to_owned(),
        rule: rule(error),
        value: words::cut(&error.instance().to_string(), LONGEST_SHOWN),
    }
}

fn rule(error: &ValidationError<'_>) -> String {
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
        // The library's text begins with the value, which is shown apart.
        _ => error.masked_with("it").to_string(),
    };
    words::cut(&said, LONGEST_SHOWN * 2)
}
