//! What is wrong with an argument: one sentence that names it, the rule, the value and what to do,
//! and how to call again. Knows nothing of how it was found.

use deliberate_core::did_you_mean;
use serde_json::Value;

use crate::model::{ArgumentDefinition, ArgumentType};

/// Characters of a value that are shown.
const MAX_VALUE_CHARS: usize = 80;

/// Something wrong with an argument.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ArgumentError {
    /// The argument; empty if it is about all of them.
    pub argument: String,
    /// What is wrong and what to do, in one sentence.
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
            "the arguments have more than {most} bytes together, which is the most that is taken; \
             shorten them, or name a file instead of its text"
        );
        Self::new("", message)
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
            None if declared.is_empty() => "it takes none".to_owned(),
            None => format!("it takes {}", declared.join(", ")),
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
            Some(text) if !text.is_empty() => format!(" ({})", truncate(text)),
            _ => String::new(),
        };
        let name = &argument.name;
        let message = format!("`{name}`{what} is required and {how}; give it a value");
        Self::new(name, message)
    }

    pub(super) fn wrong_type(argument: &ArgumentDefinition, given: &Value) -> Self {
        let (must, next) = match argument.kind {
            ArgumentType::String => ("be text", "write it as text"),
            ArgumentType::Number => ("be a number", "write one, such as 3 or 2.5"),
            ArgumentType::Boolean => ("be true or false", "write `true` or `false`"),
            ArgumentType::Array => ("be a list", "write a JSON array, or entries with commas"),
            ArgumentType::Object => ("be an object", "write a JSON object, such as {\"a\": 1}"),
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
            None => "choose one of them".to_owned(),
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
        let shown = truncate(&given.to_string());
        Self::new(name, format!("`{name}` {rule}, but is {shown}; {next}"))
    }
}

/// All that is wrong, one line each, and how to call again.
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

/// What a value could look like.
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

fn truncate(text: &str) -> String {
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or(text)),
        None => text.to_owned(),
    }
}
