//! Finds the dependents of a resource. Uses only the library.

use crate::{
    library::{PromptLibrary, is_same_name},
    model::{ChainStep, LibraryItemKind, Prompt, StepKind},
    template::{IncludeTarget, find_includes},
};

/// Returns the dependents of a resource, each like `prompt x`.
pub(crate) fn find_dependents(
    library: &PromptLibrary,
    kind: LibraryItemKind,
    id: &str,
) -> Vec<String> {
    let prompts = library
        .prompts
        .values()
        .filter(|prompt| !prompt.id.eq_ignore_ascii_case(id) || kind != LibraryItemKind::Prompt)
        .filter(|prompt| match kind {
            LibraryItemKind::Prompt => referenced_prompts(prompt)
                .iter()
                .any(|name| is_same_name(name, id)),
            LibraryItemKind::Gate => prompt_gates(prompt)
                .iter()
                .any(|name| is_same_name(name, id)),
            _ => false,
        })
        .map(|prompt| format!("prompt {}", prompt.id));
    let methodologies = library
        .methodologies
        .values()
        .filter(|it| {
            kind == LibraryItemKind::Gate
                && it.gates.include.iter().any(|gate| is_same_name(gate, id))
        })
        .map(|it| format!("methodology {}", it.id));
    let gates = library
        .gates
        .values()
        .filter(|gate| {
            kind == LibraryItemKind::Methodology
                && gate.activation.as_ref().is_some_and(|when| {
                    when.framework_context
                        .iter()
                        .any(|name| is_same_name(name, id))
                })
        })
        .map(|gate| format!("gate {}", gate.id));
    prompts.chain(methodologies).chain(gates).collect()
}

/// Returns the prompts that a prompt includes or has as steps.
fn referenced_prompts(prompt: &Prompt) -> Vec<String> {
    let mut names = step_prompts(prompt);
    names.extend(included_prompts(prompt));
    names
}

/// Returns the prompts that are steps of a prompt.
pub(crate) fn step_prompts(prompt: &Prompt) -> Vec<String> {
    let mut names = Vec::new();
    for step in &prompt.steps {
        collect_step_prompts(step, &mut names);
    }
    names
}

/// Returns the prompts that a prompt includes.
pub(crate) fn included_prompts(prompt: &Prompt) -> Vec<String> {
    [&prompt.template, &prompt.system]
        .into_iter()
        .flatten()
        .flat_map(|text| template_includes(&text.body))
        .collect()
}

/// Returns the prompts that a template includes.
pub(crate) fn template_includes(template: &str) -> impl Iterator<Item = String> {
    find_includes(template)
        .into_iter()
        .filter_map(|reference| match reference.target {
            IncludeTarget::Prompt(id) => Some(id),
            IncludeTarget::Script { .. } => None,
        })
}

/// Returns all gates that a prompt names.
pub(crate) fn prompt_gates(prompt: &Prompt) -> Vec<&str> {
    fn collect_step_gates<'s>(step: &'s ChainStep, names: &mut Vec<&'s str>) {
        names.extend(step.gates.iter().map(String::as_str));
        if let StepKind::Parallel(inner) = &step.kind {
            for step in inner {
                collect_step_gates(step, names);
            }
        }
        if let Some(otherwise) = &step.otherwise {
            collect_step_gates(otherwise, names);
        }
    }
    let mut names: Vec<&str> = prompt.gates.include.iter().map(String::as_str).collect();
    for step in &prompt.steps {
        collect_step_gates(step, &mut names);
    }
    names
}

fn collect_step_prompts(step: &ChainStep, names: &mut Vec<String>) {
    match &step.kind {
        StepKind::Prompt { id } => names.push(id.clone()),
        StepKind::Parallel(inner) => inner
            .iter()
            .for_each(|step| collect_step_prompts(step, names)),
        StepKind::Tool { .. } => {}
    }
    if let Some(otherwise) = &step.otherwise {
        collect_step_prompts(otherwise, names);
    }
}
