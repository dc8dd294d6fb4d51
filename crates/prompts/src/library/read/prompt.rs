//! Reads prompts: a folder with `prompt.yaml` and everything below it, or a single file.

use std::sync::Arc;

use super::{
    category, legacy_markdown, references, script,
    source_file::{ID_GRAMMAR, LibrarySourceFile, ReadContext, join, truncate},
    steps,
};
use crate::{
    library::{
        LibraryProblem, ProblemSeverity,
        file_tree::TreeEntryKind,
        id_grammar,
        part::{LibraryItem, LibraryPart, NameReference, PromptItem},
    },
    model::{
        ArgumentDefinition, Delegation, GateConfiguration, InjectionRules, LibraryItemKind, Prompt,
        TemplateSource,
    },
};

/// The main file of a prompt folder.
pub(crate) const MAIN_FILES: [&str; 2] = ["prompt.yaml", "prompt.yml"];

/// The folder with the tools of a prompt.
const TOOLS_FOLDER: &str = "tools";

/// Names of files that are not prompts.
const NON_PROMPT_FILES: [&str; 3] = ["prompts", "category", "prompt"];

/// The fields of the file.
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
    arguments: Vec<ArgumentDefinition>,
    chain_steps: Vec<steps::StepFile>,
    gate_configuration: GateConfiguration,
    register_with_mcp: Option<bool>,
    tools: Vec<String>,
    injection: InjectionRules,
    subagent_model: Option<String>,
    agent_type: Option<String>,
    creates: Option<LibraryItemKind>,
}

/// Reads a path below the prompts folder: a prompt with everything below it, a folder that groups
/// prompts, a single file, or the description of a category.
pub(super) fn read_prompts(desk: ReadContext<'_>, path: &str, unit: &mut LibraryPart) {
    let (category, inner) = match path.split_once('/') {
        Some((category, inner)) => (category, inner),
        None => ("general", path),
    };
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    match desk.root.tree.entry_kind(path) {
        Some(TreeEntryKind::Folder) => walk(desk, category, path, inner, 0, unit),
        Some(TreeEntryKind::File | TreeEntryKind::Link) if is_category_file(inner) => {
            category::read(desk, folder, inner, unit);
        }
        Some(TreeEntryKind::Link) if desk.root.tree.real_path(path).is_dir() => {
            unit.problems.push(symlink_problem(desk, path, inner));
        }
        Some(TreeEntryKind::File | TreeEntryKind::Link | TreeEntryKind::Other) => {
            read_single_file(desk, category, folder, inner, "", unit);
        }
        None => {}
    }
}

fn is_category_file(name: &str) -> bool {
    matches!(name, "category.yaml" | "category.yml")
}

/// Reads a folder and everything below it; `id` is the full id of the folder.
fn walk(
    context: ReadContext<'_>,
    category: &str,
    path: &str,
    id: &str,
    depth: usize,
    unit: &mut LibraryPart,
) {
    let last = id.rsplit('/').next().unwrap_or(id);
    let refused = if !id_grammar::is_segment(last) {
        Some((
            format!("The folder name `{}` is not a valid id.", truncate(last)),
            ID_GRAMMAR,
        ))
    } else if depth > context.limits.depth {
        let message = format!(
            "Prompts are nested more than {} levels deep.",
            context.limits.depth
        );
        Some((message, "Move it to a higher level."))
    } else {
        None
    };
    if let Some((message, help)) = refused {
        unit.problems
            .push(problem_at_path(context, path, id, message, help));
        return;
    }
    let entries = context.root.tree.list(path);
    let main = MAIN_FILES.into_iter().find(|main| {
        entries
            .iter()
            .any(|entry| entry.name == *main && entry.kind != TreeEntryKind::Folder)
    });
    if let Some(file) = main {
        let has_tools = entries
            .iter()
            .any(|entry| entry.name == TOOLS_FOLDER && entry.kind == TreeEntryKind::Folder);
        read_folder(context, category, path, file, id, has_tools, unit);
    }
    for entry in entries {
        if unit.files > context.limits.files {
            return;
        }
        let inner = join(path, &entry.name);
        match entry.kind {
            TreeEntryKind::Folder if main.is_some() && entry.name == TOOLS_FOLDER => {}
            TreeEntryKind::Folder => {
                walk(
                    context,
                    category,
                    &inner,
                    &join(id, &entry.name),
                    depth + 1,
                    unit,
                );
            }
            TreeEntryKind::Link if context.root.tree.real_path(&inner).is_dir() => {
                unit.problems
                    .push(symlink_problem(context, &inner, &join(id, &entry.name)));
            }
            _ if main.is_none() => read_single_file(context, category, path, &entry.name, id, unit),
            _ => {}
        }
    }
}

/// Creates a problem of a folder rather than of one of its files.
fn problem_at_path(
    context: ReadContext<'_>,
    path: &str,
    id: &str,
    message: String,
    help: &str,
) -> LibraryProblem {
    LibraryProblem {
        weight: ProblemSeverity::Error,
        file: context.root.display_path(path),
        line: None,
        column: None,
        kind: LibraryItemKind::Prompt,
        id: id.to_owned(),
        message,
        help: Some(help.to_owned()),
        last_good_kept: false,
    }
}

fn symlink_problem(context: ReadContext<'_>, path: &str, id: &str) -> LibraryProblem {
    let message = "Links to folders are not followed.".to_owned();
    problem_at_path(
        context,
        path,
        id,
        message,
        "Replace the link with the folder itself.",
    )
}

/// Reads a prompt folder, with the tools it owns.
fn read_folder(
    context: ReadContext<'_>,
    category: &str,
    folder: &str,
    file: &str,
    id: &str,
    has_tools: bool,
    unit: &mut LibraryPart,
) {
    let mut owned = Vec::new();
    let tools = join(folder, TOOLS_FOLDER);
    if has_tools {
        for entry in context.root.tree.list(&tools) {
            if entry.kind == TreeEntryKind::Folder {
                owned.extend(script::read(
                    context,
                    &join(&tools, &entry.name),
                    Some(id),
                    unit,
                ));
            }
        }
    }
    let mut source_file =
        LibrarySourceFile::open(context, LibraryItemKind::Prompt, id, folder, file);
    let item = build_prompt(&mut source_file, category, &owned, false);
    unit.add_source(source_file, item);
}

/// Reads a prompt in a single file: YAML, or legacy Markdown.
fn read_single_file(
    context: ReadContext<'_>,
    category: &str,
    folder: &str,
    file: &str,
    group: &str,
    unit: &mut LibraryPart,
) {
    let Some((stem, ending)) = file.rsplit_once('.') else {
        return;
    };
    let yaml = matches!(ending, "yaml" | "yml");
    if !(yaml || ending == "md") || NON_PROMPT_FILES.contains(&stem) {
        return;
    }
    let id = join(group, stem);
    if yaml && !id_grammar::is_segment(stem) {
        let message = format!("The file name `{}` is not a valid id.", truncate(file));
        let path = join(folder, file);
        unit.problems
            .push(problem_at_path(context, &path, &id, message, ID_GRAMMAR));
        return;
    }
    if yaml {
        let mut source_file =
            LibrarySourceFile::open(context, LibraryItemKind::Prompt, &id, folder, file);
        let item = build_prompt(&mut source_file, category, &[], true);
        unit.add_source(source_file, item);
    } else if id_grammar::is_segment(stem) {
        legacy_markdown::read(context, category, folder, file, &id, unit);
    }
}

fn build_prompt(
    file: &mut LibrarySourceFile<'_>,
    category: &str,
    owned: &[String],
    single: bool,
) -> Option<LibraryItem> {
    if !file.is_usable() {
        return None;
    }
    let said: PromptFile = file.deserialize()?;
    let expected = file.id.rsplit('/').next().unwrap_or_default().to_owned();
    file.check_id(&said.id, &expected)?;
    file.require_non_empty("name", &said.name);
    file.require_non_empty("description", &said.description);
    check_arguments(file, &said.arguments);
    let template = read_text(
        file,
        ("userMessageTemplate", said.user_message_template),
        ("userMessageTemplateFile", said.user_message_template_file),
        ProblemSeverity::Error,
    );
    let system = read_text(
        file,
        ("systemMessage", said.system_message),
        ("systemMessageFile", said.system_message_file),
        ProblemSeverity::Warning,
    );
    let mut mentions = Vec::new();
    let nodes = file
        .node
        .get("chainSteps")
        .map(|node| node.items().to_vec());
    let steps = steps::build_steps(
        file,
        said.chain_steps,
        nodes.as_deref().unwrap_or_default(),
        &mut mentions,
    );
    if let Some(yaml_node) = file.node.get("gateConfiguration").cloned() {
        references::collect_gates(file, &yaml_node, &mut mentions);
    }
    references::collect_tools(file, owned, &mut mentions);
    let prompt = Prompt {
        // The spelling of the path, so that problems of the path are problems of the prompt.
        id: file.id.clone(),
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
        origin: file.origin(),
    };
    finish(file, prompt, mentions, single)
}

/// Checks a prompt of any format and collects its includes.
pub(super) fn finish(
    file: &mut LibrarySourceFile<'_>,
    prompt: Prompt,
    mut mentions: Vec<NameReference>,
    single: bool,
) -> Option<LibraryItem> {
    let empty = prompt.template.is_none() && prompt.system.is_none() && prompt.steps.is_empty();
    if empty && file.is_usable() {
        file.error(
            None,
            "The prompt has no template, no system message and no steps.".to_owned(),
            Some(
                "Add `userMessageTemplateFile: user-message.md` or `userMessageTemplate: …`."
                    .to_owned(),
            ),
        );
    }
    for text in [&prompt.template, &prompt.system].into_iter().flatten() {
        references::collect_includes(text, &mut mentions);
    }
    file.is_usable().then(|| {
        LibraryItem::Prompt(PromptItem {
            prompt: Arc::new(prompt),
            is_single_file: single,
            references: mentions.into(),
        })
    })
}

/// Reads a text from the file itself or from the file it names, which takes precedence.
fn read_text(
    source_file: &mut LibrarySourceFile<'_>,
    inline: (&str, Option<String>),
    named: (&str, Option<String>),
    missing: ProblemSeverity,
) -> Option<TemplateSource> {
    if let Some(name) = named.1
        && let Some(body) = source_file.read_sibling_or_report(&name, named.0, missing)
    {
        return Some(TemplateSource {
            body,
            file: source_file.display_path(&name),
            line: 1,
        });
    }
    let body = inline.1.filter(|body| !body.is_empty())?;
    let line = source_file
        .node
        .get(inline.0)
        .map_or(1, |node| node.text_line(&source_file.source));
    Some(TemplateSource {
        body,
        file: source_file.display_path(&source_file.file),
        line,
    })
}

fn check_arguments(source_file: &mut LibrarySourceFile<'_>, definitions: &[ArgumentDefinition]) {
    let nodes = source_file
        .node
        .get("arguments")
        .map(|node| node.items().to_vec());
    let file = source_file.file.clone();
    for (index, argument) in definitions.iter().enumerate() {
        let node = nodes.as_ref().and_then(|nodes| nodes.get(index));
        let at = node.map(|node| node.position);
        if argument.name.trim().is_empty() {
            source_file.error(at, "An argument has no `name`.".to_owned(), None);
        }
        if definitions
            .iter()
            .take(index)
            .any(|other| other.name == argument.name)
        {
            let message = format!(
                "The argument `{}` is declared twice.",
                truncate(&argument.name)
            );
            source_file.error(at, message, Some("Remove one of them.".to_owned()));
        }
        let pattern = node
            .and_then(|node| node.get("validation"))
            .and_then(|node| node.get("pattern"));
        if let Some(pattern) = pattern
            && let Some(text) = pattern.text()
        {
            source_file.check_pattern(ProblemSeverity::Error, &file, text, pattern.position);
        }
    }
}
