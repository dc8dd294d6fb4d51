//! Prompts in the older Markdown form: a title, then `## System Message`,
//! `## User Message Template`, `## Gate Configuration` (JSON in a fence) and `## Chain Steps`
//! (a numbered list).

use std::sync::LazyLock;

use regex::Regex;

use super::{
    mentions,
    prompt::finish,
    steps::{self, StepFile},
};
use crate::{
    library::{
        names,
        sheet::{Desk, Sheet},
        unit::{Mention, Unit},
        yaml::{Key, Node, Shape},
    },
    model::{Argument, ChainStep, GateConfiguration, Kind, Prompt, Text},
};

/// A part of the file, with the line on which its text begins.
struct Section<'s> {
    title: &'s str,
    line: u32,
    lines: Vec<&'s str>,
}

const SYSTEM: &str = "system message";
const TEMPLATE: &str = "user message template";
const GATES: &str = "gate configuration";
const STEPS: &str = "chain steps";

/// What stands in a step by itself; a prompt has no argument of that name.
const GIVEN: [&str; 10] = [
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
static NUMBERED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s{0,3}(\d+[.)])\s+(\S.*)$").ok());

/// Reads a file; one without these headings is no prompt and no problem.
pub(super) fn read(
    desk: Desk<'_>,
    category: &str,
    folder: &str,
    file: &str,
    id: &str,
    unit: &mut Unit,
) {
    let mut sheet = Sheet::plain(desk, Kind::Prompt, id, folder, file);
    let source = sheet.source.clone();
    let (title, about, sections) = sections(&source);
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
    let shown = sheet.shown(file);
    let text =
        |section: &Section<'_>| Some(section.text(&shown)).filter(|text| !text.body.is_empty());
    let template = find(TEMPLATE).and_then(text);
    let system = find(SYSTEM).and_then(text);
    let mut mentions = Vec::new();
    let gates = find(GATES).map(|section| gates(&mut sheet, section, &mut mentions));
    let steps = find(STEPS).map(|section| chain(&mut sheet, section, &mut mentions));
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
        arguments: arguments([&template, &system]),
        template,
        system,
        gates: gates.unwrap_or_default(),
        steps: steps.unwrap_or_default(),
        origin: sheet.origin(),
        ..Prompt::default()
    };
    let item = finish(&mut sheet, prompt, mentions, true);
    unit.take(sheet, item);
}

/// The title, what is said below it, and the parts.
fn sections(source: &str) -> (Option<&str>, String, Vec<Section<'_>>) {
    let mut title = None;
    let mut about = Vec::new();
    let mut found: Vec<Section<'_>> = Vec::new();
    let mut fenced = false;
    for (line, text) in (1_u32..).zip(source.lines()) {
        fenced ^= text.trim_start().starts_with("```");
        if let Some(heading) = text.strip_prefix("## ").filter(|_| !fenced)
            && is_known(heading.trim())
        {
            found.push(Section {
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

/// Other headings belong to the text that they stand in.
fn is_known(heading: &str) -> bool {
    [SYSTEM, TEMPLATE, GATES, STEPS, "description"]
        .iter()
        .any(|known| heading.eq_ignore_ascii_case(known))
}

impl Section<'_> {
    /// Its text without blank lines around it.
    fn text(&self, file: &str) -> Text {
        let blank = self
            .lines
            .iter()
            .take_while(|line| line.trim().is_empty())
            .count();
        let body: Vec<&str> = self.lines.iter().skip(blank).copied().collect();
        Text {
            body: body.join("\n").trim_end().to_owned(),
            file: file.to_owned(),
            line: self.line.saturating_add(u32::try_from(blank).unwrap_or(0)),
        }
    }

    /// Its lines, changed, below as many empty ones as stand before it in the file, so that
    /// places in the one are places in the other.
    fn in_place(&self, change: impl Fn(&str) -> Option<String>) -> String {
        let mut text = "\n".repeat(usize::try_from(self.line.saturating_sub(1)).unwrap_or(0));
        for line in &self.lines {
            text.push_str(&change(line).unwrap_or_default());
            text.push('\n');
        }
        text
    }
}

/// JSON is YAML, but for tabs.
fn gates(
    sheet: &mut Sheet<'_>,
    section: &Section<'_>,
    mentions: &mut Vec<Mention>,
) -> GateConfiguration {
    let source = section
        .in_place(|line| (!line.trim_start().starts_with("```")).then(|| line.replace('\t', " ")));
    let file = sheet.file.clone();
    let Some(node) = sheet.parse(&file, &source) else {
        return GateConfiguration::default();
    };
    // An older form has the gates as a plain list.
    let node = match node.shape {
        Shape::List(_) => Node {
            at: node.at,
            shape: Shape::Map(vec![(
                Key {
                    at: node.at,
                    name: "include".to_owned(),
                },
                node,
            )]),
        },
        _ => node,
    };
    mentions::gates(sheet, &node, mentions);
    sheet.typed_part(&file, &node).unwrap_or_default()
}

/// `1. promptId: x` with more lines below it is a YAML list but for its numbers; `1. x` and
/// `1. Name (x)` are short for it.
fn chain(
    sheet: &mut Sheet<'_>,
    section: &Section<'_>,
    mentions: &mut Vec<Mention>,
) -> Vec<ChainStep> {
    let source = section.in_place(|line| Some(as_list(line)));
    let file = sheet.file.clone();
    let Some(mut node) = sheet.parse(&file, &source) else {
        return Vec::new();
    };
    if let Shape::List(items) = &mut node.shape {
        items.iter_mut().for_each(spell_out);
    }
    let Some(said) = sheet.typed_part::<Vec<StepFile>>(&file, &node) else {
        return Vec::new();
    };
    let nodes = node.items().to_vec();
    steps::steps(sheet, said, &nodes, mentions)
}

fn as_list(line: &str) -> String {
    let found = NUMBERED.as_ref().and_then(|pattern| pattern.captures(line));
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

/// Turns the short form of a step into the long one.
fn spell_out(node: &mut Node) {
    let Some(text) = node.text() else {
        return;
    };
    let wanted = |part: &&str| names::is_id(part);
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
        let key = Key {
            at: node.at,
            name: name.to_owned(),
        };
        let node = Node {
            at: node.at,
            shape: Shape::Text(value.to_owned()),
        };
        (key, node)
    };
    let label = text.split(['(', '`']).next().unwrap_or_default().trim();
    let label = if label.is_empty() { id } else { label };
    node.shape = Shape::Map(vec![entry("promptId", id), entry("stepName", label)]);
}

/// The form has no place for arguments: every variable of the texts is one.
fn arguments(texts: [&Option<Text>; 2]) -> Vec<Argument> {
    let (Some(variable), Some(result)) = (VARIABLE.as_ref(), STEP_RESULT.as_ref()) else {
        return Vec::new();
    };
    let mut found: Vec<Argument> = Vec::new();
    for text in texts.into_iter().flatten() {
        for name in variable
            .captures_iter(&text.body)
            .filter_map(|it| it.get(1))
            .map(|it| it.as_str())
        {
            let taken = GIVEN.contains(&name)
                || result.is_match(name)
                || found.iter().any(|it| it.name == name);
            if !taken {
                found.push(Argument {
                    name: name.to_owned(),
                    ..Argument::default()
                });
            }
        }
    }
    found
}
