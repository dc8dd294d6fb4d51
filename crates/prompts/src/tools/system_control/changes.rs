//! `changes`: what changed in the library since this process started.

use deliberate_toolkit::ToolError;
use serde_json::{Value, json};

use super::{Desk, Done, Operation, done::Lines, one_of};
use crate::{engine::Recent, library::NoticedBy, model::Kind};

pub(super) const OPERATIONS: &[Operation] = &[Operation {
    name: "list",
    takes: &["source", "resourceType", "since", "limit"],
    run: |desk| Box::pin(async { list(desk) }),
}];

const KINDS: [Kind; 5] = [
    Kind::Prompt,
    Kind::Gate,
    Kind::Methodology,
    Kind::Style,
    Kind::Script,
];

fn list(desk: &Desk<'_>) -> Result<Done, ToolError> {
    let source = desk.input.source.as_deref().map(source).transpose()?;
    let kind = desk.input.resource_type.as_deref().map(kind).transpose()?;
    let since = desk
        .input
        .since()
        .map_err(|issue| ToolError::Invalid(vec![issue]))?;
    let fits = |it: &Recent| {
        source.is_none_or(|wanted| wanted == Some(it.source))
            && kind.is_none_or(|kind| kind == it.kind)
            && since.is_none_or(|since| it.at >= since)
    };
    let found = desk.engine.recent.last(desk.limit(50, 500), fits);
    let mut lines = Lines::default();
    if found.is_empty() {
        lines.add("Nothing that fits has changed since this process started.");
    }
    let entries: Vec<Value> = found
        .iter()
        .map(|it| {
            let what = if it.there { "changed" } else { "gone" };
            let by = match it.source {
                NoticedBy::Filesystem => "filesystem",
                NoticedBy::McpTool => "mcp-tool",
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
    Ok(Done::new(lines.end(), json!({ "changes": entries })))
}

/// Who is meant; nobody, if it is someone whose changes are never seen happening.
fn source(given: &str) -> Result<Option<NoticedBy>, ToolError> {
    match given.trim() {
        "filesystem" => Ok(Some(NoticedBy::Filesystem)),
        "mcp-tool" => Ok(Some(NoticedBy::McpTool)),
        // What changed while no process watched is read as it is, and nobody saw it change.
        "external" => Ok(None),
        other => Err(one_of(
            "source",
            other,
            ["filesystem", "mcp-tool", "external"],
        )),
    }
}

fn kind(given: &str) -> Result<Kind, ToolError> {
    let known = |it: &Kind| it.as_str() == given.trim();
    let found = KINDS.into_iter().find(known);
    found.ok_or_else(|| one_of("resourceType", given, KINDS.map(Kind::as_str)))
}
