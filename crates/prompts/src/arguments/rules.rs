//! The rules an author set for an argument: allowed values, a pattern, lengths. Patterns take time
//! by the length of the text and no more, however they are written. Knows nothing of types.

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, PoisonError},
};

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::ArgumentProblem;
use crate::model::Argument;

/// Bytes that a pattern may take when it is ready to be used.
const PATTERN_BYTES: usize = 2 << 20;

/// Patterns that are kept ready.
const PATTERNS_KEPT: usize = 256;

/// Whether a value keeps the rules of its argument.
pub(super) fn keep(
    argument: &Argument,
    value: &Value,
    notes: &mut Vec<String>,
) -> Result<(), ArgumentProblem> {
    allowed(argument, value)?;
    let Some(rules) = &argument.validation else {
        return Ok(());
    };
    let (length, unit) = match value {
        Value::Array(items) => (items.len(), "entries"),
        other => (text_of(other).chars().count(), "characters"),
    };
    if let Some(least) = rules.min_length.filter(|least| length < *least) {
        let rule = format!("needs at least {least} {unit} and has {length}");
        return Err(ArgumentProblem::broken(argument, &rule, value, "give more"));
    }
    if let Some(most) = rules.max_length.filter(|most| length > *most) {
        let rule = format!("may have at most {most} {unit} and has {length}");
        return Err(ArgumentProblem::broken(
            argument,
            &rule,
            value,
            "shorten it",
        ));
    }
    match &rules.pattern {
        Some(pattern) => matches(argument, pattern, value, notes),
        None => Ok(()),
    }
}

fn allowed(argument: &Argument, value: &Value) -> Result<(), ArgumentProblem> {
    let mut allowed = argument.allowed_values.as_slice();
    if let (true, Some(rules)) = (allowed.is_empty(), &argument.validation) {
        allowed = &rules.allowed_values;
    }
    if allowed.is_empty() {
        return Ok(());
    }
    let fits = |value: &Value| {
        let text = text_of(value);
        allowed
            .iter()
            .any(|one| one == value || text_of(one) == text)
    };
    let wrong = match value {
        Value::Array(items) => items.iter().find(|item| !fits(item)),
        other => Some(other).filter(|value| !fits(value)),
    };
    match wrong {
        None => Ok(()),
        Some(wrong) => Err(ArgumentProblem::not_allowed(argument, wrong, allowed)),
    }
}

fn matches(
    argument: &Argument,
    pattern: &str,
    value: &Value,
    notes: &mut Vec<String>,
) -> Result<(), ArgumentProblem> {
    let Some(regex) = compiled(pattern) else {
        notes.push(format!(
            "the pattern of `{}` was not applied, because it uses what patterns can't have here; \
             write it without looking ahead or back",
            argument.name
        ));
        return Ok(());
    };
    let wrong = match value {
        Value::Array(items) => items.iter().find(|item| !regex.is_match(&text_of(item))),
        other => Some(other).filter(|value| !regex.is_match(&text_of(value))),
    };
    match wrong {
        None => Ok(()),
        Some(wrong) => {
            let shown: String = pattern.chars().take(80).collect();
            let rule = format!("must match the pattern `{shown}`");
            let next = "give a value that does";
            Err(ArgumentProblem::broken(argument, &rule, wrong, next))
        }
    }
}

/// A pattern, ready to be used; nothing if it can't be.
fn compiled(pattern: &str) -> Option<Regex> {
    static READY: LazyLock<Mutex<HashMap<String, Option<Regex>>>> = LazyLock::new(Mutex::default);
    let find = || READY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = find().get(pattern) {
        return found.clone();
    }
    let regex = RegexBuilder::new(pattern)
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES)
        .build()
        .ok();
    let mut ready = find();
    if ready.len() >= PATTERNS_KEPT {
        ready.clear();
    }
    ready.insert(pattern.to_owned(), regex.clone());
    regex
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
