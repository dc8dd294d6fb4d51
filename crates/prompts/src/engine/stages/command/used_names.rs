//! Finds the names that the templates of a command's prompts use. Authors decide how long compiling
//! their templates takes, so only small ones are compiled on the async thread.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    sync::Arc,
};

use deliberate_toolkit::ToolError;

use crate::{
    engine::{
        EngineContext,
        context::ResolvedStage,
        value_templates::{referenced_prompts, template_names},
    },
    library::PromptLibrary,
    model::{ChainStep, Prompt, StepKind},
    template::TemplateRenderer,
};

/// The most bytes of templates that are compiled on the async thread.
const INLINE_MAX_BYTES: usize = 4 << 10;

/// The names that the templates of prompts use, by the id of the prompt.
pub(super) type UsedNames = BTreeMap<String, BTreeSet<String>>;

/// Returns the names that the prompts of all stages use.
pub(super) async fn used_names(
    context: &EngineContext<'_>,
    stages: &[ResolvedStage],
) -> Result<UsedNames, ToolError> {
    let steps = stages
        .iter()
        .flat_map(|stage| stage.then.iter().chain(&stage.otherwise));
    let prompts: BTreeMap<String, Arc<Prompt>> = steps
        .map(|step| (step.prompt.id.clone(), step.prompt.clone()))
        .collect();
    let library = context.library.clone();
    let is_small = are_small(&library, prompts.values());
    let work = move |renderer: &TemplateRenderer| -> UsedNames {
        let names = prompts
            .into_iter()
            .map(|(id, prompt)| (id, names_of_prompt(renderer, &library, &prompt)));
        names.collect()
    };
    if is_small {
        return Ok(work(&context.engine.renderer));
    }
    let work = move |renderer: &TemplateRenderer| Ok::<_, Infallible>(work(renderer));
    context.engine.render(work, |never| match *never {}).await
}

/// Tells whether the templates of prompts and of their includes are small together. A chain counts as
/// large.
fn are_small<'p>(
    library: &'p PromptLibrary,
    prompts: impl Iterator<Item = &'p Arc<Prompt>>,
) -> bool {
    let mut seen = BTreeSet::new();
    let mut bytes = 0_usize;
    let mut todo: Vec<&Arc<Prompt>> = prompts.collect();
    while let Some(prompt) = todo.pop() {
        if !seen.insert(prompt.id.as_str()) {
            continue;
        }
        let texts = prompt.template.iter().chain(&prompt.system);
        bytes = texts.fold(bytes, |bytes, text| bytes.saturating_add(text.body.len()));
        if prompt.is_chain() || bytes > INLINE_MAX_BYTES {
            return false;
        }
        let included = referenced_prompts(prompt);
        todo.extend(included.iter().filter_map(|id| library.prompt(id)));
    }
    true
}

/// Returns the names that the templates of a prompt use, and those of the steps of a chain.
fn names_of_prompt(
    renderer: &TemplateRenderer,
    library: &PromptLibrary,
    prompt: &Prompt,
) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut seen = BTreeSet::new();
    collect_names(renderer, library, prompt, &mut seen, &mut names);
    names
}

fn collect_names(
    renderer: &TemplateRenderer,
    library: &PromptLibrary,
    prompt: &Prompt,
    seen: &mut BTreeSet<String>,
    names: &mut BTreeSet<String>,
) {
    if !seen.insert(prompt.id.clone()) {
        return;
    }
    // An invalid template is reported when it is rendered.
    names.extend(renderer.names_used_by(library, prompt).unwrap_or_default());
    for step in &prompt.steps {
        collect_step_names(renderer, library, step, seen, names);
    }
}

fn collect_step_names(
    renderer: &TemplateRenderer,
    library: &PromptLibrary,
    step: &ChainStep,
    seen: &mut BTreeSet<String>,
    names: &mut BTreeSet<String>,
) {
    names.extend(step.input.values().cloned());
    match &step.kind {
        StepKind::Prompt { id } => {
            if let Some(prompt) = library.prompt(id) {
                collect_names(renderer, library, prompt, seen, names);
            }
        }
        StepKind::Tool { arguments, .. } => {
            names.extend(template_names(renderer, arguments));
        }
        StepKind::Parallel(steps) => {
            for step in steps {
                collect_step_names(renderer, library, step, seen, names);
            }
        }
    }
    if let Some(otherwise) = &step.otherwise {
        collect_step_names(renderer, library, otherwise, seen, names);
    }
}
