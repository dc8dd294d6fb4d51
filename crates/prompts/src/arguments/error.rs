//! Argument errors: one sentence with the argument, the rule, the value and the next step, and an
//! example of a correct call. Knows nothing of how an error is detected.

use deliberate_core::{did_you_mean, ellipsize};
use serde_json::Value;

use crate::model::{ArgumentDefinition, ArgumentType};

/// The maximum number of characters of a value in a message.
const MAX_VALUE_CHARS: usize = 80;

/// An invalid, missing or unknown argument.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ArgumentError {
    /// The name of the argument; empty if the error is about all of them.
    pub argument: String,
    /// The error and the next step, in one sentence.
    pub message: String,
}

impl ArgumentError {
    fn new(argument: &str, message: String) -> Self {
        Self {
            argument: argument.to_owned(),
            message,
        }
    }

    pub(super) fn too_many_bytes(most: usize) -> Self {
        let message = format!(
            "the arguments exceed the limit of {most} bytes in total; \
             shorten them, or pass a file name instead of its text"
        );
        Self::new("", message)
    }

    pub(super) fn more_errors() -> Self {
        let message = "there are more errors than are shown; correct these first";
        Self::new("", message.to_owned())
    }

    pub(super) fn unknown<'a>(
        name: &str,
        like: Option<String>,
        declared: impl Iterator<Item = &'a str>,
    ) -> Self {
        let shown: String = name.chars().take(MAX_VALUE_CHARS).collect();
        let declared: Vec<String> = declared.map(|it| format!("`{it}`")).collect();
        let next = match like {
            Some(like) => format!("did you mean `{like}`?"),
            None if declared.is_empty() => "it has no arguments".to_owned(),
            None => format!("its arguments are {}", declared.join(", ")),
        };
        let message = format!("`{shown}` is not an argument of this prompt; {next}");
        Self::new(name, message)
    }

    pub(super) fn required(argument: &ArgumentDefinition, given: &Value) -> Self {
        let how = if given.is_null() {
            "not given"
        } else {
            "blank"
        };
        let what = match argument.description.as_deref().map(str::trim) {
            Some(text) if !text.is_empty() => format!(" ({})", ellipsize(text, MAX_VALUE_CHARS)),
            _ => String::new(),
        };
        let name = &argument.name;
        let message = format!("`{name}`{what} is required but {how}; give it a value");
        Self::new(name, message)
    }

    pub(super) fn wrong_type(argument: &ArgumentDefinition, given: &Value) -> Self {
        let (must, next) = match argument.kind {
            ArgumentType::String => ("be text", "pass it as text"),
            ArgumentType::Number => ("be a number", "pass a number such as 3 or 2.5"),
            ArgumentType::Boolean => ("be true or false", "pass `true` or `false`"),
            ArgumentType::Array => (
                "be a list",
                "pass a JSON array, or entries separated by commas",
            ),
            ArgumentType::Object => ("be an object", "pass a JSON object such as {\"a\": 1}"),
        };
        Self::rule_violation(argument, &format!("must {must}"), given, next)
    }

    pub(super) fn not_allowed(
        argument: &ArgumentDefinition,
        given: &Value,
        allowed: &[Value],
    ) -> Self {
        let names: Vec<String> = allowed.iter().map(display_value).collect();
        let rule = format!("must be one of {}", names.join(", "));
        let near = did_you_mean(&display_value(given), names.iter().map(String::as_str));
        let next = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "use one of them".to_owned(),
        };
        Self::rule_violation(argument, &rule, given, &next)
    }

    pub(super) fn rule_violation(
        argument: &ArgumentDefinition,
        rule: &str,
        given: &Value,
        next: &str,
    ) -> Self {
        let name = &argument.name;
        let text = ellipsize(&given.to_string(), MAX_VALUE_CHARS);
        Self::new(name, format!("`{name}` {rule}, but is {text}; {next}"))
    }
}

/// Lists all errors, one line each, and an example of a correct call.
pub fn describe(
    prompt_id: &str,
    declared: &[ArgumentDefinition],
    problems: &[ArgumentError],
) -> String {
    let mut lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    if problems.iter().all(|problem| problem.argument.is_empty()) {
        return lines.join("\n");
    }
    let wanted: Vec<String> = declared
        .iter()
        .filter(|argument| {
            let wrong = problems.iter().any(|it| it.argument == argument.name);
            wrong || argument.required
        })
        .map(|argument| format!("{}:\"{}\"", argument.name, example(argument)))
        .collect();
    let wanted = wanted.join(" ");
    let again = format!("Call again with: >>{prompt_id} {wanted}");
    lines.push(again.trim_end().to_owned());
    lines.join("\n")
}

/// Returns an example value.
fn example(argument: &ArgumentDefinition) -> String {
    let rules = argument.validation.as_ref();
    let allowed = argument
        .allowed_values
        .first()
        .or_else(|| rules.and_then(|rules| rules.allowed_values.first()));
    match (allowed, argument.kind) {
        (Some(value), _) => display_value(value),
        (None, ArgumentType::Number) => "1".to_owned(),
        (None, ArgumentType::Boolean) => "true".to_owned(),
        (None, ArgumentType::Array) => "first, second".to_owned(),
        (None, ArgumentType::Object | ArgumentType::String) => "…".to_owned(),
    }
}

fn display_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
