//! Tables for people.

use comfy_table::{ContentArrangement, Table, presets::NOTHING};

/// A table with these headings; as wide as the terminal, or unbroken where there is none.
pub(super) fn table(headings: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(headings.iter().map(|heading| heading.to_uppercase()));
    if !table.is_tty() {
        table.set_content_arrangement(ContentArrangement::Disabled);
    }
    table
}

/// Text that can't command a terminal: what models and callers wrote is shown, not obeyed.
pub(super) fn escape_control(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_control() || matches!(letter, '\n' | '\t'))
        .collect()
}

/// Text on one line of a table.
pub(super) fn one_line(text: &str, chars: usize) -> String {
    let text = escape_control(text);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    deliberate_core::truncate_chars(&text, chars)
}
