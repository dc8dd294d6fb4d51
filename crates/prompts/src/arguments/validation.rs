//! The validation rules of an argument: allowed values, a pattern, lengths. Knows nothing of types.

use serde_json::Value;

use super::ArgumentError;
use crate::{gate::pattern_matches, model::ArgumentDefinition};

/// Checks a value against the rules of its argument.
pub(super) fn check_rules(
    argument: &ArgumentDefinition,
    value: &Value,
    notes: &mut Vec<String>,
) -> Result<(), ArgumentError> {
    check_allowed_values(argument, value)?;
    let Some(rules) = &argument.validation else {
        return Ok(());
    };
    let (length, unit) = match value {
        Value::Array(items) => (items.len(), "entries"),
        other => (value_text(other).chars().count(), "characters"),
    };
    if let Some(least) = rules.min_length.filter(|least| length < *least) {
        let rule = format!("must have at least {least} {unit} (it has {length})");
        return Err(ArgumentError::rule_violation(
            argument,
            &rule,
            value,
            "make it longer",
        ));
    }
    if let Some(most) = rules.max_length.filter(|most| length > *most) {
        let rule = format!("must have at most {most} {unit} (it has {length})");
        return Err(ArgumentError::rule_violation(
            argument,
            &rule,
            value,
            "shorten it",
        ));
    }
    match &rules.pattern {
        Some(pattern) => check_pattern(argument, pattern, value, notes),
        None => Ok(()),
    }
}

fn check_allowed_values(argument: &ArgumentDefinition, value: &Value) -> Result<(), ArgumentError> {
    let mut allowed = argument.allowed_values.as_slice();
    if let (true, Some(rules)) = (allowed.is_empty(), &argument.validation) {
        allowed = &rules.allowed_values;
    }
    if allowed.is_empty() {
        return Ok(());
    }
    let fits = |value: &Value| {
        let text = value_text(value);
        allowed
            .iter()
            .any(|one| one == value || value_text(one) == text)
    };
    let wrong = match value {
        Value::Array(items) => items.iter().find(|item| !fits(item)),
        other => Some(other).filter(|value| !fits(value)),
    };
    match wrong {
        None => Ok(()),
        Some(wrong) => Err(ArgumentError::not_allowed(argument, wrong, allowed)),
    }
}

fn check_pattern(
    argument: &ArgumentDefinition,
    pattern: &str,
    value: &Value,
    notes: &mut Vec<String>,
) -> Result<(), ArgumentError> {
    // Patterns of arguments distinguish upper and lower case.
    let exact = format!("(?-i:{pattern})");
    let mut values = match value {
        Value::Array(items) => items.as_slice(),
        other => std::slice::from_ref(other),
    }
    .iter();
    let wrong = loop {
        let Some(value) = values.next() else {
            break None;
        };
        match pattern_matches(&exact, &value_text(value)) {
            Ok(true) => {}
            Ok(false) => break Some(value),
            Err(_) => {
                notes.push(format!(
                    "the pattern of `{}` was not applied because it uses unsupported syntax or \
                     takes too long; write it without look-ahead, look-behind, backreferences or \
                     large repetitions",
                    argument.name
                ));
                break None;
            }
        }
    };
    match wrong {
        None => Ok(()),
        Some(wrong) => {
            let shown: String = pattern.chars().take(80).collect();
            let rule = format!("must match the pattern `{shown}`");
            let next = "give a value that matches";
            Err(ArgumentError::rule_violation(argument, &rule, wrong, next))
        }
    }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
