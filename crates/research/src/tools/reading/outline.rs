//! The outline of an article: its headings with their numbers, pages and sizes.

use deliberate_core::truncate_chars;
use deliberate_toolkit::ToolError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    articles::{sections::SectionSpan, title_key},
    prompt_fence::escape_passage_tags,
    tools::rendering::{custom_error, escape_markdown},
};

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OutlineSection {
    /// As printed; counted if none is printed
    #[serde(skip_serializing_if = "String::is_empty")]
    number: String,
    title: String,
    level: u8,
    page: u32,
    characters: usize,
}

/// A heading on one line.
pub(super) fn render_heading(section: &SectionSpan) -> String {
    let label = escape_passage_tags(&escape_markdown(&section.label()));
    format!("{label} (p. {})", section.page)
}

/// A heading as data.
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

/// There is no such section, and which there are.
pub(super) fn section_not_found(all: &[SectionSpan], name: &str) -> ToolError {
    let titles = all.iter().map(|it| it.title.as_str());
    let meant = deliberate_core::did_you_mean(name, titles);
    let shown: Vec<String> = all.iter().take(15).map(render_heading).collect();
    let meant = meant.map(|it| format!("Did you mean {it:?}? "));
    custom_error(
        "SectionNotFound",
        format!(
            "there is no section {:?}, or several",
            truncate_chars(name, 100)
        ),
        format!(
            "{}There are: {}.",
            meant.unwrap_or_default(),
            shown.join("; ")
        ),
    )
}

/// The most sections of one heading that are named.
const MAX_SAME_HEADING: usize = 10;

/// A word on the other sections of the same heading: only their numbers or pages tell them apart.
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
    format!("\n\nMore of that heading: {}.", others.join(", "))
}
