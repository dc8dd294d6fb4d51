//! The `status health` operation: checks each part.

use deliberate_toolkit::ToolError;
use serde_json::{Value, json};

use crate::tools::system_control::{
    ControlContext, OperationResult, gates, library_problems, operation_result::TextLines,
};

pub(crate) async fn health(desk: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    let (errors, warnings) = library_problems::count_by_severity(&desk.library);
    let blind = library_problems::watcher_problem(&desk.library);
    let store = desk.call.store().info().await;
    let unchecked = gates::uncheckable_criteria(desk).await?.len();
    let open = super::count_open_runs(desk).await?;
    let active = desk.settings.methodology();
    let lost = active.filter(|id| desk.library.methodology(id).is_none());
    let parts = [
        (
            "library",
            errors == 0,
            format!("{errors} errors, {warnings} warnings"),
        ),
        (
            "watching",
            blind.is_none(),
            blind
                .map_or("changed files are detected", |it| it.message.as_str())
                .to_owned(),
        ),
        (
            "store",
            store.is_ok(),
            store.map_or_else(|error| error.to_string(), |_| "answers".to_owned()),
        ),
        (
            "gates",
            unchecked == 0,
            format!("{unchecked} criteria cannot be checked here"),
        ),
        (
            "framework",
            lost.is_none(),
            lost.map_or_else(
                || active.unwrap_or("none").to_owned(),
                |id| format!("{id} does not exist or is disabled"),
            ),
        ),
        ("runs", true, format!("{open} open")),
    ];
    let well = parts.iter().all(|(_, well, _)| *well);
    let mut lines = TextLines::default();
    lines.add(if well {
        "Healthy."
    } else {
        "There are problems."
    });
    for (part, well, said) in &parts {
        let sign = if *well { "✓" } else { "✗" };
        lines.add(format!("{sign} {part}: {said}"));
    }
    let parts: Vec<Value> = parts
        .into_iter()
        .map(|(part, well, text)| json!({ "part": part, "well": well, "said": text }))
        .collect();
    Ok(OperationResult::new(
        lines.into_text(),
        json!({ "healthy": well, "parts": parts }),
    ))
}
