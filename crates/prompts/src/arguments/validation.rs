//! The validation rules of an argument: allowed values, a pattern, lengths. Matching a pattern
//! takes time linear in the text, whatever the pattern. Knows nothing of types.

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, PoisonError},
};

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::ArgumentError;
use crate::model::ArgumentDefinition;

/// The maximum size of a compiled pattern in bytes.
const MAX_PATTERN_BYTES: usize = 2 << 20;

/// The maximum number of compiled patterns in the cache.
const MAX_CACHED_PATTERNS: usize = 256;

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
    let Some(regex) = compile_pattern(pattern) else {
        notes.push(format!(
            "the pattern of `{}` was not applied because it uses unsupported syntax; \
             write it without look-ahead, look-behind or backreferences",
            argument.name
        ));
        return Ok(());
    };
    let wrong = match value {
        Value::Array(items) => items.iter().find(|item| !regex.is_match(&value_text(item))),
        other => Some(other).filter(|value| !regex.is_match(&value_text(value))),
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

/// Returns the compiled pattern from the cache, or `None` if it is not a valid pattern.
fn compile_pattern(pattern: &str) -> Option<Regex> {
    static CACHE: LazyLock<Mutex<HashMap<String, Option<Regex>>>> = LazyLock::new(Mutex::default);
    let find = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = find().get(pattern) {
        return found.clone();
    }
    let regex = RegexBuilder::new(pattern)
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES)
        .build()
        .ok();
    let mut ready = find();
    if ready.len() >= MAX_CACHED_PATTERNS {
        ready.clear();
    }
    ready.insert(pattern.to_owned(), regex.clone());
    regex
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
