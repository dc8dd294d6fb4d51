//! The templates of what was read: whether they can be read themselves, and which names they use
//! that nobody gives them. Renders nothing.

use std::{collections::BTreeSet, sync::Arc};

use regex::Regex;

use super::{
    Problem, Weight,
    sentence::as_sentence,
    unit::{Item, Mention, Mentioned, PromptItem, Unit},
    yaml::Place,
};
use crate::{
    chain::OF_RUNS,
    model::{ChainStep, Kind, Prompt, StepKind, Text},
    template::Renderer,
};

/// The names that the engine gives values to, beside those of runs.
const OF_THE_ENGINE: [&str; 4] = ["steps", "input", "missing", "given"];

/// The most names of one prompt that are told of.
const MOST: usize = 20;

/// Checks the templates of a part. What can't be read is an error of its prompt.
pub(crate) fn check(renderer: &Renderer, unit: &mut Unit) {
    for item in &mut unit.items {
        let Item::Prompt(item) = item else {
            continue;
        };
        let errors = errors(renderer, item);
        if errors.is_empty() {
            note_names(renderer, item);
        } else {
            unit.broken.insert(item.prompt.id.clone());
            unit.problems.extend(errors);
        }
    }
}

/// Takes out what a broken template makes useless, so that its last good form stays in use. One
/// that never had a good form since the start stays: using it tells what is wrong.
pub(crate) fn drop_broken(unit: &mut Unit, old: Option<&Unit>) {
    let was = |id: &String| old.is_some_and(|old| old.broken.contains(id) && has(old, id));
    let dropped: Vec<String> = unit.broken.iter().filter(|id| !was(id)).cloned().collect();
    unit.items.retain(|item| match item {
        Item::Prompt(item) => !dropped.contains(&item.prompt.id),
        _ => true,
    });
}

fn has(unit: &Unit, id: &str) -> bool {
    unit.items
        .iter()
        .any(|item| matches!(item, Item::Prompt(item) if item.prompt.id == id))
}

fn errors(renderer: &Renderer, item: &PromptItem) -> Vec<Problem> {
    let prompt = &item.prompt;
    let given = item.mentions.iter().filter_map(|mention| {
        let is_template = mention.what == Mentioned::GivenText && !is_one_value(&mention.name);
        is_template.then(|| Text {
            body: mention.name.clone(),
            file: mention.file.clone(),
            line: mention.at.map_or(1, |at| at.line),
        })
    });
    texts(prompt)
        .cloned()
        .chain(given)
        .filter_map(|text| renderer.compile_check(&text, &prompt.id))
        .map(|error| Problem {
            weight: Weight::Error,
            file: error.file,
            line: Some(error.line),
            column: error.column,
            kind: Kind::Prompt,
            id: prompt.id.clone(),
            message: as_sentence(&format!("The template can't be read: {}", error.message)),
            help: error.help.as_deref().map(as_sentence),
            last_good_kept: false,
        })
        .collect()
}

/// Whether a text given to a tool is `{{ path }}` and nothing else: it is looked up, not rendered.
fn is_one_value(text: &str) -> bool {
    let inner = text.trim().strip_prefix("{{");
    let inner = inner.and_then(|it| it.strip_suffix("}}")).map(str::trim);
    let plain = |it: char| it.is_alphanumeric() || matches!(it, '_' | '.');
    inner.is_some_and(|inner| !inner.is_empty() && inner.chars().all(plain))
}

fn texts(prompt: &Prompt) -> impl Iterator<Item = &Text> {
    prompt.template.iter().chain(&prompt.system)
}

/// Notes the names that a prompt uses and that nothing of its own gives it.
fn note_names(renderer: &Renderer, item: &mut PromptItem) {
    let noted: Vec<Mention> = undeclared(renderer, &item.prompt)
        .into_iter()
        .map(|(name, file, line)| Mention {
            what: Mentioned::Value,
            name,
            file,
            at: Some(Place { line, column: 1 }),
        })
        .collect();
    if !noted.is_empty() {
        item.mentions = item.mentions.iter().cloned().chain(noted).collect();
    }
}

/// The names that a prompt uses, that it does not declare and does not look for before, each with
/// its file and line.
pub(crate) fn undeclared(renderer: &Renderer, prompt: &Prompt) -> Vec<(String, String, u32)> {
    let mut known: BTreeSet<&str> = prompt.arguments.iter().map(|it| it.name.as_str()).collect();
    for step in &prompt.steps {
        outputs(step, &mut known);
    }
    let mut found: Vec<(String, String, u32)> = Vec::new();
    for text in texts(prompt) {
        for name in renderer.names_used(text) {
            if known.contains(name.as_str())
                || is_of_the_engine(&name)
                || found.iter().any(|(other, ..)| *other == name)
                || texts(prompt).any(|text| is_guarded(&text.body, &name))
            {
                continue;
            }
            let line = line_of(&text.body, &name).saturating_add(text.line.saturating_sub(1));
            found.push((name, text.file.clone(), line));
        }
    }
    found.truncate(MOST);
    found
}

fn outputs<'p>(step: &'p ChainStep, known: &mut BTreeSet<&'p str>) {
    known.extend(step.output.keys().map(String::as_str));
    if let Some(other) = &step.otherwise {
        outputs(other, known);
    }
    if let StepKind::Parallel(inner) = &step.kind {
        for step in inner {
            outputs(step, known);
        }
    }
}

fn is_of_the_engine(name: &str) -> bool {
    let is_result = name
        .strip_prefix("step")
        .and_then(|rest| rest.strip_suffix("_result"))
        .is_some_and(|number| number.bytes().all(|it| it.is_ascii_digit()));
    OF_RUNS.contains(&name)
        || OF_THE_ENGINE.contains(&name)
        || name.starts_with("tool_")
        || is_result
}

/// Whether a template asks if a name has a value, or says what it is if it has none.
fn is_guarded(body: &str, name: &str) -> bool {
    let name = regex::escape(name);
    let guard =
        format!(r"\b{name}\s+is\s+(not\s+)?(un)?defined\b|\b{name}(\.\w+)*\s*\|\s*(default|d)\b");
    Regex::new(&guard).is_ok_and(|guard| guard.is_match(body))
}

/// The line on which a name is used first, from 1.
fn line_of(body: &str, name: &str) -> u32 {
    let used = Regex::new(&format!(r"\{{[{{%][^\n]*\b{}\b", regex::escape(name)));
    let line = body
        .lines()
        .position(|line| used.as_ref().is_ok_and(|used| used.is_match(line)))
        .or_else(|| body.lines().position(|line| line.contains(name)));
    u32::try_from(line.unwrap_or_default() + 1).unwrap_or(u32::MAX)
}

/// The warnings about names that nobody gives. A prompt that is a step of another, or is taken in
/// by one, may get them from there.
pub(crate) fn unknown_names<'p>(
    prompts: impl Iterator<Item = &'p PromptItem> + Clone,
) -> Vec<Problem> {
    let used: BTreeSet<String> = prompts
        .clone()
        .flat_map(|item| item.mentions.iter())
        .filter(|it| matches!(it.what, Mentioned::Step | Mentioned::Reference))
        .map(|it| super::names::plain(&it.name))
        .collect();
    let loose = prompts.filter(|item| !used.contains(&super::names::plain(&item.prompt.id)));
    let mut found = Vec::new();
    for item in loose {
        let values = item
            .mentions
            .iter()
            .filter(|it| it.what == Mentioned::Value);
        for mention in values {
            let help = name_help(&item.prompt, &mention.name);
            found.push(super::cross::problem(
                Weight::Warning,
                Kind::Prompt,
                &item.prompt.id,
                mention,
                format!(
                    "The template uses `{}`, which nothing gives it.",
                    mention.name
                ),
                Some(help),
            ));
        }
    }
    found
}

/// What to do about a name that is not declared.
pub(crate) fn name_help(prompt: &Prompt, name: &str) -> String {
    let known = prompt.arguments.iter().map(|it| it.name.as_str());
    deliberate_core::nearest(name, known).map_or_else(
        || format!("Declare `{name}` among the arguments, or test it with `is defined`."),
        |near| format!("Did you mean `{near}`?"),
    )
}

/// A part of the library for which the templates were looked at later.
pub(crate) fn checked(renderer: &Renderer, unit: &Arc<Unit>) -> Option<Arc<Unit>> {
    if !unit
        .items
        .iter()
        .any(|item| matches!(item, Item::Prompt(_)))
    {
        return None;
    }
    let mut unit = Unit::clone(unit);
    check(renderer, &mut unit);
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
        assert_eq!(line_of("the x\n\n{{ a }} {{ x }}", "x"), 3);
    }

    #[test]
    fn the_engine_gives_some_names() {
        for name in [
            "steps",
            "step12_result",
            "tool_lint",
            "previous_step_output",
        ] {
            assert!(is_of_the_engine(name), "{name}");
        }
        assert!(!is_of_the_engine("step_result_x") && !is_of_the_engine("stepx_result"));
    }
}
