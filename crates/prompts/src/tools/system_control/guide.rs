//! `guide`: how to use the engine, topic by topic. The texts stand beside this file.

use deliberate_toolkit::ToolError;
use serde_json::json;

use super::{Desk, Done, Operation, done::Lines, one_of};

const TEXT: &str = include_str!("guide.md");

pub(super) const OPERATIONS: &[Operation] = &[Operation {
    name: "show",
    takes: &["topic"],
    run: |desk| Box::pin(async { show(desk) }),
}];

/// The topics and their texts.
fn topics() -> impl Iterator<Item = (&'static str, &'static str)> {
    TEXT.split("\n## ")
        .skip(1)
        .filter_map(|it| it.split_once('\n'))
}

fn show(desk: &Desk<'_>) -> Result<Done, ToolError> {
    let names: Vec<&str> = topics().map(|(name, _)| name).collect();
    let Some(wanted) = desk.input.topic.as_deref().map(str::trim) else {
        let mut lines = Lines::default();
        lines.add("Topics; ask again with one of them as topic:");
        for (name, text) in topics() {
            let first = text.trim().lines().next().unwrap_or_default();
            lines.add(format!("- {name}: {first}"));
        }
        return Ok(Done::new(lines.end(), json!({ "topics": names })));
    };
    let found = topics().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let (name, text) = found.ok_or_else(|| one_of("topic", wanted, names.iter().copied()))?;
    Ok(Done::new(text.trim(), json!({ "topic": name })))
}
