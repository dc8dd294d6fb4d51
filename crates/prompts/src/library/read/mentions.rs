//! What a prompt mentions that must exist elsewhere.

use super::gate;
use crate::{
    library::{
        names,
        sheet::Sheet,
        unit::{Mention, Mentioned},
        yaml::{Node, Place},
    },
    model::Text,
};

/// Notes the gates that are meant by id, and checks those that are written out.
pub(super) fn gates(sheet: &mut Sheet<'_>, said: &Node, mentions: &mut Vec<Mention>) {
    let own: Vec<&str> = said
        .get("inline_gate_definitions")
        .map(Node::items)
        .unwrap_or_default()
        .iter()
        .filter_map(|gate| gate.get("id")?.text())
        .collect();
    for gate in said.get("include").map(Node::items).unwrap_or_default() {
        if let Some(name) = gate.text()
            && !own.contains(&name)
        {
            mentions.push(Mention {
                what: Mentioned::Gate,
                name: name.to_owned(),
                file: sheet.shown(&sheet.file),
                at: Some(gate.at),
            });
        }
    }
    for gate in said
        .get("inline_gate_definitions")
        .map(Node::items)
        .unwrap_or_default()
    {
        if let Some(list) = gate.get("pass_criteria") {
            gate::criteria(sheet, list);
        }
    }
}

/// Notes the tools that are not the prompt's own.
pub(super) fn tools(sheet: &Sheet<'_>, owned: &[String], mentions: &mut Vec<Mention>) {
    for tool in sheet.node.get("tools").map(Node::items).unwrap_or_default() {
        if let Some(name) = tool.text()
            && !owned.iter().any(|own| own == name)
        {
            mentions.push(Mention {
                what: Mentioned::Tool,
                name: name.to_owned(),
                file: sheet.shown(&sheet.file),
                at: Some(tool.at),
            });
        }
    }
}

/// Notes the prompts that a template takes in. What stands in a comment or is kept raw is text.
pub(super) fn references(text: &Text, mentions: &mut Vec<Mention>) {
    const OPEN: &str = "{{ref:";
    let mut rest = text.body.as_str();
    if !rest.contains(OPEN) {
        return;
    }
    let mut line = text.line;
    let mut skip_to: Option<&str> = None;
    while let Some(character) = rest.chars().next() {
        if let Some(end) = skip_to {
            if rest.starts_with(end) {
                skip_to = None;
            }
        } else if rest.starts_with("{#") {
            skip_to = Some("#}");
        } else if rest.starts_with("{% raw") || rest.starts_with("{%- raw") {
            skip_to = Some("endraw");
        } else if let Some(inner) = rest.strip_prefix(OPEN)
            && let Some((name, _)) = inner.split_once("}}")
            && names::is_id(name)
        {
            mentions.push(Mention {
                what: Mentioned::Reference,
                name: name.to_owned(),
                file: text.file.clone(),
                at: Some(Place { line, column: 1 }),
            });
        }
        line += u32::from(character == '\n');
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
    }
}
