//! Completes an argument of a prompt: with the values that the prompt allows, or with ids of the
//! kind that the argument's name refers to.

use deliberate_toolkit::{CompletionRequest, CompletionValues};
use serde_json::Value;

use crate::{
    library::PromptLibrary,
    model::{ArgumentDefinition, ArgumentType, Prompt},
};

/// The maximum number of values in one response.
const MAX_VALUES: usize = 100;

pub(super) fn complete_argument(
    library: &PromptLibrary,
    prompt: &Prompt,
    typed: CompletionRequest<'_>,
) -> CompletionValues {
    let Some(argument) = prompt.arguments.iter().find(|it| it.name == typed.argument) else {
        return CompletionValues::default();
    };
    let wanted = typed.text.to_lowercase();
    let mut values = candidate_values(library, argument);
    values.retain(|value| value.to_lowercase().starts_with(&wanted));
    let more = values.len() > MAX_VALUES;
    values.truncate(MAX_VALUES);
    CompletionValues {
        values,
        has_more: more,
    }
}

fn candidate_values(library: &PromptLibrary, argument: &ArgumentDefinition) -> Vec<String> {
    let older = argument.validation.iter().flat_map(|it| &it.allowed_values);
    let allowed: Vec<String> = argument
        .allowed_values
        .iter()
        .chain(older)
        .map(value_text)
        .collect();
    if !allowed.is_empty() {
        return allowed;
    }
    if argument.kind == ArgumentType::Boolean {
        return vec!["true".to_owned(), "false".to_owned()];
    }
    let name = argument.name.to_lowercase();
    let name = name.strip_suffix("_id").unwrap_or(&name);
    match name {
        "prompt" | "chain" => library.prompts.keys().cloned().collect(),
        "gate" => library.gates.keys().cloned().collect(),
        "methodology" | "framework" => library.methodologies.keys().cloned().collect(),
        "style" => library.styles.keys().cloned().collect(),
        "category" => library.categories.keys().cloned().collect(),
        _ => Vec::new(),
    }
}

fn value_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
