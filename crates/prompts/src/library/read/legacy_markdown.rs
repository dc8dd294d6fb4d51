//! Reads prompts in the legacy Markdown format: a title, then `## System Message`,
//! `## User Message Template`, `## Gate Configuration` (JSON in a fence) and `## Chain Steps`
//! (a numbered list).

use std::sync::LazyLock;

use regex::Regex;

use super::{
    prompt::finish,
    references,
    source_file::{LibrarySourceFile, ReadContext},
    steps::{self, StepFile},
};
use crate::{
    library::{
        id_grammar,
        part::{LibraryPart, NameReference},
        yaml::{YamlKey, YamlNode, YamlValue},
    },
    model::{
        ArgumentDefinition, ChainStep, GateConfiguration, LibraryItemKind, Prompt, TemplateSource,
    },
};

/// A section of the file, with the line on which its text begins.
struct LegacySection<'s> {
    title: &'s str,
    line: u32,
    lines: Vec<&'s str>,
}

const SYSTEM: &str = "system message";
const TEMPLATE: &str = "user message template";
const GATES: &str = "gate configuration";
const STEPS: &str = "chain steps";

/// Variables that the engine sets in a step; they are never arguments of a prompt.
const BUILTIN_VARIABLES: [&str; 10] = [
    "previous_step_result",
    "previous_step_output",
    "input",
    "step_results",
    "chain_id",
    "chain_run_id",
    "current_step",
    "total_steps",
    "execution_order",
    "chain_metadata",
];

static VARIABLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\{\{-?\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:\||-?\}\})").ok());
static STEP_RESULT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^step\d+_result$").ok());
static NUMBERED_ITEM: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s{0,3}(\d+[.)])\s+(\S.*)$").ok());

/// Reads a file. A file without these headings is not a prompt, and that is not a problem.
pub(super) fn read(
    context: ReadContext<'_>,
    category: &str,
    folder: &str,
    file: &str,
    id: &str,
    unit: &mut LibraryPart,
) {
    let mut source_file =
        LibrarySourceFile::open_plain(context, LibraryItemKind::Prompt, id, folder, file);
    let source = source_file.source.clone();
    let (title, about, sections) = split_sections(&source);
    let known = [SYSTEM, TEMPLATE, STEPS];
    let is_prompt = sections
        .iter()
        .any(|section| known.contains(&section.title.to_lowercase().as_str()));
    if !is_prompt {
        return;
    }
    let find = |wanted: &str| {
        sections
            .iter()
            .find(|section| section.title.eq_ignore_ascii_case(wanted))
    };
    let shown = source_file.display_path(file);
    let text = |section: &LegacySection<'_>| {
        Some(section.text(&shown)).filter(|text| !text.body.is_empty())
    };
    let template = find(TEMPLATE).and_then(text);
    let system = find(SYSTEM).and_then(text);
    let mut mentions = Vec::new();
    let gates = find(GATES).map(|section| parse_gates(&mut source_file, section, &mut mentions));
    let steps = find(STEPS).map(|section| parse_chain(&mut source_file, section, &mut mentions));
    let name = title.unwrap_or(id).to_owned();
    let prompt = Prompt {
        id: id.to_owned(),
        description: if about.is_empty() {
            name.clone()
        } else {
            about
        },
        name,
        category: category.to_owned(),
        arguments: infer_arguments([&template, &system]),
        template,
        system,
        gates: gates.unwrap_or_default(),
        steps: steps.unwrap_or_default(),
        origin: source_file.origin(),
        ..Prompt::default()
    };
    let item = finish(&mut source_file, prompt, mentions, true);
    unit.add_source(source_file, item);
}

/// Returns the title, the description below it, and the sections.
fn split_sections(source: &str) -> (Option<&str>, String, Vec<LegacySection<'_>>) {
    let mut title = None;
    let mut about = Vec::new();
    let mut found: Vec<LegacySection<'_>> = Vec::new();
    let mut fenced = false;
    for (line, text) in (1_u32..).zip(source.lines()) {
        fenced ^= text.trim_start().starts_with("```");
        if let Some(heading) = text.strip_prefix("## ").filter(|_| !fenced)
            && is_section_heading(heading.trim())
        {
            found.push(LegacySection {
                title: heading.trim(),
                line: line + 1,
                lines: Vec::new(),
            });
        } else if let Some(section) = found.last_mut() {
            section.lines.push(text);
        } else if let Some(heading) = text.strip_prefix("# ").filter(|_| title.is_none()) {
            title = Some(heading.trim());
        } else if !text.trim_start().starts_with('#') {
            about.push(text.trim());
        }
    }
    (title, about.join(" ").trim().to_owned(), found)
}

/// Returns whether a heading starts a section; other headings belong to the text around them.
fn is_section_heading(heading: &str) -> bool {
    [SYSTEM, TEMPLATE, GATES, STEPS, "description"]
        .iter()
        .any(|known| heading.eq_ignore_ascii_case(known))
}

impl LegacySection<'_> {
    /// Returns the text without blank lines around it.
    fn text(&self, file: &str) -> TemplateSource {
        let blank = self
            .lines
            .iter()
            .take_while(|line| line.trim().is_empty())
            .count();
        let body: Vec<&str> = self.lines.iter().skip(blank).copied().collect();
        TemplateSource {
            body: body.join("\n").trim_end().to_owned(),
            file: file.to_owned(),
            line: self.line.saturating_add(u32::try_from(blank).unwrap_or(0)),
        }
    }

    /// Maps the lines of the section and puts empty lines before them, so that line numbers are the
    /// same as in the file.
    fn map_lines(&self, change: impl Fn(&str) -> Option<String>) -> String {
        let mut text = "\n".repeat(usize::try_from(self.line.saturating_sub(1)).unwrap_or(0));
        for line in &self.lines {
            text.push_str(&change(line).unwrap_or_default());
            text.push('\n');
        }
        text
    }
}

/// Parses the gates as YAML: JSON is YAML except for tabs.
fn parse_gates(
    source_file: &mut LibrarySourceFile<'_>,
    section: &LegacySection<'_>,
    mentions: &mut Vec<NameReference>,
) -> GateConfiguration {
    let source = section
        .map_lines(|line| (!line.trim_start().starts_with("```")).then(|| line.replace('\t', " ")));
    let file = source_file.file.clone();
    let Some(node) = source_file.parse(&file, &source) else {
        return GateConfiguration::default();
    };
    // In an older format the gates are a plain list.
    let node = match node.value {
        YamlValue::List(_) => YamlNode {
            position: node.position,
            value: YamlValue::Map(vec![(
                YamlKey {
                    position: node.position,
                    name: "include".to_owned(),
                },
                node,
            )]),
        },
        _ => node,
    };
    references::collect_gates(source_file, &node, mentions);
    source_file
        .deserialize_node(&file, &node)
        .unwrap_or_default()
}

/// Parses the steps. `1. promptId: x` with further lines is a YAML list except for its numbers;
/// `1. x` and `1. Name (x)` are short forms.
fn parse_chain(
    source_file: &mut LibrarySourceFile<'_>,
    section: &LegacySection<'_>,
    mentions: &mut Vec<NameReference>,
) -> Vec<ChainStep> {
    let source = section.map_lines(|line| Some(to_list_line(line)));
    let file = source_file.file.clone();
    let Some(mut node) = source_file.parse(&file, &source) else {
        return Vec::new();
    };
    if let YamlValue::List(items) = &mut node.value {
        items.iter_mut().for_each(expand_short_step);
    }
    let Some(files) = source_file.deserialize_node::<Vec<StepFile>>(&file, &node) else {
        return Vec::new();
    };
    let nodes = node.items().to_vec();
    steps::build_steps(source_file, files, &nodes, mentions)
}

fn to_list_line(line: &str) -> String {
    let found = NUMBERED_ITEM
        .as_ref()
        .and_then(|pattern| pattern.captures(line));
    let parts = found.as_ref().and_then(|it| it.get(1).zip(it.get(2)));
    match parts {
        Some((number, rest)) => {
            let indent = " ".repeat(number.start());
            let gap = " ".repeat(rest.start().saturating_sub(number.start() + 1));
            let rest = rest.as_str();
            let is_named = rest
                .split_once(':')
                .is_some_and(|(name, _)| name.chars().all(char::is_alphanumeric));
            if is_named {
                format!("{indent}-{gap}{rest}")
            } else {
                format!("{indent}-{gap}'{}'", rest.replace('\'', "''"))
            }
        }
        None => line.to_owned(),
    }
}

/// Expands the short form of a step.
fn expand_short_step(node: &mut YamlNode) {
    let Some(text) = node.text() else {
        return;
    };
    let wanted = |part: &&str| id_grammar::is_id(part);
    let inner = text
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'))
        .map(|(inner, _)| inner.trim_matches(['`', ' ', '>']));
    let quoted = text.split('`').nth(1);
    let word = text
        .split_whitespace()
        .next()
        .map(|it| it.trim_matches(['`', '>', ':']));
    let Some(id) = inner
        .filter(wanted)
        .or(quoted.filter(wanted))
        .or(word.filter(wanted))
    else {
        return;
    };
    let entry = |name: &str, value: &str| {
        let key = YamlKey {
            position: node.position,
            name: name.to_owned(),
        };
        let node = YamlNode {
            position: node.position,
            value: YamlValue::Text(value.to_owned()),
        };
        (key, node)
    };
    let label = text.split(['(', '`']).next().unwrap_or_default().trim();
    let label = if label.is_empty() { id } else { label };
    node.value = YamlValue::Map(vec![entry("promptId", id), entry("stepName", label)]);
}

/// Infers the arguments, which the format cannot declare: every variable of the texts is one.
fn infer_arguments(texts: [&Option<TemplateSource>; 2]) -> Vec<ArgumentDefinition> {
    let (Some(variable), Some(result)) = (VARIABLE.as_ref(), STEP_RESULT.as_ref()) else {
        return Vec::new();
    };
    let mut found: Vec<ArgumentDefinition> = Vec::new();
    for text in texts.into_iter().flatten() {
        for name in variable
            .captures_iter(&text.body)
            .filter_map(|it| it.get(1))
            .map(|it| it.as_str())
        {
            let taken = BUILTIN_VARIABLES.contains(&name)
                || result.is_match(name)
                || found.iter().any(|it| it.name == name);
            if !taken {
                found.push(ArgumentDefinition {
                    name: name.to_owned(),
                    ..ArgumentDefinition::default()
                });
            }
        }
    }
    found
}
