//! Validates the templates of the library: their syntax, and the names they use that have no value.
//! Renders nothing.

use std::{collections::BTreeSet, sync::Arc};

use regex::Regex;

use super::message_text::as_sentence;
use crate::{
    chain::RUN_VALUE_NAMES,
    library::{
        LibraryProblem, ProblemSeverity,
        part::{LibraryItem, LibraryPart, NameReference, NameReferenceKind, PromptItem},
        yaml::SourcePosition,
    },
    model::{ChainStep, LibraryItemKind, Prompt, StepKind, TemplateSource},
    template::TemplateRenderer,
};

/// The names that the engine sets, besides those of chain runs.
const ENGINE_NAMES: [&str; 4] = ["steps", "input", "missing", "given"];

/// The maximum number of names per prompt that are reported.
const MAX_WARNINGS: usize = 20;

/// Checks the templates of a part. An invalid template is an error of its prompt.
pub(crate) fn check_part(renderer: &TemplateRenderer, unit: &mut LibraryPart) {
    for item in &mut unit.items {
        let LibraryItem::Prompt(item) = item else {
            continue;
        };
        let errors = template_errors(renderer, item);
        if errors.is_empty() {
            collect_undeclared(renderer, item);
        } else {
            unit.broken_templates.insert(item.prompt.id.clone());
            unit.problems.extend(errors);
        }
    }
}

/// Removes prompts with an invalid template, so that their last good version stays in use. A prompt
/// that was never valid since the start stays: using it reports the error.
pub(crate) fn drop_broken(unit: &mut LibraryPart, old: Option<&LibraryPart>) {
    let was = |id: &String| {
        old.is_some_and(|old| old.broken_templates.contains(id) && has_prompt(old, id))
    };
    let dropped: Vec<String> = unit
        .broken_templates
        .iter()
        .filter(|id| !was(id))
        .cloned()
        .collect();
    unit.items.retain(|item| match item {
        LibraryItem::Prompt(item) => !dropped.contains(&item.prompt.id),
        _ => true,
    });
}

fn has_prompt(unit: &LibraryPart, id: &str) -> bool {
    unit.items
        .iter()
        .any(|item| matches!(item, LibraryItem::Prompt(item) if item.prompt.id == id))
}

fn template_errors(renderer: &TemplateRenderer, item: &PromptItem) -> Vec<LibraryProblem> {
    let prompt = &item.prompt;
    let given = item.references.iter().filter_map(|mention| {
        let is_template =
            mention.kind == NameReferenceKind::ArgumentText && !is_single_value(&mention.name);
        is_template.then(|| TemplateSource {
            body: mention.name.clone(),
            file: mention.file.clone(),
            line: mention.position.map_or(1, |at| at.line),
        })
    });
    template_texts(prompt)
        .cloned()
        .chain(given)
        .filter_map(|text| renderer.compile_check(&text, &prompt.id))
        .map(|error| LibraryProblem {
            weight: ProblemSeverity::Error,
            file: error.file,
            line: Some(error.line),
            column: error.column,
            kind: LibraryItemKind::Prompt,
            id: prompt.id.clone(),
            message: as_sentence(&format!("The template is invalid: {}", error.message)),
            help: error.help.as_deref().map(as_sentence),
            last_good_kept: false,
        })
        .collect()
}

/// Returns whether a tool argument is only `{{ path }}`, which is looked up and not rendered.
fn is_single_value(text: &str) -> bool {
    let inner = text.trim().strip_prefix("{{");
    let inner = inner.and_then(|it| it.strip_suffix("}}")).map(str::trim);
    let plain = |it: char| it.is_alphanumeric() || matches!(it, '_' | '.');
    inner.is_some_and(|inner| !inner.is_empty() && inner.chars().all(plain))
}

fn template_texts(prompt: &Prompt) -> impl Iterator<Item = &TemplateSource> {
    prompt.template.iter().chain(&prompt.system)
}

/// Collects the names that a prompt uses but does not define.
fn collect_undeclared(renderer: &TemplateRenderer, item: &mut PromptItem) {
    let noted: Vec<NameReference> = undeclared_names(renderer, &item.prompt)
        .into_iter()
        .map(|(name, file, line)| NameReference {
            kind: NameReferenceKind::TemplateName,
            name,
            file,
            position: Some(SourcePosition { line, column: 1 }),
        })
        .collect();
    if !noted.is_empty() {
        item.references = item.references.iter().cloned().chain(noted).collect();
    }
}

/// Returns the names that a prompt uses without declaring or testing them, each with its file and
/// line.
pub(crate) fn undeclared_names(
    renderer: &TemplateRenderer,
    prompt: &Prompt,
) -> Vec<(String, String, u32)> {
    let mut known: BTreeSet<&str> = prompt.arguments.iter().map(|it| it.name.as_str()).collect();
    for step in &prompt.steps {
        collect_outputs(step, &mut known);
    }
    let mut found: Vec<(String, String, u32)> = Vec::new();
    for text in template_texts(prompt) {
        for name in renderer.names_used(text) {
            if known.contains(name.as_str())
                || is_engine_name(&name)
                || found.iter().any(|(other, ..)| *other == name)
                || template_texts(prompt).any(|text| is_guarded(&text.body, &name))
            {
                continue;
            }
            let line = line_of_name(&text.body, &name).saturating_add(text.line.saturating_sub(1));
            found.push((name, text.file.clone(), line));
        }
    }
    found.truncate(MAX_WARNINGS);
    found
}

fn collect_outputs<'p>(step: &'p ChainStep, known: &mut BTreeSet<&'p str>) {
    known.extend(step.output.keys().map(String::as_str));
    if let Some(other) = &step.otherwise {
        collect_outputs(other, known);
    }
    if let StepKind::Parallel(inner) = &step.kind {
        for step in inner {
            collect_outputs(step, known);
        }
    }
}

fn is_engine_name(name: &str) -> bool {
    let is_result = name
        .strip_prefix("step")
        .and_then(|rest| rest.strip_suffix("_result"))
        .is_some_and(|number| number.bytes().all(|it| it.is_ascii_digit()));
    RUN_VALUE_NAMES.contains(&name)
        || ENGINE_NAMES.contains(&name)
        || name.starts_with("tool_")
        || is_result
}

/// Returns whether a template tests a name or gives it a default.
fn is_guarded(body: &str, name: &str) -> bool {
    let name = regex::escape(name);
    let guard =
        format!(r"\b{name}\s+is\s+(not\s+)?(un)?defined\b|\b{name}(\.\w+)*\s*\|\s*(default|d)\b");
    Regex::new(&guard).is_ok_and(|guard| guard.is_match(body))
}

/// Returns the line on which a name is used first, from 1.
fn line_of_name(body: &str, name: &str) -> u32 {
    let used = Regex::new(&format!(r"\{{[{{%][^\n]*\b{}\b", regex::escape(name)));
    let line = body
        .lines()
        .position(|line| used.as_ref().is_ok_and(|used| used.is_match(line)))
        .or_else(|| body.lines().position(|line| line.contains(name)));
    u32::try_from(line.unwrap_or_default() + 1).unwrap_or(u32::MAX)
}

/// Returns the warnings about names without a value. A prompt that is a step of another prompt, or
/// is included in one, is skipped, because it may get its values there.
pub(crate) fn unknown_name_problems<'p>(
    prompts: impl Iterator<Item = &'p PromptItem> + Clone,
) -> Vec<LibraryProblem> {
    let used: BTreeSet<String> = prompts
        .clone()
        .flat_map(|item| item.references.iter())
        .filter(|it| {
            matches!(
                it.kind,
                NameReferenceKind::Step | NameReferenceKind::Include
            )
        })
        .map(|it| crate::library::id_grammar::normalize_name(&it.name))
        .collect();
    let loose = prompts.filter(|item| {
        !used.contains(&crate::library::id_grammar::normalize_name(&item.prompt.id))
    });
    let mut found = Vec::new();
    for item in loose {
        let values = item
            .references
            .iter()
            .filter(|it| it.kind == NameReferenceKind::TemplateName);
        for mention in values {
            let help = name_help(&item.prompt, &mention.name);
            found.push(super::cross_references::reference_problem(
                ProblemSeverity::Warning,
                LibraryItemKind::Prompt,
                &item.prompt.id,
                mention,
                format!("The template uses `{}`, which has no value.", mention.name),
                Some(help),
            ));
        }
    }
    found
}

/// Returns the help text for a name that is not declared.
pub(crate) fn name_help(prompt: &Prompt, name: &str) -> String {
    let known = prompt.arguments.iter().map(|it| it.name.as_str());
    deliberate_core::did_you_mean(name, known).map_or_else(
        || format!("Declare `{name}` as an argument, or test it with `is defined`."),
        |near| format!("Did you mean `{near}`?"),
    )
}

/// Checks the templates of a part that was read without this check.
pub(crate) fn recheck_part(
    renderer: &TemplateRenderer,
    unit: &Arc<LibraryPart>,
) -> Option<Arc<LibraryPart>> {
    if !unit
        .items
        .iter()
        .any(|item| matches!(item, LibraryItem::Prompt(_)))
    {
        return None;
    }
    let mut unit = LibraryPart::clone(unit);
    check_part(renderer, &mut unit);
    Some(Arc::new(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_tested_first_is_guarded() {
        assert!(is_guarded("{% if x is defined %}{{ x }}{% endif %}", "x"));
        assert!(is_guarded("{% if x is not defined %}", "x"));
        assert!(is_guarded("{{ x | default('a') }}", "x"));
        assert!(is_guarded("{{ x.y|d(1) }}", "x"));
        assert!(!is_guarded("{{ x }}{{ yx | default('a') }}", "x"));
        assert_eq!(line_of_name("the x\n\n{{ a }} {{ x }}", "x"), 3);
    }

    #[test]
    fn the_engine_gives_some_names() {
        for name in [
            "steps",
            "step12_result",
            "tool_lint",
            "previous_step_output",
        ] {
            assert!(is_engine_name(name), "{name}");
        }
        assert!(!is_engine_name("step_result_x") && !is_engine_name("stepx_result"));
    }
}
