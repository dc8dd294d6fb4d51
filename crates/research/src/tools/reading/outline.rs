//! The outline of an article: its headings with their numbers, pages and sizes.

use deliberate_core::cut_to_chars;
use deliberate_toolkit::ToolError;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::shown::{plain, told};
use crate::collect::{fence::harmless, sections::SectionAt, title_key};

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OutlineEntry {
    /// As printed; counted if none is printed
    #[serde(skip_serializing_if = "String::is_empty")]
    number: String,
    title: String,
    level: u8,
    page: u32,
    characters: usize,
}

/// A heading on one line.
pub(super) fn heading(section: &SectionAt) -> String {
    let label = harmless(&plain(&section.label()));
    format!("{label} (p. {})", section.page)
}

/// A heading as data.
pub(super) fn entry(section: &SectionAt, whole: &str) -> OutlineEntry {
    let stretch = whole.get(section.start..section.end).unwrap_or_default();
    OutlineEntry {
        number: section.number.clone(),
        title: section.title.clone(),
        level: section.level,
        page: section.page,
        characters: stretch.chars().count(),
    }
}

/// There is no such section, and which there are.
pub(super) fn no_section(all: &[SectionAt], name: &str) -> ToolError {
    let titles = all.iter().map(|it| it.title.as_str());
    let meant = deliberate_core::nearest(name, titles);
    let shown: Vec<String> = all.iter().take(15).map(heading).collect();
    let meant = meant.map(|it| format!("Did you mean {it:?}? "));
    told(
        "SectionNotFound",
        format!(
            "there is no section {:?}, or several",
            cut_to_chars(name, 100)
        ),
        format!(
            "{}There are: {}.",
            meant.unwrap_or_default(),
            shown.join("; ")
        ),
    )
}

/// The most sections of one heading that are named.
const MOST_NAMESAKES: usize = 10;

/// A word on the other sections of the same heading: only their numbers or pages tell them apart.
pub(super) fn namesakes(all: &[SectionAt], found: &SectionAt) -> String {
    let key = title_key(&found.title);
    let others = all
        .iter()
        .filter(|it| it.start != found.start && title_key(&it.title) == key)
        .take(MOST_NAMESAKES);
    let others: Vec<String> = others.map(heading).collect();
    if others.is_empty() {
        return String::new();
    }
    format!("\n\nMore of that heading: {}.", others.join(", "))
}
