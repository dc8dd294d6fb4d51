//! The `changes` action: the changes of the library since this process started.

use deliberate_toolkit::ToolError;
use serde_json::{Value, json};

use super::{
    ControlContext, ControlOperation, OperationResult, invalid_choice, operation_result::TextLines,
};
use crate::{engine::LibraryChange, library::ChangeTrigger, model::LibraryItemKind};

pub(super) const OPERATIONS: &[ControlOperation] = &[ControlOperation {
    name: "list",
    accepted_fields: &["source", "resourceType", "since", "limit"],
    run: |desk| Box::pin(async { list(desk) }),
}];

const KINDS: [LibraryItemKind; 5] = [
    LibraryItemKind::Prompt,
    LibraryItemKind::Gate,
    LibraryItemKind::Methodology,
    LibraryItemKind::Style,
    LibraryItemKind::Script,
];

fn list(context: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    let source = context
        .input
        .source
        .as_deref()
        .map(parse_source)
        .transpose()?;
    let kind = context
        .input
        .resource_type
        .as_deref()
        .map(parse_kind)
        .transpose()?;
    let since = context
        .input
        .parse_since()
        .map_err(|issue| ToolError::Invalid(vec![issue]))?;
    let fits = |it: &LibraryChange| {
        source.is_none_or(|trigger| trigger == Some(it.source))
            && kind.is_none_or(|kind| kind == it.kind)
            && since.is_none_or(|since| it.at >= since)
    };
    let found = context
        .engine
        .library_changes
        .last(context.limit(50, 500), fits);
    let mut lines = TextLines::default();
    if found.is_empty() {
        lines.add("No matching change since this process started.");
    }
    let entries: Vec<Value> = found
        .iter()
        .map(|it| {
            let what = if it.there { "changed" } else { "removed" };
            let by = match it.source {
                ChangeTrigger::Filesystem => "filesystem",
                ChangeTrigger::McpTool => "mcp-tool",
            };
            lines.add(format!(
                "{} {} {} {what} ({by})",
                it.at,
                it.kind.as_str(),
                it.id
            ));
            json!(it)
        })
        .collect();
    Ok(OperationResult::new(
        lines.into_text(),
        json!({ "changes": entries }),
    ))
}

/// Parses a change source; `None` is a source whose changes are never observed.
fn parse_source(given: &str) -> Result<Option<ChangeTrigger>, ToolError> {
    match given.trim() {
        "filesystem" => Ok(Some(ChangeTrigger::Filesystem)),
        "mcp-tool" => Ok(Some(ChangeTrigger::McpTool)),
        // Changes made while no process was watching are loaded without being recorded as changes.
        "external" => Ok(None),
        other => Err(invalid_choice(
            "source",
            other,
            ["filesystem", "mcp-tool", "external"],
        )),
    }
}

fn parse_kind(given: &str) -> Result<LibraryItemKind, ToolError> {
    let known = |it: &LibraryItemKind| it.as_str() == given.trim();
    let found = KINDS.into_iter().find(known);
    found.ok_or_else(|| invalid_choice("resourceType", given, KINDS.map(LibraryItemKind::as_str)))
}
