//! Collects the references of a prompt to items that must exist elsewhere.

use super::{gate, source_file::LibrarySourceFile};
use crate::{
    library::{
        id_grammar,
        part::{NameReference, NameReferenceKind},
        yaml::{SourcePosition, YamlNode},
    },
    model::TemplateSource,
};

/// Collects gates referenced by id, and checks inline gates.
pub(super) fn collect_gates(
    source_file: &mut LibrarySourceFile<'_>,
    node: &YamlNode,
    mentions: &mut Vec<NameReference>,
) {
    let own: Vec<&str> = node
        .get("inline_gate_definitions")
        .map(YamlNode::items)
        .unwrap_or_default()
        .iter()
        .filter_map(|gate| gate.get("id")?.text())
        .collect();
    for gate in node.get("include").map(YamlNode::items).unwrap_or_default() {
        if let Some(name) = gate.text()
            && !own.contains(&name)
        {
            mentions.push(NameReference {
                kind: NameReferenceKind::Gate,
                name: name.to_owned(),
                file: source_file.display_path(&source_file.file),
                position: Some(gate.position),
            });
        }
    }
    for gate in node
        .get("inline_gate_definitions")
        .map(YamlNode::items)
        .unwrap_or_default()
    {
        if let Some(list) = gate.get("pass_criteria") {
            gate::check_criteria(source_file, list);
        }
    }
}

/// Collects the tools that the prompt does not own.
pub(super) fn collect_tools(
    source_file: &LibrarySourceFile<'_>,
    owned: &[String],
    mentions: &mut Vec<NameReference>,
) {
    for tool in source_file
        .node
        .get("tools")
        .map(YamlNode::items)
        .unwrap_or_default()
    {
        if let Some(name) = tool.text()
            && !owned.iter().any(|own| own == name)
        {
            mentions.push(NameReference {
                kind: NameReferenceKind::Tool,
                name: name.to_owned(),
                file: source_file.display_path(&source_file.file),
                position: Some(tool.position),
            });
        }
    }
}

/// Collects the prompts that a template includes, except in comments and raw blocks.
pub(super) fn collect_includes(text: &TemplateSource, mentions: &mut Vec<NameReference>) {
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
            && id_grammar::is_id(name)
        {
            mentions.push(NameReference {
                kind: NameReferenceKind::Include,
                name: name.to_owned(),
                file: text.file.clone(),
                position: Some(SourcePosition { line, column: 1 }),
            });
        }
        line += u32::from(character == '\n');
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
    }
}
