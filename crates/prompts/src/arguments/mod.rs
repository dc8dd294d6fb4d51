//! Converts the arguments of a call to the values that a prompt is rendered with: types, defaults,
//! rules. Text is passed on unchanged, byte for byte. Knows nothing of templates and never reads
//! environment variables.

mod convert;
mod error;
mod validation;

use std::collections::BTreeMap;

use deliberate_core::did_you_mean;
use deliberate_toolkit::{ComputeError, compute};
use serde_json::{Map, Value};

pub use error::{ArgumentError, describe};

use crate::model::ArgumentDefinition;

/// The most errors that are reported. A caller with more mistakes is helped by the first ones.
const MAX_ERRORS: usize = 10;

/// The most arguments that are checked on the async thread.
const INLINE_MAX_ARGUMENTS: usize = 1_000;

/// Valid arguments, with notes for the caller.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckedArguments {
    /// The values by name, without arguments that were not given and have no default.
    pub values: BTreeMap<String, Value>,
    /// Information for the caller that is not an error.
    pub notes: Vec<String>,
}

/// Validates the arguments given to a prompt and returns all errors at once, up to ten.
///
/// `given` comes with the command and takes precedence over `options`, which supplies missing
/// values. A name that is not declared is an error unless `extra_allowed` says that the prompt uses
/// it. The total size may be at most `most_bytes`.
pub fn check(
    declared: &[ArgumentDefinition],
    given: Map<String, Value>,
    options: &Map<String, Value>,
    extra_allowed: &dyn Fn(&str) -> bool,
    most_bytes: usize,
) -> Result<CheckedArguments, Vec<ArgumentError>> {
    let bytes = total_bytes(&given, most_bytes).saturating_add(total_bytes(options, most_bytes));
    if bytes > most_bytes {
        return Err(vec![ArgumentError::too_many_bytes(most_bytes)]);
    }
    let mut given = given;
    for (name, value) in options {
        if given.get(name).is_none_or(Value::is_null) {
            given.insert(name.clone(), value.clone());
        }
    }
    let mut checked = CheckedArguments::default();
    let mut problems = Vec::new();
    for argument in declared {
        if problems.len() > MAX_ERRORS {
            break;
        }
        let value = given.shift_remove(&argument.name).unwrap_or_default();
        match check_argument(argument, &value, &mut checked.notes) {
            Ok(Some(value)) => {
                checked.values.insert(argument.name.clone(), value);
            }
            Ok(None) => {}
            Err(problem) => problems.push(problem),
        }
    }
    for (name, value) in given {
        if extra_allowed(&name) {
            if !value.is_null() {
                checked.values.insert(name, value);
            }
        } else {
            if problems.len() > MAX_ERRORS {
                break;
            }
            let names = declared.iter().map(|it| it.name.as_str());
            let like = did_you_mean(&name, names.clone());
            problems.push(ArgumentError::unknown(&name, like, names));
        }
    }
    if problems.is_empty() {
        return Ok(checked);
    }
    if problems.len() > MAX_ERRORS {
        problems.truncate(MAX_ERRORS);
        problems.push(ArgumentError::more_errors());
    }
    Err(problems)
}

/// Validates arguments like [`check`], off the runtime if that may take long: one of them has a
/// pattern, or there are many.
pub(crate) async fn check_async(
    declared: Vec<ArgumentDefinition>,
    given: Map<String, Value>,
    options: Map<String, Value>,
    extra_allowed: impl Fn(&str) -> bool + Send + 'static,
    most_bytes: usize,
) -> Result<Result<CheckedArguments, Vec<ArgumentError>>, ComputeError> {
    let has_pattern = |it: &ArgumentDefinition| {
        let rules = it.validation.as_ref();
        rules.is_some_and(|rules| rules.pattern.is_some())
    };
    let is_long =
        given.len() + options.len() > INLINE_MAX_ARGUMENTS || declared.iter().any(has_pattern);
    let work = move || check(&declared, given, &options, &extra_allowed, most_bytes);
    if is_long {
        compute(work).await
    } else {
        Ok(work())
    }
}

/// Returns the value of one argument, or `None` if it is absent.
fn check_argument(
    argument: &ArgumentDefinition,
    given: &Value,
    notes: &mut Vec<String>,
) -> Result<Option<Value>, ArgumentError> {
    if convert::is_missing(argument, given) {
        return match argument.default_value.as_ref().filter(|it| !it.is_null()) {
            // An invalid default is the author's error and not the caller's, so it is used
            // unchanged.
            Some(default) => Ok(Some(
                convert::convert_to_type(argument, default).unwrap_or_else(|_| default.clone()),
            )),
            None if argument.required => Err(ArgumentError::required(argument, given)),
            None => Ok(None),
        };
    }
    let value = convert::convert_to_type(argument, given)?;
    validation::check_rules(argument, &value, notes)?;
    Ok(Some(value))
}

/// Counts the bytes of all arguments; stops when there are too many.
fn total_bytes(given: &Map<String, Value>, most: usize) -> usize {
    let mut total = 0_usize;
    let mut left: Vec<&Value> = Vec::new();
    for (name, value) in given {
        total = total.saturating_add(name.len());
        left.push(value);
    }
    while let Some(value) = left.pop() {
        if total > most {
            break;
        }
        total = total.saturating_add(match value {
            Value::String(text) => text.len(),
            _ => 1,
        });
        match value {
            Value::Array(items) => left.extend(items),
            Value::Object(fields) => {
                total = total.saturating_add(fields.keys().map(String::len).sum());
                left.extend(fields.values());
            }
            _ => {}
        }
    }
    total
}
