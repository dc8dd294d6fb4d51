//! Templates inside of values: the arguments of a tool, and what prompts refer to.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::{
    model::{Prompt, Text},
    template::{Renderer, Target, TemplateError, Values, lookup, plan_refs},
};

/// The arguments of a tool with their templates filled in. A text that is one value and nothing
/// else becomes that value, whatever it is; any other becomes text. One that is absent is left out.
pub(super) fn arguments_of_tool(
    renderer: &Renderer,
    arguments: &Value,
    chain: &str,
    values: &Values,
) -> Result<Value, TemplateError> {
    Ok(match arguments {
        Value::String(text) => {
            if let Some(path) = only_value(text) {
                return Ok(lookup(path, values).unwrap_or_default());
            }
            let text = Text {
                body: text.clone(),
                file: format!("chain {chain}, arguments of a tool"),
                line: 1,
            };
            Value::String(renderer.render(&text, chain, values)?)
        }
        Value::Array(items) => {
            let filled = items
                .iter()
                .map(|item| arguments_of_tool(renderer, item, chain, values));
            Value::Array(filled.collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let mut filled = Map::new();
            for (name, value) in fields {
                let value = arguments_of_tool(renderer, value, chain, values)?;
                if !value.is_null() {
                    filled.insert(name.clone(), value);
                }
            }
            Value::Object(filled)
        }
        other => other.clone(),
    })
}

/// The path in `{{ path }}`, if that is all there is.
fn only_value(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim();
    let plain = |it: char| it.is_alphanumeric() || matches!(it, '_' | '.');
    (!inner.is_empty() && inner.chars().all(plain)).then_some(inner)
}

/// The names that the templates inside of a value use.
pub(super) fn names_in(renderer: &Renderer, value: &Value) -> BTreeSet<String> {
    match value {
        Value::String(text) => renderer.names_used(&Text {
            body: text.clone(),
            ..Text::default()
        }),
        Value::Array(items) => items.iter().flat_map(|it| names_in(renderer, it)).collect(),
        Value::Object(fields) => fields
            .values()
            .flat_map(|it| names_in(renderer, it))
            .collect(),
        _ => BTreeSet::new(),
    }
}

/// The prompts that a prompt puts into its text.
pub(super) fn refers_to(prompt: &Prompt) -> Vec<String> {
    let texts = prompt.template.iter().chain(&prompt.system);
    texts
        .flat_map(|text| plan_refs(&text.body))
        .filter_map(|found| match found.target {
            Target::Prompt(id) => Some(id),
            Target::Script { .. } => None,
        })
        .collect()
}
