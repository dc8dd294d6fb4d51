//! Validates values against a schema of another server. The schema refers to nothing outside
//! itself, its patterns never backtrack, and an unusable schema is reported once.

use std::borrow::Cow;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::{
    MAX_JSON_DEPTH, ViolatedRule, ViolationKind,
    draft::SchemaDraft,
    has_alternatives,
    large_integers::{has_marks, round_large_integers},
    patterns::{MAX_ALL_PATTERNS_BYTES, MAX_PATTERNS, has_too_many_patterns},
    references, truncate_at_word,
    validation_cost::{count_evaluations, count_references},
    value_size::{copied_sizes, value_size},
    work::{TooMuchWork, ValidationWork, count_work},
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

/// The maximum number of parts with a URI of their own: each of them may be what a reference means.
const MAX_RESOURCES: usize = 64;

/// The maximum work of one verdict: about a tenth of a second.
const MAX_WORK: u64 = 2_000_000;

/// The maximum work of a quick verdict: less than a millisecond.
const MAX_QUICK_WORK: u64 = 5_000;

/// The maximum size of a schema with quick verdicts: counting their work reads all of it.
const MAX_QUICK_SCHEMA_SIZE: usize = 10_000;

/// The maximum work of a validation whose violations are collected. Each violation of an alternative
/// is a value of its own until the first ten are chosen, so this bounds memory, too.
const MAX_WORK_WITH_VIOLATIONS: u64 = 50_000;

/// The maximum work of a schema with alternatives, times the number of values: the violation of each
/// alternative holds a copy of the value until the first ten are chosen.
const MAX_COPIED_VALUES: u64 = 2_000_000;

/// The maximum size of the rules that a compiled schema copies: each `const`, `enum` and `not`, once
/// for every reference that leads to it.
const MAX_COPIED_RULES: usize = 2_000_000;

/// The reason why a schema cannot be used for validation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonSchemaError {
    /// The schema is nested too deeply.
    #[error(
        "the schema is nested deeper than {MAX_JSON_DEPTH} levels; ask its server to flatten it"
    )]
    TooDeep,
    /// The schema's parts refer to each other so often that validating one value would take too
    /// long, or it has so many patterns that compiling them would.
    #[error(
        "the schema's parts refer to each other in cycles or too often to be checked in time, or it has more than {MAX_PATTERNS} different patterns or {} KiB of them; simplify it, or ask its server to",
        MAX_ALL_PATTERNS_BYTES >> 10
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
    schema: Value,
    validator: Validator,
    has_legacy_id: bool,
    has_alternatives: bool,
    is_small: bool,
}

impl JsonSchemaValidator {
    /// Compiles a schema for many validations.
    pub fn new(schema: &Value) -> Result<Self, JsonSchemaError> {
        if references::depth(schema, MAX_JSON_DEPTH) > MAX_JSON_DEPTH {
            return Err(JsonSchemaError::TooDeep);
        }
        let has_legacy_id = SchemaDraft::detect(schema).has_legacy_id;
        let refs = references::SchemaRefs::new(schema, has_legacy_id);
        if refs.resource_count() > MAX_RESOURCES || has_too_many_patterns(schema) {
            return Err(JsonSchemaError::TooExpensive);
        }
        let evaluations = count_evaluations(&refs, MAX_EVALUATIONS);
        if evaluations > MAX_EVALUATIONS || copies_too_much(schema, evaluations) {
            return Err(JsonSchemaError::TooExpensive);
        }
        let patterns = PatternOptions::regex()
            .size_limit(MAX_PATTERN_BYTES)
            .dfa_size_limit(MAX_PATTERN_BYTES);
        let validator = jsonschema::options()
            .offline()
            .with_pattern_options(patterns)
            .build(schema)
            .map_err(|error| JsonSchemaError::Invalid(truncate_at_word(&error.to_string(), 300)))?;
        Ok(Self {
            schema: schema.clone(),
            validator,
            has_legacy_id,
            has_alternatives: has_alternatives(schema),
            is_small: value_size(schema) <= MAX_QUICK_SCHEMA_SIZE,
        })
    }

    /// Returns the rules that the value violates, up to [`MAX_VIOLATIONS`]; none if it is valid.
    pub fn check(&self, value: &Value) -> Vec<SchemaViolation> {
        let value = &*rounded(value);
        if references::depth(value, MAX_ARGUMENT_DEPTH) > MAX_ARGUMENT_DEPTH {
            return vec![SchemaViolation {
                path: String::new(),
                keyword: "depth".to_owned(),
                rule: format!("must not be nested deeper than {MAX_ARGUMENT_DEPTH} levels"),
                value: "…".to_owned(),
            }];
        }
        let Ok(work) = self.count_work(value) else {
            return vec![whole_value_violation(
                value,
                "is too large to be checked against this schema; send less at once",
            )];
        };
        // Valid values are the common case, and faster to recognize.
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        let size = u64::try_from(value_size(value)).unwrap_or(u64::MAX);
        let copied_values = if self.has_alternatives {
            work.steps.saturating_mul(size)
        } else {
            0
        };
        let copies = copied_values.saturating_add(work.copied);
        if work.steps > MAX_WORK_WITH_VIOLATIONS || copies > MAX_COPIED_VALUES {
            return vec![whole_value_violation(
                value,
                "must match the schema, which has too many or too large rules to say where it does not",
            )];
        }
        let violated = self.validator.iter_errors(value).map(ViolatedRule);
        let told = violated
            .filter(|violated| !is_false_missing(violated))
            .take(MAX_VIOLATIONS);
        told.map(|violated| to_violation(&violated)).collect()
    }

    /// Returns true if the value is valid. A value that would take too long to check is not.
    pub fn accepts(&self, value: &Value) -> bool {
        let value = &*rounded(value);
        references::depth(value, MAX_ARGUMENT_DEPTH) <= MAX_ARGUMENT_DEPTH
            && self.count_work(value).is_ok()
            && self.validator.is_valid(value)
    }

    /// Returns true if checking the value takes so little time that an asynchronous task may do it.
    pub fn is_quick(&self, value: &Value) -> bool {
        // Values that are nested too deeply are refused before anything else is done.
        references::depth(value, MAX_ARGUMENT_DEPTH) > MAX_ARGUMENT_DEPTH
            || (self.is_small && self.count_work_up_to(value, MAX_QUICK_WORK).is_ok())
    }

    fn count_work(&self, value: &Value) -> Result<ValidationWork, TooMuchWork> {
        self.count_work_up_to(value, MAX_WORK)
    }

    fn count_work_up_to(&self, value: &Value, most: u64) -> Result<ValidationWork, TooMuchWork> {
        let refs = references::SchemaRefs::new(&self.schema, self.has_legacy_id);
        count_work(&refs, value, most)
    }
}

/// Tells whether compiling a schema would copy more than is allowed.
fn copies_too_much(schema: &Value, evaluations: u64) -> bool {
    let (largest, total) = copied_sizes(schema, MAX_COPIED_RULES);
    let repeated = usize::try_from(evaluations).unwrap_or(usize::MAX);
    let repeated = repeated.max(count_references(schema));
    total.max(largest.saturating_mul(repeated)) > MAX_COPIED_RULES
}

/// Returns the value with numbers in place of the marks of large integers.
fn rounded(value: &Value) -> Cow<'_, Value> {
    if !has_marks(value) {
        return Cow::Borrowed(value);
    }
    let mut rounded = value.clone();
    round_large_integers(&mut rounded);
    Cow::Owned(rounded)
}

/// The violation of a value whose faulty part is not known.
fn whole_value_violation(value: &Value, rule: &str) -> SchemaViolation {
    SchemaViolation {
        path: String::new(),
        keyword: "schema".to_owned(),
        rule: rule.to_owned(),
        value: shown_value(value),
    }
}

/// Shows the beginning of a value. Only as much of it is written as is shown.
fn shown_value(value: &Value) -> String {
    match value {
        Value::Array(items) if items.len() > MAX_SHOWN_CHARS => {
            format!("a list of {}", items.len())
        }
        Value::Object(fields) if fields.len() > MAX_SHOWN_CHARS => {
            format!("an object with {} fields", fields.len())
        }
        value => truncate_at_word(&value.to_string(), MAX_SHOWN_CHARS),
    }
}

/// Detects a false report: in a closed object the library also reports an undescribed field that is
/// present as missing.
fn is_false_missing(violated: &ViolatedRule<'_>) -> bool {
    match violated.kind() {
        ViolationKind::MissingField(name) => violated.value().get(name).is_some(),
        _ => false,
    }
}

fn to_violation(violated: &ViolatedRule<'_>) -> SchemaViolation {
    SchemaViolation {
        path: violated.path().to_owned(),
        keyword: violated.0.kind().keyword().to_owned(),
        rule: truncate_at_word(&violated.rule(), MAX_SHOWN_CHARS * 2),
        value: shown_value(violated.value()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn violations_do_not_copy_a_large_rule_again_and_again() {
        let large = vec![1; 100_000];
        for rule in [
            json!({ "not": { "type": "integer", "x": large } }),
            json!({ "const": large }),
            json!({ "enum": [large] }),
        ] {
            let validator = JsonSchemaValidator::new(&json!({ "items": rule })).unwrap();
            let many = validator.check(&json!(vec![1; 400]));
            assert!(many[0].rule.contains("too large rules"), "{many:?}");
            assert_eq!(validator.check(&json!([1]))[0].path, "/0");
        }
    }

    #[test]
    fn schemas_that_copy_a_large_rule_again_and_again_are_refused() {
        let large = vec![1; 300_000];
        let mut nested = json!({ "enum": [large] });
        for _ in 0..150 {
            nested = json!({ "not": nested });
        }
        let references = vec![json!({ "$ref": "#/$defs/large" }); 100];
        let repeated = json!({ "$defs": { "large": { "const": large } }, "allOf": references });
        for schema in [nested, repeated] {
            let refused = JsonSchemaValidator::new(&schema).unwrap_err();
            assert_eq!(refused, JsonSchemaError::TooExpensive);
        }
        let names: Vec<String> = (0..2_000).map(|at| format!("name {at}")).collect();
        let honest = json!({
            "$defs": { "name": { "enum": names } },
            "properties": { "a": { "$ref": "#/$defs/name" }, "b": { "$ref": "#/$defs/name" } },
        });
        let validator = JsonSchemaValidator::new(&honest).unwrap();
        assert!(
            validator
                .check(&json!({ "a": "name 7", "b": "name 1999" }))
                .is_empty()
        );
        let wrong = validator.check(&json!({ "a": "name 7", "b": "other" }));
        assert_eq!(wrong[0].path, "/b", "{wrong:?}");
    }

    #[test]
    fn a_verdict_is_quick_if_schema_and_value_are_small() {
        let is_quick = |rules: usize, value: &Value| {
            let rule = json!({ "type": "string" });
            let properties: serde_json::Map<String, Value> = (0..rules)
                .map(|at| (format!("p{at}"), rule.clone()))
                .collect();
            let schema = json!({ "properties": properties, "items": rule });
            JsonSchemaValidator::new(&schema).unwrap().is_quick(value)
        };
        assert!(is_quick(10, &json!({ "p1": "x" })));
        assert!(!is_quick(10, &json!(vec!["x"; 10_000])));
        assert!(!is_quick(10_000, &json!({ "p1": "x" })));
    }

    #[test]
    fn violations_of_many_alternatives_do_not_copy_a_large_value() {
        let leaf = json!({ "type": "string" });
        let schema = (0..9).fold(leaf, |inner, _| json!({ "anyOf": [inner, inner] }));
        let validator = JsonSchemaValidator::new(&schema).unwrap();
        let large = validator.check(&json!(vec![-1; 17_000]));
        assert!(
            large[0].rule.contains("too many or too large rules"),
            "{large:?}"
        );
        let small = validator.check(&json!([-1]));
        assert_eq!(small[0].keyword, "anyOf", "{small:?}");
    }
}
