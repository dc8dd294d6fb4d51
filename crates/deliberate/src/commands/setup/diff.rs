//! A small unified diff. The change is one block of the file, so it is enough to strip the common
//! start and end. Values that look like keys are hidden, since people share their terminals.

/// Number of lines around the change.
const CONTEXT_LINES: usize = 3;

/// Longer lines, as in a file without line breaks, are truncated.
const MAX_LINE_CHARS: usize = 160;

/// Parts of names whose values are hidden.
const SECRET_NAMES: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "AUTH"];

/// Returns the change from `old` to `new`.
pub(super) fn unified_diff(old: &str, new: &str) -> String {
    let old: Vec<&str> = old.lines().collect();
    let new: Vec<&str> = new.lines().collect();
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
        pairs.take_while(|(old, new)| old == new).count()
    };
    let start = same(&mut old.iter().zip(&new));
    let rest = old.len().min(new.len()) - start;
    let end = same(&mut old.iter().rev().zip(new.iter().rev())).min(rest);

    let before = start.min(CONTEXT_LINES);
    let after = end.min(CONTEXT_LINES);
    let first = start - before;
    let removed = old.len() - start - end;
    let added = new.len() - start - end;
    let mut lines = vec![format!(
        "@@ -{},{} +{},{} @@",
        line_number(first, &old),
        before + removed + after,
        line_number(first, &new),
        before + added + after,
    )];
    let mut show = |mark: char, part: &mut dyn Iterator<Item = &&str>| {
        lines.extend(part.map(|line| format!("{mark}{}", display_line(line))));
    };
    show(' ', &mut new.iter().skip(first).take(before));
    show('-', &mut old.iter().skip(start).take(removed));
    show('+', &mut new.iter().skip(start).take(added));
    show(' ', &mut new.iter().skip(start + added).take(after));
    lines.push(String::new());
    lines.join("\n")
}

/// By convention an empty file starts at line 0.
fn line_number(first: usize, lines: &[&str]) -> usize {
    if lines.is_empty() { 0 } else { first + 1 }
}

fn display_line(line: &str) -> String {
    let line = hide_secrets(line);
    match line.char_indices().nth(MAX_LINE_CHARS) {
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
