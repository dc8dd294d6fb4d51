//! The outline of an article: headings with numbers, pages, and sizes.

use deliberate_core::truncate_chars;
use deliberate_toolkit::{ErrorCode, ToolError};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    articles::{sections::SectionSpan, title_key},
    tools::rendering::{custom_error, escape_markdown},
};

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OutlineSection {
    /// As printed, otherwise counted
    #[serde(skip_serializing_if = "String::is_empty")]
    number: String,
    title: String,
    level: u8,
    page: u32,
    characters: usize,
}

/// Renders a heading as one line.
pub(super) fn render_heading(section: &SectionSpan) -> String {
    let label = escape_markdown(&section.label());
    format!("{label} (p. {})", section.page)
}

/// Converts a heading to output data.
pub(super) fn outline_section(section: &SectionSpan, whole: &str) -> OutlineSection {
    let stretch = whole.get(section.start..section.end).unwrap_or_default();
    OutlineSection {
        number: section.number.clone(),
        title: section.title.clone(),
        level: section.level,
        page: section.page,
        characters: stretch.chars().count(),
    }
}

/// The error for an unknown section, which lists the sections.
pub(super) fn section_not_found(all: &[SectionSpan], name: &str) -> ToolError {
    let titles = all.iter().map(|it| it.title.as_str());
    let meant = deliberate_core::did_you_mean(name, titles);
    let shown: Vec<String> = all.iter().take(15).map(render_heading).collect();
    let meant = meant.map(|it| format!("Did you mean {it:?}? "));
    custom_error(
        ErrorCode::SectionNotFound,
        format!(
            "section {:?} does not exist or is ambiguous",
            truncate_chars(name, 100)
        ),
        format!(
            "{}There are: {}.",
            meant.unwrap_or_default(),
            shown.join("; ")
        ),
    )
}

/// Sections with the same heading that are named.
const MAX_SAME_HEADING: usize = 10;

/// A note about other sections with the same heading, which only numbers or pages distinguish.
pub(super) fn same_heading_note(all: &[SectionSpan], found: &SectionSpan) -> String {
    let key = title_key(&found.title);
    let others = all
        .iter()
        .filter(|it| it.start != found.start && title_key(&it.title) == key)
        .take(MAX_SAME_HEADING);
    let others: Vec<String> = others.map(render_heading).collect();
    if others.is_empty() {
        return String::new();
    }
    format!(
        "\n\nOther sections with that heading: {}.",
        others.join(", ")
    )
}
