//! The change that is shown before it is written. Values that look like keys are hidden, since
//! people share their terminals.

use similar::TextDiff;

/// Longer lines, as in a file without line breaks, are truncated.
const MAX_LINE_CHARS: usize = 160;

/// Parts of names whose values are hidden.
const SECRET_NAMES: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "AUTH"];

/// Returns the change from `old` to `new`.
pub(super) fn unified_diff(old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let hunks = diff.unified_diff().missing_newline_hint(false).to_string();
    hunks
        .lines()
        .flat_map(|line| [display_line(line), "\n".to_owned()])
        .collect()
}

/// `line` begins with its mark, which counts as one more character.
fn display_line(line: &str) -> String {
    let line = hide_secrets(line);
    match line.char_indices().nth(MAX_LINE_CHARS + 1) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// Hides the text in `NAME: "text"` and `NAME = "text"` if the name suggests a secret.
fn hide_secrets(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    // The last word or quoted text, and whether a `:` or `=` followed it.
    let mut name = String::new();
    let mut in_word = false;
    let mut is_value = false;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let continues_word = in_word;
        in_word = false;
        match c {
            '"' => {
                let text = read_quoted(&mut chars);
                let hide = is_value && is_secret(&name);
                let visible = if hide { "(hidden)" } else { &text };
                shown.extend(["\"", visible, "\""]);
                name = text;
                is_value = false;
                continue;
            }
            ':' | '=' => is_value = true,
            c if c.is_alphanumeric() || c == '_' || c == '-' => {
                if !continues_word {
                    name.clear();
                }
                name.push(c);
                in_word = true;
                is_value = false;
            }
            c if c.is_whitespace() => {}
            _ => {
                name.clear();
                is_value = false;
            }
        }
        shown.push(c);
    }
    shown
}

/// Reads up to the closing quote and keeps escapes as they are.
fn read_quoted(chars: &mut std::str::Chars<'_>) -> String {
    let mut text = String::new();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => {
                text.push(c);
                text.extend(chars.next());
            }
            _ => text.push(c),
        }
    }
    text
}

fn is_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}
