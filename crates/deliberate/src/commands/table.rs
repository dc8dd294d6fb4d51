//! Tables for terminals.

use comfy_table::{ContentArrangement, Table, presets::NOTHING};
use console::Term;

/// Creates a table with these headings, as wide as the terminal, or without line breaks if there is
/// none.
pub(super) fn table(headings: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_header(headings.iter().map(|heading| heading.to_uppercase()));
    let terminal = Term::stdout();
    if terminal.is_term()
        && let Some((_, columns)) = terminal.size_checked()
    {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(columns);
    }
    table
}

/// Escapes control characters, so that text from models and callers cannot control the terminal.
pub(super) fn escape_control(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_control() || matches!(letter, '\n' | '\t'))
        .collect()
}

/// Returns the text on one line of a table.
pub(super) fn one_line(text: &str, chars: usize) -> String {
    let text = escape_control(text);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    deliberate_core::truncate_chars(&text, chars)
}
