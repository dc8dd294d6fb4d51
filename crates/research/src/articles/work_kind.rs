//! Parses the kinds of work by their usual names.

use deliberate_core::{WorkKind, did_you_mean};
use deliberate_toolkit::{ArgumentIssue, ToolError};

pub(crate) const ALL_WORK_KINDS: [WorkKind; 12] = [
    WorkKind::JournalArticle,
    WorkKind::ConferencePaper,
    WorkKind::Preprint,
    WorkKind::Book,
    WorkKind::Chapter,
    WorkKind::Thesis,
    WorkKind::Report,
    WorkKind::Dataset,
    WorkKind::Software,
    WorkKind::WebPage,
    WorkKind::Document,
    WorkKind::Unknown,
];

/// Parses a kind of work; `field` names the argument in the error.
pub(crate) fn parse_work_kind(field: &str, name: &str) -> Result<WorkKind, ToolError> {
    let key = name.trim().to_lowercase().replace([' ', '-'], "_");
    let key = match key.as_str() {
        "article" | "journal" => "journal_article",
        "conference" | "proceedings" | "inproceedings" => "conference_paper",
        other => other,
    };
    let found = ALL_WORK_KINDS.into_iter().find(|kind| kind.as_str() == key);
    found.ok_or_else(|| {
        let names: Vec<&str> = ALL_WORK_KINDS.iter().map(|it| it.as_str()).collect();
        let meant = did_you_mean(key, names.iter().copied());
        let meant = meant.map(|it| format!(" (did you mean {it:?}?)"));
        let rule = format!(
            "must be one of {}{}",
            names.join(", "),
            meant.unwrap_or_default()
        );
        ToolError::Invalid(vec![
            ArgumentIssue::new(field, rule).with_value(&name.into()),
        ])
    })
}
