//! Templates inside JSON values: the arguments of a tool, and references to other prompts.

use std::collections::BTreeSet;

use deliberate_core::PromptFence;
use serde_json::{Map, Value};

use crate::{
    model::{Prompt, TemplateSource},
    template::{
        IncludeTarget, TemplateError, TemplateRenderer, TemplateValues, find_includes, lookup,
    },
};

/// Renders the templates in the arguments of a tool. A text that is only one `{{ value }}` becomes
/// that value with its type; any other text becomes text. A null field is dropped.
pub(super) fn render_tool_arguments(
    renderer: &TemplateRenderer,
    arguments: &Value,
    chain: &str,
    values: &TemplateValues,
    fence: &PromptFence,
) -> Result<Value, TemplateError> {
    Ok(match arguments {
        Value::String(text) => {
            if let Some(path) = single_value_path(text) {
                return Ok(lookup(path, values).unwrap_or_default());
            }
            let text = TemplateSource {
                body: text.clone(),
                file: format!("chain {chain}, arguments of a tool"),
                line: 1,
            };
            Value::String(renderer.render(&text, chain, values, fence)?)
        }
        Value::Array(items) => {
            let filled = items
                .iter()
                .map(|item| render_tool_arguments(renderer, item, chain, values, fence));
            Value::Array(filled.collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let mut filled = Map::new();
            for (name, value) in fields {
                let value = render_tool_arguments(renderer, value, chain, values, fence)?;
                if !value.is_null() {
                    filled.insert(name.clone(), value);
                }
            }
            Value::Object(filled)
        }
        other => other.clone(),
    })
}

/// Returns the path in `{{ path }}` if the text contains nothing else.
fn single_value_path(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim();
    let plain = |it: char| it.is_alphanumeric() || matches!(it, '_' | '.');
    (!inner.is_empty() && inner.chars().all(plain)).then_some(inner)
}

/// Returns the names that the templates inside a value use.
pub(super) fn template_names(renderer: &TemplateRenderer, value: &Value) -> BTreeSet<String> {
    match value {
        Value::String(text) => renderer.names_used(&TemplateSource {
            body: text.clone(),
            ..TemplateSource::default()
        }),
        Value::Array(items) => items
            .iter()
            .flat_map(|it| template_names(renderer, it))
            .collect(),
        Value::Object(fields) => fields
            .values()
            .flat_map(|it| template_names(renderer, it))
            .collect(),
        _ => BTreeSet::new(),
    }
}

/// Returns the ids of the prompts that a prompt includes.
pub(super) fn referenced_prompts(prompt: &Prompt) -> Vec<String> {
    let texts = prompt.template.iter().chain(&prompt.system);
    texts
        .flat_map(|text| find_includes(&text.body))
        .filter_map(|found| match found.target {
            IncludeTarget::Prompt(id) => Some(id),
            IncludeTarget::Script { .. } => None,
        })
        .collect()
}
