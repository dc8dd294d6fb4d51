//! Prompts: a folder with `prompt.yaml` and all below it, or one file with everything in it.

use std::sync::Arc;

use super::{category, legacy, mentions, script, steps};
use crate::{
    library::{
        Problem, Weight, names,
        sheet::{Desk, GRAMMAR, Sheet, join, shorten},
        tree::What,
        unit::{Item, Mention, PromptItem, Unit},
    },
    model::{Argument, Delegation, GateConfiguration, InjectionRules, Kind, Prompt, Text},
};

/// The main file of a prompt that is a folder.
pub(crate) const MAIN: [&str; 2] = ["prompt.yaml", "prompt.yml"];

/// The folder with the tools of a prompt.
const TOOLS: &str = "tools";

/// Files that are no prompts.
const NOT_PROMPTS: [&str; 3] = ["prompts", "category", "prompt"];

/// What the file may say.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PromptFile {
    id: String,
    name: String,
    description: String,
    category: Option<String>,
    user_message_template: Option<String>,
    user_message_template_file: Option<String>,
    system_message: Option<String>,
    system_message_file: Option<String>,
    arguments: Vec<Argument>,
    chain_steps: Vec<steps::StepFile>,
    gate_configuration: GateConfiguration,
    register_with_mcp: Option<bool>,
    tools: Vec<String>,
    injection: InjectionRules,
    subagent_model: Option<String>,
    agent_type: Option<String>,
    creates: Option<Kind>,
}

/// Reads what stands at a path below the prompts: a prompt with all below it, a folder that
/// groups prompts, a single file, or the description of a category.
pub(super) fn read_unit(desk: Desk<'_>, path: &str, unit: &mut Unit) {
    let (category, inner) = match path.split_once('/') {
        Some((category, inner)) => (category, inner),
        None => ("general", path),
    };
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    match desk.root.tree.look(path) {
        Some(What::Folder) => walk(desk, category, path, inner, 0, unit),
        Some(What::File | What::Link) if is_category_file(inner) => {
            category::read(desk, folder, inner, unit);
        }
        Some(What::Link) if desk.root.tree.real(path).is_dir() => {
            unit.problems.push(linked(desk, path, inner));
        }
        Some(What::File | What::Link | What::Other) => {
            single(desk, category, folder, inner, "", unit);
        }
        None => {}
    }
}

fn is_category_file(name: &str) -> bool {
    matches!(name, "category.yaml" | "category.yml")
}

/// Reads a folder and all below it; `id` is the whole id that it stands for.
fn walk(desk: Desk<'_>, category: &str, path: &str, id: &str, depth: usize, unit: &mut Unit) {
    let last = id.rsplit('/').next().unwrap_or(id);
    let refused = if !names::is_segment(last) {
        Some((
            format!("The folder `{}` can't be an id.", shorten(last)),
            GRAMMAR,
        ))
    } else if depth > desk.limits.depth {
        let message = format!(
            "Prompts stand more than {} deep in prompts.",
            desk.limits.depth
        );
        Some((message, "Move it up."))
    } else {
        None
    };
    if let Some((message, help)) = refused {
        unit.problems.push(at_path(desk, path, id, message, help));
        return;
    }
    let entries = desk.root.tree.list(path);
    let main = MAIN.into_iter().find(|main| {
        entries
            .iter()
            .any(|entry| entry.name == *main && entry.what != What::Folder)
    });
    if let Some(file) = main {
        let has_tools = entries
            .iter()
            .any(|entry| entry.name == TOOLS && entry.what == What::Folder);
        folder_form(desk, category, path, file, id, has_tools, unit);
    }
    for entry in entries {
        if unit.files > desk.limits.files {
            return;
        }
        let inner = join(path, &entry.name);
        match entry.what {
            What::Folder if main.is_some() && entry.name == TOOLS => {}
            What::Folder => {
                walk(
                    desk,
                    category,
                    &inner,
                    &join(id, &entry.name),
                    depth + 1,
                    unit,
                );
            }
            What::Link if desk.root.tree.real(&inner).is_dir() => {
                unit.problems
                    .push(linked(desk, &inner, &join(id, &entry.name)));
            }
            _ if main.is_none() => single(desk, category, path, &entry.name, id, unit),
            _ => {}
        }
    }
}

/// A problem with a folder rather than with a file of it.
fn at_path(desk: Desk<'_>, path: &str, id: &str, message: String, help: &str) -> Problem {
    Problem {
        weight: Weight::Error,
        file: desk.root.named(path),
        line: None,
        column: None,
        kind: Kind::Prompt,
        id: id.to_owned(),
        message,
        help: Some(help.to_owned()),
        last_good_kept: false,
    }
}

fn linked(desk: Desk<'_>, path: &str, id: &str) -> Problem {
    let message = "Links to folders are not followed.".to_owned();
    at_path(desk, path, id, message, "Put the folder itself there.")
}

/// A prompt that is a folder, with the tools it owns.
fn folder_form(
    desk: Desk<'_>,
    category: &str,
    folder: &str,
    file: &str,
    id: &str,
    has_tools: bool,
    unit: &mut Unit,
) {
    let mut owned = Vec::new();
    let tools = join(folder, TOOLS);
    if has_tools {
        for entry in desk.root.tree.list(&tools) {
            if entry.what == What::Folder {
                owned.extend(script::read(
                    desk,
                    &join(&tools, &entry.name),
                    Some(id),
                    unit,
                ));
            }
        }
    }
    let mut sheet = Sheet::open(desk, Kind::Prompt, id, folder, file);
    let item = from_sheet(&mut sheet, category, &owned, false);
    unit.take(sheet, item);
}

/// A prompt that is one file: YAML, or the older Markdown.
fn single(desk: Desk<'_>, category: &str, folder: &str, file: &str, group: &str, unit: &mut Unit) {
    let Some((stem, ending)) = file.rsplit_once('.') else {
        return;
    };
    let yaml = matches!(ending, "yaml" | "yml");
    if !(yaml || ending == "md") || NOT_PROMPTS.contains(&stem) {
        return;
    }
    let id = join(group, stem);
    if yaml && !names::is_segment(stem) {
        let message = format!("The file `{}` can't be an id.", shorten(file));
        let path = join(folder, file);
        unit.problems
            .push(at_path(desk, &path, &id, message, GRAMMAR));
        return;
    }
    if yaml {
        let mut sheet = Sheet::open(desk, Kind::Prompt, &id, folder, file);
        let item = from_sheet(&mut sheet, category, &[], true);
        unit.take(sheet, item);
    } else if names::is_segment(stem) {
        legacy::read(desk, category, folder, file, &id, unit);
    }
}

fn from_sheet(
    sheet: &mut Sheet<'_>,
    category: &str,
    owned: &[String],
    single: bool,
) -> Option<Item> {
    if !sheet.is_good() {
        return None;
    }
    let said: PromptFile = sheet.typed()?;
    let expected = sheet.id.rsplit('/').next().unwrap_or_default().to_owned();
    sheet.same_id(&said.id, &expected)?;
    sheet.needs("name", &said.name);
    sheet.needs("description", &said.description);
    arguments(sheet, &said.arguments);
    let template = text(
        sheet,
        ("userMessageTemplate", said.user_message_template),
        ("userMessageTemplateFile", said.user_message_template_file),
        Weight::Error,
    );
    let system = text(
        sheet,
        ("systemMessage", said.system_message),
        ("systemMessageFile", said.system_message_file),
        Weight::Warning,
    );
    let mut mentions = Vec::new();
    let nodes = sheet
        .node
        .get("chainSteps")
        .map(|node| node.items().to_vec());
    let steps = steps::steps(
        sheet,
        said.chain_steps,
        nodes.as_deref().unwrap_or_default(),
        &mut mentions,
    );
    if let Some(said) = sheet.node.get("gateConfiguration").cloned() {
        mentions::gates(sheet, &said, &mut mentions);
    }
    mentions::tools(sheet, owned, &mut mentions);
    let prompt = Prompt {
        // As the place spells it, so that what is said of the place is said of the prompt.
        id: sheet.id.clone(),
        name: said.name,
        description: said.description,
        category: said.category.unwrap_or_else(|| category.to_owned()),
        template,
        system,
        arguments: said.arguments,
        steps,
        gates: said.gate_configuration,
        injection: said.injection,
        registered: said.register_with_mcp,
        tools: said.tools,
        delegation: Delegation {
            model: said.subagent_model,
            agent: said.agent_type,
        },
        creates: said.creates,
        origin: sheet.origin(),
    };
    finish(sheet, prompt, mentions, single)
}

/// The last look at a prompt of any form.
pub(super) fn finish(
    sheet: &mut Sheet<'_>,
    prompt: Prompt,
    mut mentions: Vec<Mention>,
    single: bool,
) -> Option<Item> {
    let empty = prompt.template.is_none() && prompt.system.is_none() && prompt.steps.is_empty();
    if empty && sheet.is_good() {
        sheet.error(
            None,
            "The prompt has no template, no system message and no steps.".to_owned(),
            Some(
                "Add `userMessageTemplateFile: user-message.md` or `userMessageTemplate: …`."
                    .to_owned(),
            ),
        );
    }
    for text in [&prompt.template, &prompt.system].into_iter().flatten() {
        mentions::references(text, &mut mentions);
    }
    sheet.is_good().then(|| {
        Item::Prompt(PromptItem {
            prompt: Arc::new(prompt),
            single,
            mentions: mentions.into(),
        })
    })
}

/// A text that stands in the file itself or in one that it names, which then counts.
fn text(
    sheet: &mut Sheet<'_>,
    inline: (&str, Option<String>),
    named: (&str, Option<String>),
    missing: Weight,
) -> Option<Text> {
    if let Some(name) = named.1
        && let Some(body) = sheet.beside_or_problem(&name, named.0, missing)
    {
        return Some(Text {
            body,
            file: sheet.shown(&name),
            line: 1,
        });
    }
    let body = inline.1.filter(|body| !body.is_empty())?;
    let line = sheet
        .node
        .get(inline.0)
        .map_or(1, |node| node.text_line(&sheet.source));
    Some(Text {
        body,
        file: sheet.shown(&sheet.file),
        line,
    })
}

fn arguments(sheet: &mut Sheet<'_>, said: &[Argument]) {
    let nodes = sheet
        .node
        .get("arguments")
        .map(|node| node.items().to_vec());
    let file = sheet.file.clone();
    for (index, argument) in said.iter().enumerate() {
        let node = nodes.as_ref().and_then(|nodes| nodes.get(index));
        let at = node.map(|node| node.at);
        if argument.name.trim().is_empty() {
            sheet.error(at, "An argument has no `name`.".to_owned(), None);
        }
        if said
            .iter()
            .take(index)
            .any(|other| other.name == argument.name)
        {
            let message = format!("The argument `{}` is there twice.", shorten(&argument.name));
            sheet.error(at, message, Some("Remove one of them.".to_owned()));
        }
        let pattern = node
            .and_then(|node| node.get("validation"))
            .and_then(|node| node.get("pattern"));
        if let Some(pattern) = pattern
            && let Some(text) = pattern.text()
        {
            sheet.pattern(Weight::Error, &file, text, pattern.at);
        }
    }
}
