//! Who uses a thing. Looks at the library and at nothing else.

use crate::{
    library::{Library, same},
    model::{ChainStep, Kind, Prompt, StepKind},
    template::{Target, plan_refs},
};

/// Who uses a thing, each as `prompt x`.
pub(super) fn users(library: &Library, kind: Kind, id: &str) -> Vec<String> {
    let prompts = library
        .prompts
        .values()
        .filter(|prompt| !prompt.id.eq_ignore_ascii_case(id) || kind != Kind::Prompt)
        .filter(|prompt| match kind {
            Kind::Prompt => mentioned(prompt).iter().any(|name| same(name, id)),
            Kind::Gate => gates_of(prompt).iter().any(|name| same(name, id)),
            _ => false,
        })
        .map(|prompt| format!("prompt {}", prompt.id));
    let methodologies = library
        .methodologies
        .values()
        .filter(|it| kind == Kind::Gate && it.gates.include.iter().any(|gate| same(gate, id)))
        .map(|it| format!("methodology {}", it.id));
    let gates = library
        .gates
        .values()
        .filter(|gate| {
            kind == Kind::Methodology
                && gate
                    .activation
                    .as_ref()
                    .is_some_and(|when| when.framework_context.iter().any(|name| same(name, id)))
        })
        .map(|gate| format!("gate {}", gate.id));
    prompts.chain(methodologies).chain(gates).collect()
}

/// The prompts that a prompt takes in or has as steps.
fn mentioned(prompt: &Prompt) -> Vec<String> {
    let mut names = steps_of(prompt);
    names.extend(references_of(prompt));
    names
}

/// The prompts that are steps of a prompt.
pub(super) fn steps_of(prompt: &Prompt) -> Vec<String> {
    let mut names = Vec::new();
    for step in &prompt.steps {
        step_names(step, &mut names);
    }
    names
}

/// The prompts that a prompt takes in.
pub(super) fn references_of(prompt: &Prompt) -> Vec<String> {
    [&prompt.template, &prompt.system]
        .into_iter()
        .flatten()
        .flat_map(|text| taken_in(&text.body))
        .collect()
}

/// The prompts that a template takes in.
pub(super) fn taken_in(template: &str) -> impl Iterator<Item = String> {
    plan_refs(template)
        .into_iter()
        .filter_map(|reference| match reference.target {
            Target::Prompt(id) => Some(id),
            Target::Script { .. } => None,
        })
}

/// All gates that a prompt names.
pub(super) fn gates_of(prompt: &Prompt) -> Vec<&str> {
    fn of_step<'s>(step: &'s ChainStep, names: &mut Vec<&'s str>) {
        names.extend(step.gates.iter().map(String::as_str));
        if let StepKind::Parallel(inner) = &step.kind {
            for step in inner {
                of_step(step, names);
            }
        }
        if let Some(otherwise) = &step.otherwise {
            of_step(otherwise, names);
        }
    }
    let mut names: Vec<&str> = prompt.gates.include.iter().map(String::as_str).collect();
    for step in &prompt.steps {
        of_step(step, &mut names);
    }
    names
}

fn step_names(step: &ChainStep, names: &mut Vec<String>) {
    match &step.kind {
        StepKind::Prompt { id } => names.push(id.clone()),
        StepKind::Parallel(inner) => inner.iter().for_each(|step| step_names(step, names)),
        StepKind::Tool { .. } => {}
    }
    if let Some(otherwise) = &step.otherwise {
        step_names(otherwise, names);
    }
}
