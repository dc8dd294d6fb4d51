//! Whatever schema another server sends and whatever value is checked against it: no panic, bounded
//! work, few violations, and one verdict. `scripts/fuzz` limits time and memory.
//!
//! The first line of an input is the schema, the rest the value.
#![no_main]

use deliberate_json_schema::{JsonSchemaValidator, MAX_VIOLATIONS};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// The most characters that are told of a value or a rule.
const MAX_TOLD_CHARS: usize = 240;

fuzz_target!(|text: &str| {
    let (schema, value) = text.split_once('\n').unwrap_or((text, "null"));
    let Ok(schema) = serde_json::from_str::<Value>(schema) else {
        return;
    };
    let validator = match JsonSchemaValidator::new(&schema) {
        Ok(validator) => validator,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    // The schema itself is a value with every keyword in it.
    let value = serde_json::from_str(value).unwrap_or_else(|_| schema.clone());
    let violations = validator.check(&value);
    assert!(violations.len() <= MAX_VIOLATIONS);
    assert_eq!(
        validator.accepts(&value),
        violations.is_empty(),
        "{violations:?}"
    );
    for violation in &violations {
        assert!(
            violation.rule.chars().count() <= MAX_TOLD_CHARS,
            "{violation:?}"
        );
        assert!(
            violation.value.chars().count() <= MAX_TOLD_CHARS,
            "{violation:?}"
        );
    }
});
