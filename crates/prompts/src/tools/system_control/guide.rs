//! The `guide` action: how to use the engine, by topic. The texts are in `guide.md`.

use deliberate_toolkit::ToolError;
use serde_json::json;

use super::{
    ControlContext, ControlOperation, OperationResult, invalid_choice, operation_result::TextLines,
};

const GUIDE_TEXT: &str = include_str!("guide.md");

pub(super) const OPERATIONS: &[ControlOperation] = &[ControlOperation {
    name: "show",
    accepted_fields: &["topic"],
    run: |desk| Box::pin(async { show(desk) }),
}];

/// Returns the topics and their texts.
fn topics() -> impl Iterator<Item = (&'static str, &'static str)> {
    GUIDE_TEXT
        .split("\n## ")
        .skip(1)
        .filter_map(|it| it.split_once('\n'))
}

fn show(context: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    let names: Vec<&str> = topics().map(|(name, _)| name).collect();
    let Some(wanted) = context.input.topic.as_deref().map(str::trim) else {
        let mut lines = TextLines::default();
        lines.add("Topics; call again with one of them as topic:");
        for (name, text) in topics() {
            let first = text.trim().lines().next().unwrap_or_default();
            lines.add(format!("- {name}: {first}"));
        }
        return Ok(OperationResult::new(
            lines.into_text(),
            json!({ "topics": names }),
        ));
    };
    let found = topics().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let (name, text) =
        found.ok_or_else(|| invalid_choice("topic", wanted, names.iter().copied()))?;
    Ok(OperationResult::new(text.trim(), json!({ "topic": name })))
}
