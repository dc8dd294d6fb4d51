//! Standalone lines of Markdown: list items, table rows, headings. The marker of a list item is not
//! part of its text.

/// Splits a text into standalone lines, without list markers, and the text between them.
pub(crate) fn split_blocks(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut from = 0;
    let mut at = 0;
    // Start of the table row above, if there is one.
    let mut above = None;
    for line in text.split_inclusive('\n') {
        let next = at + line.len();
        let row = line.trim_start().starts_with('|').then_some(at);
        if let Some(head) = above.filter(|_| is_table_separator(line)) {
            all.pop();
            all.extend(text.get(head..next).map(str::trim));
            from = next;
        } else if let Some(item) = standalone_line(line.trim()) {
            all.extend(text.get(from..at));
            all.push(item);
            from = next;
        }
        above = row.filter(|_| !is_table_separator(line));
        at = next;
    }
    all.extend(text.get(from..));
    all.retain(|it| !it.trim().is_empty());
    all
}

/// Words of a cell that names a column; a longer one may state something.
const MAX_COLUMN_WORDS: usize = 4;

/// Whether this is a table header with its separator line that only names columns.
pub(crate) fn is_table_header(text: &str) -> bool {
    let Some((names, rule)) = text.trim().split_once('\n') else {
        return false;
    };
    let mut cells = names.split('|');
    is_table_separator(rule)
        && !names.contains(|it: char| it.is_ascii_digit())
        && cells.all(|it| it.split_whitespace().count() <= MAX_COLUMN_WORDS)
}

/// Whether this is the line between a table header and its rows.
fn is_table_separator(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('|')
        && line.contains('-')
        && line.chars().all(|it| matches!(it, '|' | '-' | ':' | ' '))
}

/// The content of a standalone line.
fn standalone_line(line: &str) -> Option<&str> {
    if line.starts_with("```") || line.starts_with("~~~") {
        return Some("");
    }
    if line.starts_with('|') || line.starts_with('#') {
        return Some(line);
    }
    let bullet = line.strip_prefix(['-', '*', '•', '–', '+', '>']);
    let numbered = || {
        let rest = line.trim_start_matches(|it: char| it.is_ascii_digit());
        let digits = line.len() - rest.len();
        let rest = rest.strip_prefix(['.', ')'])?;
        (1..=2).contains(&digits).then_some(rest)
    };
    let rest = bullet.or_else(numbered)?;
    let item = rest.trim_start();
    // `-5 °C` and `3.5 mg` do not begin a list item.
    (rest.len() > item.len()).then_some(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_rows_and_headings_stand_alone() {
        let text = "It did two things:\n- A fell by 5%\n* B rose\n2) C stayed\nand so\non.\n| A | 5% |\n|---|---|\n# Head\nEnd";
        assert_eq!(
            split_blocks(text),
            [
                "It did two things:\n",
                "A fell by 5%",
                "B rose",
                "C stayed",
                "and so\non.\n",
                "| A | 5% |\n|---|---|",
                "# Head",
                "End"
            ]
        );
        assert_eq!(
            split_blocks("| Name | Size |\n|:--|--:|\n| A | 5% |\n| B | 6% |"),
            ["| Name | Size |\n|:--|--:|", "| A | 5% |", "| B | 6% |"]
        );
        for text in ["-5 °C was reached", "3.5 mg was given", "1,200 mice ran"] {
            assert_eq!(split_blocks(text), [text]);
        }
        assert!(is_table_header("| Name | Share of all |\n|---|---|"));
        for text in [
            "| A | 5% |\n|---|---|",
            "| It does away with all of them |\n|---|",
            "| Name | Size |",
        ] {
            assert!(!is_table_header(text), "{text}");
        }
        assert_eq!(split_blocks("```rust\nlet a = 1;\n```"), ["let a = 1;\n"]);
    }
}
