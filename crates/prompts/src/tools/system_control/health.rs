//! `status health`: whether everything works, part by part.

use deliberate_toolkit::ToolError;
use serde_json::{Value, json};

use super::{
    ControlContext, OperationResult, gates, library_problems, operation_result::TextLines, status,
};

pub(super) async fn health(desk: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    let (errors, warnings) = library_problems::count_by_severity(&desk.library);
    let blind = library_problems::watcher_problem(&desk.library);
    let store = desk.call.store().info().await;
    let unchecked = gates::uncheckable_criteria(desk).len();
    let open = status::count_open_runs(desk).await?;
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
                .map_or("changed files are noticed", |it| it.message.as_str())
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
            format!("{unchecked} criteria can't be checked here"),
        ),
        (
            "framework",
            lost.is_none(),
            lost.map_or_else(
                || active.unwrap_or("none").to_owned(),
                |id| format!("{id} is not there or disabled"),
            ),
        ),
        ("runs", true, format!("{open} open")),
    ];
    let well = parts.iter().all(|(_, well, _)| *well);
    let mut lines = TextLines::default();
    lines.add(if well {
        "Healthy."
    } else {
        "Not everything is well."
    });
    for (part, well, said) in &parts {
        let sign = if *well { "✓" } else { "✗" };
        lines.add(format!("{sign} {part}: {said}"));
    }
    let parts: Vec<Value> = parts
        .into_iter()
        .map(|(part, well, said)| json!({ "part": part, "well": well, "said": said }))
        .collect();
    Ok(OperationResult::new(
        lines.into_text(),
        json!({ "healthy": well, "parts": parts }),
    ))
}
